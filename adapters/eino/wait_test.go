package eino_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A log counts calls.
type log struct {
	mu  sync.Mutex
	ran []string
}

func (l *log) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ran = append(l.ran, what)
}

func (l *log) calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ran)
}

type target struct {
	Name string `json:"name"`
}

func removing(l *log) registry.Tool {
	return registry.MustFunc("remove", "Removes a file", func(_ context.Context, in target) (string, error) {
		l.add("remove " + in.Name)
		return "removed " + in.Name, nil
	})
}

// newCautious returns a registry whose tool picture needs no approval. Remove does, and
// one with the name secret would.
func newCautious(t *testing.T, l *log) *registry.Registry {
	t.Helper()
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if (req.Tool.Name == "remove" || req.Tool.Name == "secret") && !req.Approved {
			return approval.Decision{Verdict: approval.Ask, Reason: "it is for good"}, nil
		}
		return approval.Decision{Verdict: approval.Allow}, nil
	})})
	assert.OK(t, r.Add(removing(l), pictureTool("picture", func() { l.add("picture") })))
	return r
}

// A rig is a tools node in a graph, without a model.
type rig struct {
	belt *belt.Belt
	node compose.Runnable[*schema.Message, []*schema.Message]
}

func newRig(t *testing.T, b *belt.Belt, s compose.CheckPointStore) *rig {
	t.Helper()
	config := assert.Value(b.ToolsNode(t.Context()))(t)
	node := assert.Value(compose.NewToolNode(t.Context(), &config))(t)
	g := compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node)
	return &rig{b, assert.Value(g.Compile(t.Context(), compose.WithCheckPointStore(s)))(t)}
}

// call makes calls, given as name and arguments in turn.
func call(calls ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for i := 0; i < len(calls); i += 2 {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID: fmt.Sprintf("call_%d", i/2), Type: "function", Function: schema.FunctionCall{Name: calls[i], Arguments: calls[i+1]},
		})
	}
	return m
}

// run runs the node. A nil message resumes it.
func (r *rig) run(ctx context.Context, m *schema.Message, opts ...compose.Option) ([]*schema.Message, []belt.Wait, error) {
	opts = append(opts, compose.WithCheckPointID("x"), r.belt.Live(ctx))
	if m != nil {
		opts = append(opts, compose.WithForceNewRun())
	}
	out, err := r.node.Invoke(ctx, m, opts...)
	if info, ok := compose.ExtractInterruptInfo(err); ok {
		return nil, belt.Waits(info.InterruptContexts), nil
	}
	return out, nil, err
}

func texts(b *belt.Belt, messages []*schema.Message) []string {
	var all []string
	for _, m := range b.Messages(messages) {
		if m.Role == schema.Tool {
			all = append(all, m.Content)
		}
	}
	return all
}

// asking returns the message of a model with calls of these ids.
func asking(ids ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "it"}})
	}
	return m
}

// mustWait runs the node until calls wait.
func (r *rig) mustWait(t *testing.T, ctx context.Context, m *schema.Message, n int) []belt.Wait {
	t.Helper()
	out, waits, err := r.run(ctx, m)
	if err != nil || len(waits) != n {
		t.Fatalf("%d calls wait, not %d: %+v, %v, %v", len(waits), n, waits, out, err)
	}
	return waits
}

// mustEnd runs the node to its end, and returns the texts of the results.
func (r *rig) mustEnd(t *testing.T, ctx context.Context, m *schema.Message) []string {
	t.Helper()
	out, waits, err := r.run(ctx, m)
	if err != nil || len(waits) > 0 {
		t.Fatalf("the run does not end: %+v, %v", waits, err)
	}
	return texts(r.belt, out)
}

func TestWhatWaits(t *testing.T) {
	var l log
	w := newRig(t, belt.New(newCautious(t, &l), nil), newStore()).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
	if w.Tool != "remove" || w.Approval == "" || w.Reason != "it is for good" || string(w.Arguments) != `{"name":"a"}` || w.InterruptID == "" || w.Expires.Before(time.Now()) || w.Login {
		t.Errorf("it waits for %+v", w)
	}
	for _, info := range []any{nil, "", "{}", "null", 7, w, `{"tool":"x"}`, `["approval"]`} {
		if waits := belt.Waits([]*compose.InterruptCtx{nil, {ID: "1", Info: info}}); len(waits) > 0 {
			t.Errorf("%v is taken for a call that waits: %+v", info, waits)
		}
	}
}

// A program that resumes too early gets the interrupt once more, and nothing hangs.
func TestResumeTooEarly(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	r := newRig(t, belt.New(reg, nil), newStore())
	first := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`, "picture", `{}`), 1)[0]
	for range 3 {
		assert.Equal(t, r.mustWait(t, t.Context(), nil, 1)[0].Approval, first.Approval, "the user is asked again")
	}
	assert.Value(reg.Approve(t.Context(), first.Approval, nil))(t)
	got := r.mustEnd(t, t.Context(), nil)
	assert.False(t, len(got) != 2 || got[0] != "removed a" || !strings.Contains(got[1], "attached"), "the results are %q", got)
	assert.List(t, l.calls(), []string{"picture", "remove a"}, "the calls")
}

// What ran beside a call that waits keeps its image in the checkpoint, which is JSON here
// and gob in agents of adk.
func TestImageInACheckpoint(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	r := newRig(t, belt.New(reg, nil), newStore())
	w := r.mustWait(t, t.Context(), call("picture", `{}`, "remove", `{"name":"a"}`), 1)[0]
	assert.OK(t, reg.Deny(t.Context(), w.Approval, ""))
	out, _, err := r.run(t.Context(), nil)
	if err != nil || len(out) != 2 {
		t.Fatal(out, err)
	}
	checkImage(t, out[0].UserInputMultiContent)
}

// Each of several calls is decided by itself, by eino's targeted resume.
func TestDecisions(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	r := newRig(t, belt.New(reg, nil), newStore())
	waits := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`, "remove", `{"name":"b"}`, "remove", `{"name":"c"}`), 3)
	of := func(name string, waits []belt.Wait) belt.Wait {
		i := slices.IndexFunc(waits, func(w belt.Wait) bool { return string(w.Arguments) == `{"name":"`+name+`"}` })
		if i < 0 {
			t.Fatalf("%s does not wait: %+v", name, waits)
		}
		return waits[i]
	}
	ctx := compose.ResumeWithData(t.Context(), of("b", waits).InterruptID, belt.Decision{Approve: true})
	left := r.mustWait(t, ctx, nil, 2)
	assert.List(t, l.calls(), []string{"remove b"}, "the calls")
	// An unsuitable answer is none.
	ctx = compose.ResumeWithData(t.Context(), of("a", left).InterruptID, "yes")
	left = r.mustWait(t, ctx, nil, 2)
	assert.Value(reg.Approve(t.Context(), of("a", left).Approval, nil))(t)
	ctx = compose.BatchResumeWithData(t.Context(), map[string]any{
		of("a", left).InterruptID: belt.Decision{Approve: true}, // a person was faster
		of("c", left).InterruptID: &belt.Decision{Reason: "keep it"},
	})
	got := r.mustEnd(t, ctx, nil)
	if len(got) != 3 || got[0] != "removed a" || got[1] != "removed b" || !strings.Contains(got[2], "keep it") || !strings.HasPrefix(got[2], "The tool failed:") {
		t.Errorf("the results are %q", got)
	}
	assert.List(t, l.calls(), []string{"remove b", "remove a"}, "the calls")
}

// A call that is not the one that was interrupted does not get its approval.
func TestStateOfAnotherCall(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	tools := assert.Value(belt.New(reg, nil).Tools(t.Context()))(t)
	remove := tools[slices.IndexFunc(tools, func(b tool.BaseTool) bool {
		info, err := b.Info(t.Context())
		return err == nil && info.Name == "remove"
	})].(tool.EnhancedInvokableTool)
	name := "a"
	chain := compose.NewChain[string, string]().AppendLambda(compose.InvokableLambda(func(ctx context.Context, _ string) (string, error) {
		res, err := remove.InvokableRun(ctx, &schema.ToolArgument{Text: `{"name":"` + name + `"}`})
		if err != nil {
			return "", err
		}
		return res.Parts[0].Text, nil
	}))
	run := assert.Value(chain.Compile(t.Context(), compose.WithCheckPointStore(newStore())))(t)
	_, err := run.Invoke(t.Context(), "x", compose.WithCheckPointID("x"))
	info, ok := compose.ExtractInterruptInfo(err)
	if !ok {
		t.Fatal(err)
	}
	assert.Value(reg.Approve(t.Context(), belt.Waits(info.InterruptContexts)[0].Approval, nil))(t)
	name = "b"
	if out, err := run.Invoke(t.Context(), "x", compose.WithCheckPointID("x")); err == nil {
		t.Errorf("the call got %q, which is another's", out)
	}
}

// A login after which another one is needed is an interrupt again.
func TestLogins(t *testing.T) {
	needed := 2
	reg := registry.New(nil)
	assert.OK(t, reg.Add(returning("mail", func() (*mcp.CallToolResult, error) {
		if needed > 0 {
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: fmt.Sprintf("https://login.example/%d", needed)}, mcp.NotSent)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "no mail"}}}, nil
	})))
	r := newRig(t, belt.New(reg, nil), newStore())
	w := r.mustWait(t, t.Context(), call("mail", ``), 1)[0]
	assert.False(t, !w.Login || w.LoginURL != "https://login.example/2" || w.Tool != "mail" || w.Approval != "", "it waits for %+v", w)
	needed--
	if w = r.mustWait(t, t.Context(), nil, 1)[0]; w.LoginURL != "https://login.example/1" {
		t.Errorf("it waits for %+v", w)
	}
	needed--
	assert.Equal(t, r.mustEnd(t, t.Context(), nil)[0], "no mail", "the results")
}

// A tool that the node does not know waits as others do.
func TestUnknownToolWaits(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	node := assert.Value(compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{UnknownToolsHandler: belt.New(reg, nil).Unknown}))(t)
	run := assert.Value(compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node).Compile(t.Context(), compose.WithCheckPointStore(newStore())))(t)
	_, err := run.Invoke(t.Context(), call("remove", `{"name":"a"}`), compose.WithCheckPointID("x"))
	info, ok := compose.ExtractInterruptInfo(err)
	if !ok {
		t.Fatal(err)
	}
	assert.Value(reg.Approve(t.Context(), belt.Waits(info.InterruptContexts)[0].Approval, nil))(t)
	assert.Equal(t, assert.Value(run.Invoke(t.Context(), nil, compose.WithCheckPointID("x")))(t)[0].Content, "removed a")
}
