package adk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/agent"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/genai"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/model"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/session"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/tool"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/toolconfirmation"
	"github.com/mcpbelt/mcpbelt/examples/recipes/internal/crew"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ tool.Toolset = (*Toolset)(nil)

// runnable is what ADK asks of a tool that it calls.
type runnable interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	Run(ctx agent.Context, args any) (map[string]any, error)
	ProcessRequest(ctx agent.Context, req *model.LLMRequest) error
}

type toolContext struct {
	context.Context
	id, session  string
	actions      session.EventActions
	confirmation *toolconfirmation.ToolConfirmation
	hint         string
}

func (c *toolContext) SessionID() string                                    { return c.session }
func (c *toolContext) FunctionCallID() string                               { return c.id }
func (c *toolContext) Actions() *session.EventActions                       { return &c.actions }
func (c *toolContext) ToolConfirmation() *toolconfirmation.ToolConfirmation { return c.confirmation }
func (c *toolContext) RequestConfirmation(hint string, _ any) error         { c.hint = hint; return nil }

// A flow is what ADK does in one step, as far as tools go: it lists them, has them put
// themselves into the request, and makes the calls of the model at the same time.
type flow struct {
	t       *testing.T
	set     *Toolset
	req     *model.LLMRequest
	hint    string // what a person was asked last
	session string
}

type want struct{ id, name, args string }

func (f *flow) request(ctx context.Context) *model.LLMRequest {
	f.t.Helper()
	all, err := f.set.Tools(&toolContext{Context: ctx, session: f.session})
	if err != nil {
		f.t.Fatal(err)
	}
	req := &model.LLMRequest{}
	for _, t := range all {
		if t.IsLongRunning() {
			f.t.Errorf("%s is long running", t.Name())
		}
		if err := t.(runnable).ProcessRequest(&toolContext{Context: ctx, session: f.session}, req); err != nil {
			f.t.Fatal(err)
		}
	}
	return req
}

// step returns the function responses to calls.
func (f *flow) step(ctx context.Context, confirmed *bool, calls ...want) []map[string]any {
	f.t.Helper()
	f.req = f.request(ctx)
	responses := make([]map[string]any, len(calls))
	contexts := make([]*toolContext, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		contexts[i] = &toolContext{Context: ctx, id: c.id, session: f.session}
		if confirmed != nil {
			contexts[i].confirmation = &toolconfirmation.ToolConfirmation{Confirmed: *confirmed}
		}
		wg.Go(func() {
			var args map[string]any
			if err := json.Unmarshal([]byte(c.args), &args); err != nil {
				f.t.Error(err)
			}
			found, ok := f.req.Tools[c.name].(runnable)
			if !ok {
				f.t.Errorf("there is no tool %s", c.name)
				return
			}
			res, err := found.Run(contexts[i], args)
			if err != nil {
				res = map[string]any{"error": err.Error()}
			}
			responses[i] = res
		})
	}
	wg.Wait()
	for _, c := range contexts {
		if (c.hint != "") != c.actions.SkipSummarization {
			f.t.Errorf("a confirmation and going on: %+v", c)
		}
		f.hint += c.hint
	}
	return responses
}

func newFlow(t *testing.T) (*flow, *crew.Crew) {
	t.Helper()
	c, err := crew.New()
	if err != nil {
		t.Fatal(err)
	}
	return &flow{t: t, set: NewToolset(c.Registry, nil)}, c
}

func says(t *testing.T, res map[string]any, key, part string) {
	t.Helper()
	text, _ := res[key].(string)
	if len(res) != 1 || !strings.Contains(text, part) {
		t.Errorf("the model gets %v, not %q in %s", res, part, key)
	}
}

func TestParallel(t *testing.T) {
	f, _ := newFlow(t)
	res := f.step(t.Context(), nil, want{"1", "meet", `{}`}, want{"2", "fail", `{}`}, want{"3", "meet", `{}`})
	says(t, res[0], "output", "met")
	says(t, res[1], "error", "the disk is full")
	says(t, res[2], "output", "met")
}

func TestResults(t *testing.T) {
	f, _ := newFlow(t)
	for _, c := range []struct{ name, args, key, part string }{
		{"echo", `{"text":"hi"}`, "output", `{"text":"hi"}`},
		{"echo", `{"txet":"hi"}`, "error", "text"},
		{"picture", `{}`, "output", "look:\n[image image/png, 70 bytes]"},
		{"nothing", `{}`, "output", "The tool returned nothing."},
		{"plan", `{"when":1,"owner":{"name":"Ada"},"note":null}`, "output", `"Ada"`},
	} {
		says(t, f.step(t.Context(), nil, want{"1", c.name, c.args})[0], c.key, c.part)
	}
	groups := f.req.Config.Tools
	if len(groups) != 1 || len(groups[0].FunctionDeclarations) != len(f.req.Tools) {
		t.Fatalf("%d groups", len(groups))
	}
	for _, d := range groups[0].FunctionDeclarations {
		data, err := json.Marshal(d.ParametersJsonSchema)
		if len(d.Name) > 64 || err != nil || strings.Contains(string(data), "$ref") {
			t.Errorf("%s: %s, %v", d.Name, data, err)
		}
		if strings.HasPrefix(d.Name, "list_") {
			says(t, f.step(t.Context(), nil, want{"2", d.Name, `{}`})[0], "output", "all of it")
		}
	}
}

func TestDuplicate(t *testing.T) {
	f, _ := newFlow(t)
	req := f.request(t.Context())
	for _, found := range req.Tools {
		if err := found.(runnable).ProcessRequest(nil, req); err == nil {
			t.Error("a tool is there twice")
		}
		break
	}
	mine := &model.LLMRequest{Config: &genai.GenerateContentConfig{Tools: []*genai.Tool{nil, {}, {FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "mine"}}}}}}
	if err := req.Tools["echo"].(runnable).ProcessRequest(nil, mine); err != nil || len(mine.Config.Tools[2].FunctionDeclarations) != 2 {
		t.Errorf("%+v, %v", mine.Config.Tools, err)
	}
}

func TestApproval(t *testing.T) {
	f, c := newFlow(t)
	yes, no := true, false
	says(t, f.step(t.Context(), nil, want{"1", "danger", `{}`})[0], "error", "danger")
	if !strings.Contains(f.hint, "May danger be called with {}?") || c.Ran("danger") != 0 {
		t.Errorf("%q, ran %d times", f.hint, c.Ran("danger"))
	}
	says(t, f.step(t.Context(), &yes, want{"1", "danger", `{}`})[0], "output", "it is done")
	says(t, f.step(t.Context(), &yes, want{"1", "danger", `{}`})[0], "error", "too late")
	f.step(t.Context(), nil, want{"2", "danger", `{}`})
	says(t, f.step(t.Context(), &no, want{"2", "danger", `{}`})[0], "error", "does not want")
	if c.Ran("danger") != 1 || len(f.set.waiting) != 0 {
		t.Errorf("ran %d times, %v waits", c.Ran("danger"), f.set.waiting)
	}
}

// Somebody may have answered elsewhere; then his answer counts.
func TestApprovedElsewhere(t *testing.T) {
	f, c := newFlow(t)
	yes := true
	f.step(t.Context(), nil, want{"1", "danger", `{}`})
	if _, err := c.Registry.Approve(t.Context(), c.Registry.Approvals(t.Context())[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	says(t, f.step(t.Context(), &yes, want{"1", "danger", `{}`})[0], "output", "it is done")
	f.step(t.Context(), nil, want{"2", "danger", `{}`})
	if err := c.Registry.Deny(t.Context(), c.Registry.Approvals(t.Context())[0].ID, "not on a Friday"); err != nil {
		t.Fatal(err)
	}
	says(t, f.step(t.Context(), &yes, want{"2", "danger", `{}`})[0], "error", "not on a Friday")
	if c.Ran("danger") != 1 {
		t.Errorf("ran %d times", c.Ran("danger"))
	}
}

// Models count their calls from one in each conversation.
func TestSameIDInTwoSessions(t *testing.T) {
	ada, c := newFlow(t)
	bob := &flow{t: t, set: ada.set, session: "bob"}
	ada.step(t.Context(), nil, want{"1", "danger", `{}`})
	bob.step(t.Context(), nil, want{"1", "danger", `{}`})
	yes := true
	says(t, ada.step(t.Context(), &yes, want{"1", "danger", `{}`})[0], "output", "it is done")
	if c.Ran("danger") != 1 {
		t.Errorf("it ran %d times", c.Ran("danger"))
	}
	says(t, bob.step(t.Context(), &yes, want{"1", "danger", `{}`})[0], "output", "it is done")
}

func TestLogin(t *testing.T) {
	f, c := newFlow(t)
	yes, no := true, false
	f.step(t.Context(), nil, want{"1", "unlock", `{}`})
	if !strings.Contains(f.hint, crew.LoginURL) {
		t.Errorf("%q", f.hint)
	}
	says(t, f.step(t.Context(), &no, want{"1", "unlock", `{}`})[0], "error", "log")
	f.step(t.Context(), nil, want{"2", "unlock", `{}`})
	f.hint = ""
	if f.step(t.Context(), &yes, want{"2", "unlock", `{}`}); f.hint == "" { // he has not, in truth
		t.Error("nobody is asked again")
	}
	c.LogIn()
	says(t, f.step(t.Context(), &yes, want{"2", "unlock", `{}`})[0], "output", "unlocked")
}

func TestChange(t *testing.T) {
	f, c := newFlow(t)
	if err := c.AddLate(); err != nil {
		t.Fatal(err)
	}
	says(t, f.step(t.Context(), nil, want{"1", "late", `{}`})[0], "output", "better late")
}

func TestCancel(t *testing.T) {
	f, c := newFlow(t)
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-c.Began
		cancel(gone)
	}()
	says(t, f.step(ctx, nil, want{"1", "wait", `{}`})[0], "error", gone.Error())
	<-c.Ended
}
