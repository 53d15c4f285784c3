package adaptertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

// An oddity is a message that a model wrote, or a conversation that was kept, which APIs refuse
// when it comes back as it is, and every further request with it.
type oddity struct {
	kind  string // the check that has it
	name  string
	reply Reply
	again bool // in the next turn, too
	after func(k *kit)
}

// oddities returns the odd messages. An id that begins with thoughtOf is that of a model which
// wants back what it thought.
func oddities() []oddity {
	call := func(id, name, args string) Call { return Call{ID: id, Name: name, Arguments: json.RawMessage(args)} }
	calls := func(calls ...Call) Reply { return Reply{Calls: calls} }
	const tool, args = "crew__echo", `{"text":"x"}`
	all := []oddity{
		{kind: "ids", name: "no id", reply: calls(call("", tool, args), call("", tool, args)), again: true},
		{kind: "ids", name: "equal ids", reply: calls(call("x", tool, args), call("x", tool, args))},
		{kind: "ids", name: "ids of the turn before", reply: calls(call("x", tool, args)), again: true},
		{kind: "ids", name: "an id with a colon", reply: calls(call("functions.echo:0", tool, args))},
		{kind: "ids", name: "a long id", reply: calls(call(strings.Repeat("x", 83), tool, args))},
		{kind: "one index", name: "one index", reply: Reply{OneIndex: true, Calls: []Call{call("fc-1", tool, args), call("fc-2", tool, args)}}},
		{kind: "thoughts", name: "thought and call", reply: Reply{Thought: "whole", Calls: []Call{call(thoughtOf+"1", tool, args)}}, again: true},
		{kind: "thoughts", name: "redacted thought and call", reply: Reply{Thought: "redacted", Calls: []Call{call(thoughtOf+"2", tool, args)}}},
		{kind: "last thoughts", name: "thought alone", reply: Reply{Thought: "whole"}},
		{kind: "last thoughts", name: "redacted thought alone", reply: Reply{Thought: "redacted"}},
		{kind: "last thoughts", name: "thought and blank text", reply: Reply{Thought: "whole", Text: "\n"}},
		{kind: "last thoughts", name: "thought that was cut off", reply: Reply{Thought: "cut"}},
		{kind: "last thoughts", name: "text and thought that was cut off", reply: Reply{Thought: "cut", Text: "so"}},
		{kind: "gone", name: "tools that are gone", reply: calls(call("x", tool, args)), after: (*kit).dismiss},
		{kind: "lost", name: "a call without its result", reply: calls(call("x", "crew__danger", `{"what":"x"}`))},
	}
	for _, name := range []string{
		"", "functions.crew__echo", "crew.echo", "crew/echo", "default_api:crew__echo", "multi_tool_use.parallel",
		"crew__echo<|channel|>commentary", "天气", strings.Repeat("x", 200),
	} {
		all = append(all, oddity{kind: "names", name: "the name " + name[:min(len(name), 40)], reply: calls(call("x", name, args))})
	}
	for _, args := range []string{`{"text":"sun \ud83d"}`, ``, `null`, `[1]`, `{"text":`, `{}{}`, `"{}"`} {
		all = append(all, oddity{kind: "argument texts", name: "the arguments " + args, reply: calls(call("x", tool, args))})
	}
	return all
}

// odd returns the check that the conversation goes on after each odd message of a kind.
func odd(kind string) func(*kit) {
	return func(k *kit) {
		for _, o := range oddities() {
			if o.kind == kind {
				k.Run(o.name, func(t *testing.T) { newKit(t, k.a).goesOn(o) })
			}
		}
	}
}

func (k *kit) goesOn(o oddity) {
	for range 2 {
		reply := func(req *Request) Reply {
			r := o.reply
			r.Calls = slices.Clone(r.Calls)
			for i, c := range r.Calls {
				if object := len(c.Arguments) > 0 && c.Arguments[0] == '{' && json.Valid(c.Arguments); !object && !k.writesText(req) {
					r.Calls[i].Arguments = json.RawMessage("{}")
				}
			}
			return r
		}
		if o.reply.Calls == nil {
			k.model.Then(reply)
			ctx, cancel := context.WithTimeout(k.Context(), patience)
			_, _ = k.agent.Ask(ctx, "odd") // it may be an error that the model has not said anything
			cancel()
		} else if o.name == "a call without its result" {
			k.wait(k.Context(), "odd", reply)
		} else if req := k.ask("odd", reply, text("done")); len(req.Results) < len(o.reply.Calls) {
			k.Fatalf("the model got %+v", req.Results)
		}
		if !o.again {
			break
		}
	}
	if o.after != nil {
		o.after(k)
	}
	k.ask("go on", text("done"))
	for _, r := range k.belt.registry.Approvals(k.Context()) { // the tool of a framework may still wait
		_ = k.belt.registry.Deny(k.Context(), r.ID, "it is too late")
	}
}

// mended has calls that cannot go back as they are, of which observers are told: an id that
// another call has, a name that no API takes, and arguments that are no object. Frameworks
// that run the calls themselves have given them ids of their own by then.
func (k *kit) mended() {
	want := []string{"name"}
	k.ask("odd", func(req *Request) Reply {
		calls := []Call{{"x", "crew__echo", json.RawMessage(`{"text":"x"}`)}, {"x", "crew/echo", json.RawMessage(`{"text":"x"}`)}}
		if k.writesText(req) {
			calls = append(calls, Call{"y", "crew__echo", json.RawMessage(`[1]`)})
			want = append(want, "arguments")
		}
		return Reply{Calls: calls}
	}, text("done"))
	wire := fmt.Sprintf("%#v", k.a.Wire) // some are within another
	idless := strings.Contains(wire, "Gemini") || strings.Contains(wire, "Ollama")
	if strings.Contains(k.a.Interrupt, "WaitingError") && !idless {
		want = append(want, "id")
	}
	k.belt.mu.Lock()
	defer k.belt.mu.Unlock()
	slices.Sort(want)
	assert.Equal(k, fmt.Sprint(slices.Compact(slices.Sorted(slices.Values(k.belt.mended)))), fmt.Sprint(want), "observed")
}

// many has as many tools as the provider takes, and one more: the model is told of all, or the
// program is told what to do before anything is sent.
func (k *kit) many() {
	for _, n := range []int{128, 129, 512, 513} {
		k.Run(fmt.Sprint(n), func(t *testing.T) {
			k := newKit(t, k.a)
			for i := len(k.belt.registry.Callable(t.Context())); i < n; i++ {
				assert.OK(t, k.belt.registry.Add(registry.MustFunc(fmt.Sprintf("more_%d", i), "does more", func(context.Context, struct{}) (string, error) { return "", nil })))
			}
			k.changed()
			k.model.Then(text("done"))
			_, err := k.agent.Ask(t.Context(), "many")
			if most := k.mostTools(); most > 0 && n > most {
				assert.Contains(t, fmt.Sprint(err), fmt.Sprintf("takes %d tools in one request, and there are %d: set TurnOptions.Finder", most, n))
				assert.Equal(t, len(k.model.Requests())+len(k.model.Refused()), 0, "requests")
				return
			}
			assert.OK(t, err)
			assert.Equal(t, len(k.last().Tools), n, "tools that the model is told of")
		})
	}
}

// mostTools returns how many tools the provider takes; 0: any number.
func (k *kit) mostTools() int {
	switch name := fmt.Sprintf("%#v", k.a.Wire); {
	case strings.Contains(name, "OpenAI"):
		return 128
	case strings.Contains(name, "Gemini"):
		return 512
	}
	return 0
}

// writesText reports whether a model writes the arguments of calls as text: where it writes
// JSON, they are an object.
func (k *kit) writesText(req *Request) bool {
	switch k.a.Wire.(type) {
	case OpenAIChat, *OpenAIResponses:
		return true
	case Anthropic, Bedrock:
		return req.Stream
	}
	return false
}

// dismiss has all tools go away.
func (k *kit) dismiss() {
	assert.Value(k.belt.registry.Replace(registry.Server{Name: "crew"}, nil))(k)
	k.belt.registry.Remove("locked", "panics")
	k.changed()
}
