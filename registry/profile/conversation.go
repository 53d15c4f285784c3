package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Repairer makes the conversations of one provider, in the messages of one SDK, such that
// the API takes them. A model writes what its API refuses when it comes back, and every
// further request with it; a conversation that was kept has calls without results if the
// program broke down amid them, and results without calls if its beginning was cut off.
//
// A message is one result, or something else: a form in which a message has several
// results is taken apart before, and put together behind.
type Repairer[M any] struct {
	// Provider is whose API it is.
	Provider Provider
	// Each calls call for each call that the model wrote in a message, in their order; or
	// result for the one whose result the message is, by its ID, or its Name where the
	// provider has no ids. It returns the message with the ids, names and arguments of what
	// these return. The message that is given stays as it is.
	Each func(m M, call, result func(Call) Call) M
	// Lost returns the result of a call that has none, with a text that says so.
	Lost func(c Call, text string) M
	// Ended says that the user goes on behind the conversation: the last calls need
	// results, too.
	Ended bool
}

// A written is a call of a conversation.
type written struct {
	said  Call   // as it is in the conversation
	local string // its id, if its message was alone
	call  Call   // as it can go back
	at    int    // the place of its message
	place int    // of the message with its result, which is behind it; 0: none
}

// Repair returns a conversation as the API takes it. Each call has a name that a tool can
// have, an id that no other has where the provider needs one, and arguments that are a JSON object. Its
// result is behind its message, in the order of the calls; a call without one gets what
// Lost returns, unless the results of the last message are still to come. A result of no
// call is left out. A conversation that the API takes stays as it is.
func (r *Repairer[M]) Repair(messages []M) []M {
	d, ok := rulesOf(r.Provider)
	if !ok {
		d, _ = rulesOf(OpenAI)
	}
	ids := identity{rules: d}
	said := make([][]*written, len(messages)) // the calls of each message
	isResult := make([]bool, len(messages))
	var open []*written
	before := make([]int, len(messages)) // of results whose id no call has: where what they are behind ends
	last := -1                           // the last message that is no result
	answer := func(n, place int) {
		open[n].place = place
		open = slices.Delete(open, n, n+1)
	}
	for i, m := range messages {
		var calls []Call
		var result *Call
		r.Each(m, func(c Call) Call { calls = append(calls, c); return c }, func(c Call) Call { result = &c; return c })
		if result != nil {
			isResult[i] = true
			if n := answered(open, result); n >= 0 {
				answer(n, i)
			} else {
				before[i] = last + 1
			}
			continue
		}
		last = i
		alone := identity{rules: d}
		for n, c := range calls {
			back := c
			back.ID, back.Name, back.Arguments = ids.next(n, c.ID), d.nameBack(c.Name), json.RawMessage(object(c.Arguments))
			w := &written{said: c, local: alone.next(n, c.ID), call: back, at: i}
			said[i], open = append(said[i], w), append(open, w)
		}
	}
	// A call that was given another id when its message was appended has its result still under
	// the old one.
	for i, n := range before {
		if n == 0 {
			continue
		}
		if at := slices.IndexFunc(open, func(w *written) bool { return w.at == n-1 }); at >= 0 {
			answer(at, i)
		}
	}
	out := make([]M, 0, len(messages))
	for i, m := range messages {
		if isResult[i] {
			continue
		}
		var calls []Call
		for _, w := range said[i] {
			calls = append(calls, w.call)
		}
		if calls != nil {
			m = r.with(m, calls...)
		}
		out = append(out, m)
		for _, w := range said[i] {
			switch {
			case w.place > 0:
				out = append(out, r.with(messages[w.place], w.call))
			case i < last || r.Ended:
				out = append(out, r.Lost(w.call, lost))
			}
		}
	}
	return out
}

// with returns a message with its calls, or the call whose result it is.
func (r *Repairer[M]) with(m M, calls ...Call) M {
	next := func(Call) Call {
		c := calls[0]
		calls = calls[1:]
		return c
	}
	return r.Each(m, next, next)
}

// answered returns which of the open calls a result is that of: the first of the last
// message that has one; -1 if there is none.
func answered(open []*written, result *Call) int {
	found := -1
	for n := len(open) - 1; n >= 0 && (found < 0 || open[n].at == open[found].at); n-- {
		w := open[n]
		same := result.ID == w.said.ID || result.ID == w.local || result.ID == w.call.ID
		if result.ID == "" && w.said.ID == "" && result.Name != "" {
			same = result.Name == w.said.Name || result.Name == w.call.Name
		}
		if same {
			found = n
		}
	}
	return found
}

// Sendable returns the blocks that a model wrote without those that its API refuses when they
// come back: empty ones, such as a blank text or a thought without the signature that it
// needs, and thoughts that nothing stands behind.
func Sendable[B any](blocks []B, look func(b B) (thought, empty bool)) []B {
	if look == nil {
		return blocks
	}
	var kept []B
	last := 0 // how many there are up to the last that is no thought
	for _, b := range blocks {
		thought, empty := look(b)
		if empty {
			continue
		}
		kept = append(kept, b)
		if !thought {
			last = len(kept)
		}
	}
	return kept[:last]
}

// WithIDs returns the calls of one message with ids that the provider takes, and that no
// other of them has. Those that are so already stay, and the same calls get the same ids each
// time. Where the provider needs no ids, they stay as they are.
func (p Provider) WithIDs(calls []Call) []Call {
	d, ok := rulesOf(p)
	if !ok {
		d, _ = rulesOf(OpenAI)
	}
	ids := identity{rules: d}
	for i := range calls {
		id := ids.next(i, calls[i].ID)
		calls[i].ID, calls[i].newID = id, id != calls[i].ID
	}
	return calls
}

// An identity gives calls ids.
type identity struct {
	rules *ruleset
	taken map[string]bool
}

// next returns the id of a call, which has a place in its message.
func (d *identity) next(place int, id string) string {
	if d.rules.idless {
		return id
	}
	if id != "" && !d.rules.takesID(id) {
		id = nameRule{most: min(d.rules.idMost, 64)}.changed(id, 0)
	}
	for id == "" || d.taken[id] {
		id = fmt.Sprintf("call_%d", place)
		place++
	}
	if d.taken == nil {
		d.taken = map[string]bool{}
	}
	d.taken[id] = true
	return id
}

// takesID reports whether a call may have an id.
func (d *ruleset) takesID(id string) bool {
	if d.idPlain {
		return nameRule{most: d.idMost}.takes(id)
	}
	return len(id) <= d.idMost && utf8.ValidString(id) && strings.TrimSpace(id) != ""
}

// nameBack returns the name of a call as it can stand in a conversation. It need not be that
// of a tool.
func (d *ruleset) nameBack(name string) string {
	if d.name.takes(name) {
		return name
	}
	name = d.name.clean(name)
	if name == "" {
		return "_"
	}
	return name[:min(len(name), d.name.most)]
}

// object returns the arguments of a call as they can stand in a conversation: what is no
// JSON object is {}. Servers that read them again refuse each later request for such a
// call; what was wrong with it the answer says. Half a surrogate pair, which some read and
// others refuse, becomes U+FFFD.
func object(arguments json.RawMessage) string {
	if !json.Valid(arguments) || bytes.TrimLeft(arguments, " \t\r\n")[0] != '{' {
		return "{}"
	}
	if schemagate.CheckSyntax(arguments) == nil {
		return string(arguments)
	}
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	if dec.Decode(&object) != nil {
		return "{}"
	}
	data, err := json.Marshal(object)
	if err != nil || schemagate.CheckSyntax(data) != nil { // too deep
		return "{}"
	}
	return string(data)
}

// Lost returns the answer to a call whose outcome is not known, such as one in a
// conversation that was kept when the program broke down: a provider refuses a
// conversation in which a call has no answer.
func Lost(c Call) Answer {
	err := mcp.WithOutcome(fmt.Errorf("profile: the outcome of the call of %q is not known", c.Name), mcp.Unknown)
	return Answer{Call: c, Err: err, Result: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{
		Text: lost,
	}}}}
}

const lost = "What came of the call is not known: its result was lost. It may have run or not; check before you call it again."
