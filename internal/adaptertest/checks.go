package adaptertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A check is a row of the table, which package layers reads here.
type check struct {
	name string
	what string // for the table
	run  func(k *kit)
}

func checks() []check {
	return []check{
		{"turns", "two turns", (*kit).turns},
		{"parallel", "parallel calls", (*kit).parallel},
		{"image", "an image", (*kit).image},
		{"content", "results without text", (*kit).content},
		{"failure", "a failed tool", (*kit).failure},
		{"name", "a name over 64", (*kit).longName},
		{"schema", "`$ref`, `anyOf`, null", (*kit).schema},
		{"change", "a changed list", (*kit).change},
		{"approval", "an approval", (*kit).approval},
		{"refusal", "a refusal", (*kit).refusal},
		{"login", "a login", (*kit).login},
		{"several", "several that wait", (*kit).several},
		{"users", "two users", (*kit).users},
		{"cancel", "a cancelled call", (*kit).cancel},
		{"deadline", "a deadline", (*kit).deadline},
		{"afterwards", "a message after a cancel", (*kit).afterwards},
		{"arguments", "wrong arguments", (*kit).arguments},
		{"unknown", "a tool that is not there", (*kit).unknown},
		{"apps", "a tool for apps alone", (*kit).apps},
		{"names", "odd names", odd("names")},
		{"ids", "odd ids", odd("ids")},
		{"argument texts", "odd arguments", odd("argument texts")},
		{"one index", "one index for two calls", odd("one index")},
		{"thoughts", "thoughts before calls", odd("thoughts")},
		{"last thoughts", "thoughts at the end", odd("last thoughts")},
		{"gone", "tools that are gone", odd("gone")},
		{"lost", "a call without its result", odd("lost")},
		{"mended", "what was mended is observed", (*kit).mended},
		{"many", "129 and 513 tools", (*kit).many},
	}
}

// A kit is what one check works with.
type kit struct {
	*testing.T
	a     Adapter
	belt  *belt
	model *Model
	agent Agent
	ids   int
}

// patience bounds what a check waits for; it only ends what would hang.
const patience = time.Minute

func newKit(t *testing.T, a Adapter) *kit {
	t.Helper()
	k := &kit{T: t, a: a, belt: newBelt(t), model: NewModel(t, a.Wire)}
	k.agent = a.Start(t, k.belt.registry, k.model.URL)
	return k
}

// text is a reply that ends a turn.
func text(s string) func(*Request) Reply {
	return func(*Request) Reply { return Reply{Text: s} }
}

// want is a call of the tool with a description, and its arguments.
type want struct{ what, args string }

// calls is a reply that calls tools by the names that the model was told.
func (k *kit) calls(wants ...want) func(*Request) Reply {
	return func(req *Request) Reply {
		var r Reply
		for _, w := range wants {
			r.Calls = append(r.Calls, k.call(nameOf(req, w.what), w.args))
		}
		return r
	}
}

// call is a call by a name, with an id that no other has.
func (k *kit) call(name, args string) Call {
	k.ids++
	return Call{ID: fmt.Sprintf("call_%d", k.ids), Name: name, Arguments: json.RawMessage(args)}
}

// nameOf returns the name of the tool that says of itself what it does. A model
// that is not told of it makes one up.
func nameOf(req *Request, what string) string {
	if t := toolFor(req, what); t != nil {
		return t.Name
	}
	return "not_told_of_" + strings.ReplaceAll(what, " ", "_")
}

func toolFor(req *Request, what string) *Tool {
	for i, t := range req.Tools {
		if t.Description == "does "+what {
			return &req.Tools[i]
		}
	}
	return nil
}

// ask has a turn that does not wait for a person, and returns the last request.
func (k *kit) ask(message string, replies ...func(*Request) Reply) *Request {
	k.Helper()
	return k.askAs(k.Context(), message, replies...)
}

// askAs is ask on behalf of the user of ctx.
func (k *kit) askAs(ctx context.Context, message string, replies ...func(*Request) Reply) *Request {
	k.Helper()
	k.model.Then(replies...)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	turn, err := k.agent.Ask(ctx, message)
	return k.over(turn, err)
}

// over returns the last request of a turn that has come to its end.
func (k *kit) over(turn *Turn, err error) *Request {
	k.Helper()
	if err != nil {
		k.Fatalf("the turn failed: %v; the model refused: %q", err, k.model.Refused())
	}
	if len(turn.Waits) > 0 {
		k.Fatalf("the turn waits: %+v", turn.Waits)
	}
	if refused := k.model.Refused(); len(refused) > 0 {
		k.Fatalf("the runtime got over it, but the model refused: %q", refused)
	}
	if turn.Text != "done" {
		k.Fatalf("the answer is %q, not what the model said; the model refused: %q", turn.Text, k.model.Refused())
	}
	return k.last()
}

func (k *kit) last() *Request {
	k.Helper()
	requests := k.model.Requests()
	if len(requests) == 0 {
		k.Fatal("the model was never asked")
	}
	return requests[len(requests)-1]
}

// results returns the last n results of a request.
func (k *kit) results(req *Request, n int) []Result {
	k.Helper()
	if len(req.Results) < n {
		k.Fatalf("the model got %d results, not %d: %+v", len(req.Results), n, req.Results)
	}
	results := slices.Clone(req.Results[len(req.Results)-n:])
	if k.a.Unordered {
		slices.SortFunc(results, func(a, b Result) int { return strings.Compare(a.CallID, b.CallID) })
	}
	return results
}

// one has a turn with one call, and returns its result.
func (k *kit) one(message, what, args string) Result {
	k.Helper()
	return k.results(k.ask(message, k.calls(want{what, args}), text("done")), 1)[0]
}

func (k *kit) contains(r Result, text string) {
	k.Helper()
	assert.Contains(k, r.Text, text, "the model got")
}

func (k *kit) ran(what string, times int) {
	k.Helper()
	if got := k.belt.calls(what); len(got) != times {
		k.Errorf("the tool ran %d times, not %d: %q", len(got), times, got)
	}
}

func (k *kit) turns() {
	r := k.one("first", "echo", `{"text":"one"}`)
	k.contains(r, "echoed")
	assert.False(k, r.failed(), "a result that is good is told as a failure: %+v", r)
	req := k.ask("second", k.calls(want{"echo", `{"text":"two"}`}), k.calls(want{"echo", `{"text":"three"}`}), text("done"))
	assert.Equal(k, len(req.Results), 3, "results that the model has before it")
	assert.Equal(k, fmt.Sprintf("%q", req.Users), fmt.Sprintf("%q", []string{"first", "second"}), "the model has the messages")
	assert.Equal(k, fmt.Sprintf("%q", k.belt.calls("echo")), fmt.Sprintf("%q", []string{`{"text":"one"}`, `{"text":"two"}`, `{"text":"three"}`}), "the tool got")
}

func (k *kit) parallel() {
	wants := []want{{"echo", `{"text":"a"}`}, {"failure", `{}`}, {"echo", `{"text":"b"}`}}
	if !k.a.InOrder {
		wants = []want{{"meeting", `{"who":"a"}`}, {"failure", `{}`}, {"meeting", `{"who":"b"}`}}
	}
	req := k.ask("both", k.calls(wants...), text("done"))
	got := k.results(req, 3)
	for i, r := range got {
		if r.CallID != "" && r.CallID != fmt.Sprintf("call_%d", i+1) {
			k.Errorf("result %d is that of call %q", i, r.CallID)
		}
	}
	if ids := k.belt.callIDs(); got[0].CallID != "" && ids[len(ids)-1] != "" { // else the framework does not tell them
		if want := []string{"call_1", "call_2", "call_3"}; !slices.Equal(ids, want) {
			k.Errorf("the registry got the call ids %q, want %q", ids, want)
		}
	}
	if got[0].Text != got[2].Text || got[0].failed() || !got[1].failed() {
		k.Errorf("the results are %+v", got)
	}
	if !k.a.InOrder {
		k.contains(got[0], "met")
	}
}

func (k *kit) image() {
	before := 0 // media in messages that are no results
	for _, what := range []string{"picture", "bare picture"} {
		r, req := k.one(what, what, `{}`), k.last()
		if what == "picture" {
			k.contains(r, "a picture:")
		}
		if k.a.TextOnly {
			k.contains(r, "[image image/")
			continue
		}
		seen := append(slices.Clone(r.Media), req.Media[min(before, len(req.Media)):]...)
		if len(seen) != 1 || seen[0].Type != "image/png" || !bytes.Equal(seen[0].Data, png()) {
			k.Errorf("the model does not see the %s once: %+v", what, r)
		}
		before = len(req.Media)
	}
	r := k.one("fake", "fake picture", `{}`)
	k.contains(r, "[image image/png, 8 bytes")
	if len(r.Media) > 0 || len(k.last().Media) > before {
		k.Errorf("the model gets an image that is none, for which it refuses the conversation")
	}
}

func (k *kit) content() {
	for what, text1 := range map[string]string{
		"sound": "[audio audio/wav, 12 bytes]", "link": "[resource plan <file:///plan.txt>", "structure": `{"answer":42}`,
		"nothing": "The tool returned nothing.", "blank": "The tool returned nothing.",
	} {
		r := k.one(what, what, `{}`)
		if what == "structure" {
			if !strings.Contains(r.Text, "answer") || !strings.Contains(r.Text, "42") {
				k.Errorf("the model got %q", r.Text)
			}
		} else {
			k.contains(r, text1)
		}
		assert.False(k, r.failed(), "%s is told as a failure: %+v", what, r)
	}
}

func (k *kit) failure() {
	r := k.one("break", "failure", `{}`)
	k.contains(r, "the disk is full")
	if !r.failed() {
		k.Errorf("the model cannot see that the tool failed: %+v", r)
	}
	r = k.one("panic", "panic", `{}`)
	if !r.failed() || strings.Contains(r.Text, "4711") {
		k.Errorf("of a panic the model is told %+v", r)
	}
}

func (k *kit) longName() {
	k.contains(k.one("list", "a long list", `{}`), "all of it")
	k.ran("a long list", 1)
	most := 64
	if w, ok := k.a.Wire.(interface{ NameLimit() int }); ok {
		most = w.NameLimit()
	}
	assert.True(k, len(nameOf(k.last(), "a long list")) <= most, "the name has at most %d bytes", most)
}

func (k *kit) schema() {
	const args = `{"when":"2026-01-31","owner":{"name":"Ada"},"note":null,"marks":[1,2],"mode":"fast","free":"x","gone":1,"parent":{"name":"Ida"}}`
	k.contains(k.one("plan", "plan", args), "planned")
	if got := k.belt.calls("plan"); len(got) != 1 || !sameJSON(got[0], args) {
		k.Errorf("the tool got %q", got)
	}
	schema := string(toolFor(k.last(), "plan").Schema)
	for _, part := range []string{"owner", "name", "parent", "a day, or a number of days", "integer", "fast"} {
		assert.Contains(k, schema, part, "the schema of the model")
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func (k *kit) change() {
	k.one("before", "echo", `{"text":"x"}`)
	if toolFor(k.last(), "lateness") != nil {
		k.Fatal("the tool is there before it was added")
	}
	k.belt.addLate(k.T)
	k.changed()
	k.contains(k.one("after", "lateness", `{}`), "better late")
	k.ran("lateness", 1)
}

// changed has the agent know the tools that are there now.
func (k *kit) changed() {
	if k.a.Fixed {
		k.agent = k.a.Start(k.T, k.belt.registry, k.model.URL)
	}
}

func (k *kit) arguments() {
	r := k.one("wrong arguments", "echo", `{"txet":"x"}`)
	k.contains(r, "text")
	if !r.failed() {
		k.Errorf("wrong arguments are told as a success: %+v", r)
	}
	k.ran("echo", 0)
}

func (k *kit) unknown() {
	req := k.ask("unknown tool", func(*Request) Reply { return Reply{Calls: []Call{k.call("crew__eccho", `{"text":"x"}`)}} }, text("done"))
	r := k.results(req, 1)[0]
	k.contains(r, "crew__echo")
	assert.True(k, r.failed(), "a tool that is not there is told as a failure: %+v", r)
}

// apps has a tool that its server has for its apps alone.
func (k *kit) apps() {
	req := k.ask("a tool for apps", func(req *Request) Reply {
		assert.True(k, toolFor(req, "poll") == nil, "no model is told of a tool that is for apps")
		return Reply{Calls: []Call{k.call("crew__poll", `{}`)}}
	}, text("done"))
	assert.Lacks(k, k.results(req, 1)[0].Text, "polled", "what a model gets of a tool that is for apps")
}
