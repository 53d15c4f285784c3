package trpcagent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/examples/recipes/internal/crew"
	"github.com/mcpbelt/mcpbelt/examples/recipes/trpcagent/standin/tool"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ tool.ToolSet = (*ToolSet)(nil)

type want struct{ name, args string }

// A message is what becomes of a call.
type message struct {
	text string // JSON of the result, or the text of the error
	err  error
}

// step does what the agent does in one step, as far as tools go: it asks for the tools,
// runs the calls of the model at the same time, and makes messages of the results.
func step(ctx context.Context, t *testing.T, set *ToolSet, calls ...want) []message {
	t.Helper()
	tools := map[string]tool.Tool{}
	for _, found := range set.Tools(ctx) {
		tools[found.Declaration().Name] = found
	}
	messages := make([]message, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		found, ok := tools[c.name].(tool.CallableTool)
		if !ok {
			t.Fatalf("there is no tool %s", c.name)
		}
		wg.Go(func() {
			res, err := found.Call(ctx, []byte(c.args))
			if err != nil {
				messages[i] = message{"Error: " + err.Error(), err}
				return
			}
			data, err := json.Marshal(res)
			if err != nil {
				t.Error(err)
			}
			messages[i].text = string(data)
		})
	}
	wg.Wait()
	return messages
}

func newCrew(t *testing.T) *crew.Crew {
	t.Helper()
	c, err := crew.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParallel(t *testing.T) {
	got := step(t.Context(), t, NewToolSet(newCrew(t).Registry, nil), want{"meet", `{}`}, want{"fail", `{}`}, want{"meet", `{}`})
	if got[0].text != `"met"` || got[2].text != `"met"` || got[1].err != nil || got[1].text != `"The tool failed:\nthe disk is full"` {
		t.Errorf("%+v", got)
	}
}

func TestResults(t *testing.T) {
	set := NewToolSet(newCrew(t).Registry, nil)
	for _, x := range []struct{ name, args, text string }{
		{"echo", `{"text":"hi"}`, `{"text":"hi"}`},
		{"echo", `{"txet":"hi"}`, `"The tool failed:\n`},
		{"picture", `{}`, `"look:\n[image image/png, 70 bytes]"`},
		{"nothing", ``, `"The tool returned nothing."`},
		{"plan", `{"when":1,"owner":{"name":"Ada"},"note":null}`, `{"when":1,"owner":{"name":"Ada"},"note":null}`},
	} {
		if got := step(t.Context(), t, set, want{x.name, x.args})[0]; !strings.HasPrefix(got.text, x.text) || got.err != nil {
			t.Errorf("%s: %+v", x.name, got)
		}
	}
	if set.Close() != nil || set.Name() != "" {
		t.Error("the set has a name, or an end")
	}
}

func TestDeclarations(t *testing.T) {
	for _, found := range NewToolSet(newCrew(t).Registry, nil).Tools(t.Context()) {
		d := found.Declaration()
		if len(d.Name) > 64 || d.InputSchema.Type != "object" || !strings.HasPrefix(d.Description, "does ") {
			t.Errorf("%+v", d)
		}
		if d.Name != "plan" {
			continue
		}
		p := d.InputSchema.Properties
		if got := p["when"].Description; !strings.HasPrefix(got, "a day, or a number of days It matches this JSON Schema: {\"anyOf\":[") || p["when"].Type != "" {
			t.Errorf("when is %+v", p["when"])
		}
		if p["note"].Type != "string" || p["note"].Description != "" {
			t.Errorf("note is %+v", p["note"])
		}
		for _, name := range []string{"owner", "parent"} {
			if p[name].Type != "object" || p[name].Properties["name"].Type != "string" || len(p[name].Required) != 1 || p[name].Description != "" {
				t.Errorf("%s is %+v", name, p[name])
			}
		}
	}
}

func TestSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`no`:                                      `{"type":"object"}`,
		`null`:                                    `{"type":"object"}`,
		`{"type":["string","integer","null"]}`:    `{"description":"It matches this JSON Schema: {\"type\":[\"string\",\"integer\",\"null\"]}"}`,
		`{"type":["null","string"]}`:              `{"type":"string"}`,
		`{"minimum":9007199254740993}`:            `{"minimum":9007199254740993}`,
		`{"minimum":"x","enum":1,"items":false}`:  `{"description":"It matches this JSON Schema: {\"enum\":1,\"items\":false,\"minimum\":\"x\"}"}`,
		`{"format":"date","description":"a day"}`: `{"description":"a day It matches this JSON Schema: {\"format\":\"date\"}"}`,
		`{"properties":{"a":true,"b":{"enum":["x"],"default":"x","pattern":"x"}},"required":["a"],"additionalProperties":false}`: `{"required":["a"],"properties":{"a":{},"b":{"pattern":"x","default":"x","enum":["x"]}},"additionalProperties":false}`,
		`{"type":"array","items":{"type":"integer","maximum":3,"exclusiveMinimum":0,"exclusiveMaximum":4}}`:                      `{"type":"array","items":{"type":"integer","maximum":3,"exclusiveMinimum":0,"exclusiveMaximum":4}}`,
		`{"description":"who","anyOf":[{"type":"null"},{"type":["string","null"],"description":"a name"}]}`:                      `{"type":"string","description":"who"}`,
		`{"type":"object","anyOf":[{"type":"null"},{"type":"object"}]}`:                                                          `{"type":"object","description":"It matches this JSON Schema: {\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\"}]}"}`,
	} {
		got, err := json.Marshal(schemaOf(json.RawMessage(schema)))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", schema, got, err, want)
		}
	}
}

func TestWaiting(t *testing.T) {
	c := newCrew(t)
	told := step(t.Context(), t, NewToolSet(c.Registry, nil), want{"danger", `{}`})[0]
	if told.err != nil || !strings.Contains(told.text, "danger") || c.Ran("danger") != 0 {
		t.Errorf("the model is told %+v", told)
	}
	stop := errors.New("stop the agent")
	set := NewToolSet(c.Registry, &Options{Waiting: func(context.Context, *profile.WaitingError) error { return stop }})
	if got := step(t.Context(), t, set, want{"danger", `{}`})[0]; !errors.Is(got.err, stop) {
		t.Errorf("%+v", got)
	}

	set = NewToolSet(c.Registry, &Options{Waiting: func(ctx context.Context, e *profile.WaitingError) error {
		if e.Waiting()[0].Approval() == nil {
			c.LogIn()
			return nil
		}
		_, err := c.Registry.Approve(ctx, e.Waiting()[0].Approval().ID, nil)
		return err
	}})
	got := step(t.Context(), t, set, want{"danger", `{}`}, want{"echo", `{"text":"x"}`}, want{"unlock", `{}`})
	if got[0].text != `"it is done"` || got[1].err != nil || got[2].text != `"unlocked"` || c.Ran("danger") != 1 || c.Ran("echo") != 1 {
		t.Errorf("%+v", got)
	}

	set = NewToolSet(c.Registry, &Options{Waiting: func(ctx context.Context, e *profile.WaitingError) error {
		return c.Registry.Deny(ctx, e.Waiting()[0].Approval().ID, "not on a Friday")
	}})
	if got := step(t.Context(), t, set, want{"danger", `{}`})[0]; got.err != nil || !strings.Contains(got.text, "not on a Friday") || !strings.Contains(got.text, "The tool failed:") {
		t.Errorf("%+v", got)
	}
}

func TestChange(t *testing.T) {
	c := newCrew(t)
	set := NewToolSet(c.Registry, nil)
	step(t.Context(), t, set)
	if err := c.AddLate(); err != nil {
		t.Fatal(err)
	}
	if got := step(t.Context(), t, set, want{"late", `{}`})[0]; got.text != `"better late"` {
		t.Errorf("%+v", got)
	}
}

func TestCancel(t *testing.T) {
	c := newCrew(t)
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-c.Began
		cancel(gone)
	}()
	if got := step(ctx, t, NewToolSet(c.Registry, nil), want{"wait", `{}`})[0]; !errors.Is(got.err, gone) {
		t.Errorf("%+v", got)
	}
	<-c.Ended
}
