package eino_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
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
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (registry.Decision, error) {
		if (req.Tool.Name == "remove" || req.Tool.Name == "secret") && !req.Approved {
			return registry.Decision{Verdict: registry.Ask, Reason: "it is for good"}, nil
		}
		return registry.Decision{Verdict: registry.Allow}, nil
	})})
	if err := r.Add(removing(l), pictureTool("picture", func() { l.add("picture") })); err != nil {
		t.Fatal(err)
	}
	return r
}

// A rig is a tools node in a graph, without a model.
type rig struct {
	belt *belt.Belt
	node compose.Runnable[*schema.Message, []*schema.Message]
}

func newRig(t *testing.T, b *belt.Belt, s compose.CheckPointStore) *rig {
	t.Helper()
	config, err := b.ToolsNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node, err := compose.NewToolNode(t.Context(), &config)
	if err != nil {
		t.Fatal(err)
	}
	g := compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node)
	run, err := g.Compile(t.Context(), compose.WithCheckPointStore(s))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{b, run}
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
	r := newRig(t, belt.New(newCautious(t, &l), nil), newStore())
	w := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
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
		again := r.mustWait(t, t.Context(), nil, 1)[0]
		if again.Approval != first.Approval {
			t.Errorf("somebody is asked again: %q", again.Approval)
		}
	}
	if _, err := reg.Resume(t.Context(), first.Approval, nil); err != nil {
		t.Fatal(err)
	}
	got := r.mustEnd(t, t.Context(), nil)
	if len(got) != 2 || got[0] != "removed a" || !strings.Contains(got[1], "attached") {
		t.Errorf("the results are %q", got)
	}
	if ran := l.calls(); !slices.Equal(ran, []string{"picture", "remove a"}) {
		t.Errorf("the calls are %q", ran)
	}
}

// What ran beside a call that waits keeps its image in the checkpoint, which is JSON here
// and gob in agents of adk.
func TestImageInACheckpoint(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	r := newRig(t, belt.New(reg, nil), newStore())
	w := r.mustWait(t, t.Context(), call("picture", `{}`, "remove", `{"name":"a"}`), 1)[0]
	if err := reg.Refuse(t.Context(), w.Approval, ""); err != nil {
		t.Fatal(err)
	}
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
	if ran := l.calls(); !slices.Equal(ran, []string{"remove b"}) {
		t.Errorf("the calls are %q", ran)
	}
	// An unsuitable answer is none.
	ctx = compose.ResumeWithData(t.Context(), of("a", left).InterruptID, "yes")
	left = r.mustWait(t, ctx, nil, 2)
	if _, err := reg.Resume(t.Context(), of("a", left).Approval, nil); err != nil {
		t.Fatal(err)
	}
	ctx = compose.BatchResumeWithData(t.Context(), map[string]any{
		of("a", left).InterruptID: belt.Decision{Approve: true}, // somebody was faster
		of("c", left).InterruptID: &belt.Decision{Reason: "keep it"},
	})
	got := r.mustEnd(t, ctx, nil)
	if len(got) != 3 || got[0] != "removed a" || got[1] != "removed b" || !strings.Contains(got[2], "keep it") || !strings.HasPrefix(got[2], "The tool failed:") {
		t.Errorf("the results are %q", got)
	}
	if ran := l.calls(); !slices.Equal(ran, []string{"remove b", "remove a"}) {
		t.Errorf("the calls are %q", ran)
	}
}

// restarted returns the rig of a program that was started again: only the store is the
// same.
func restarted(t *testing.T, l *log, s compose.CheckPointStore) *rig {
	return newRig(t, belt.New(newCautious(t, l), nil), s)
}

func TestRestart(t *testing.T) {
	for name, c := range map[string]struct {
		decision any
		want     string
		ran      []string
	}{
		"approved": {belt.Decision{Approve: true}, "removed a", []string{"remove a"}},
		"refused":  {belt.Decision{Reason: "too late"}, "too late", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			s := newStore()
			w := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
			ctx := compose.ResumeWithData(t.Context(), w.InterruptID, c.decision)
			got := restarted(t, &l, s).mustEnd(t, ctx, nil)
			if len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("the results are %q", got)
			}
			if ran := l.calls(); !slices.Equal(ran, c.ran) {
				t.Errorf("the calls are %q", ran)
			}
		})
	}
}

// After a restart a resume without decisions tells what waits, and one with some of them
// leaves the others waiting, over another restart as well.
func TestWaitsAfterRestart(t *testing.T) {
	var l log
	s := newStore()
	first := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`, "remove", `{"name":"b"}`), 2)
	waits := restarted(t, &l, s).mustWait(t, t.Context(), nil, 2)
	for i, w := range waits {
		was := slices.IndexFunc(first, func(f belt.Wait) bool { return f.Approval == w.Approval })
		if was < 0 || w.InterruptID == "" || w.Tool != "remove" || !bytes.Equal(w.Arguments, first[was].Arguments) || w.Reason != "it is for good" || !w.Expires.Equal(first[was].Expires) {
			t.Errorf("wait %d is %+v", i, w)
		}
	}
	ctx := compose.ResumeWithData(t.Context(), waits[0].InterruptID, belt.Decision{Approve: true})
	left := restarted(t, &l, s).mustWait(t, ctx, nil, 1)
	if left[0].Approval != waits[1].Approval || len(l.calls()) != 1 {
		t.Errorf("%+v waits, and the calls are %q", left, l.calls())
	}
	ctx = compose.ResumeWithData(t.Context(), left[0].InterruptID, belt.Decision{Approve: true})
	if got := restarted(t, &l, s).mustEnd(t, ctx, nil); !slices.Equal(got, []string{"removed a", "removed b"}) {
		t.Errorf("the results are %q", got)
	}
	if ran := l.calls(); len(ran) != 2 {
		t.Errorf("the calls are %q", ran)
	}
}

// Nobody waits for a decision for ever.
func TestNoDecisionAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s := newStore()
		w := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
		time.Sleep(time.Until(w.Expires) - time.Second)
		r := restarted(t, &l, s)
		r.mustWait(t, t.Context(), nil, 1)
		time.Sleep(2 * time.Second)
		if got := r.mustEnd(t, t.Context(), nil); !strings.Contains(got[0], "may have run or not") || len(l.calls()) > 0 {
			t.Errorf("the results are %q, the calls %q", got, l.calls())
		}
	})
}

// An approval that comes too late after a restart is none: somebody is asked again.
func TestLateDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s := newStore()
		w := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
		time.Sleep(24 * time.Hour)
		ctx := compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
		r := restarted(t, &l, s)
		again := r.mustWait(t, ctx, nil, 1)[0]
		if again.Approval == w.Approval || len(l.calls()) > 0 {
			t.Errorf("the call was made: %q", l.calls())
		}
		ctx = compose.ResumeWithData(t.Context(), again.InterruptID, belt.Decision{Approve: true})
		if got := r.mustEnd(t, ctx, nil); got[0] != "removed a" {
			t.Errorf("the results are %q", got)
		}
	})
}

// A second resume of the same checkpoint does not make the call a second time.
func TestResumeTwice(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	s := newStore()
	r := newRig(t, belt.New(reg, nil), s)
	w := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
	checkpoint, _, _ := s.Get(t.Context(), "x")
	var wg sync.WaitGroup
	for i := range 8 {
		own := newStore()
		_ = own.Set(t.Context(), "x", checkpoint)
		r := newRig(t, belt.New(reg, nil), own)
		wg.Go(func() {
			ctx := compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
			if out, _, err := r.run(ctx, nil); err != nil || texts(r.belt, out)[0] != "removed a" {
				t.Errorf("resume %d: %v, %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if ran := l.calls(); len(ran) != 1 {
		t.Errorf("the calls are %q", ran)
	}
}

// Nor does it if the program was restarted in between.
func TestResumeTwiceAfterRestart(t *testing.T) {
	var l log
	s := newStore()
	w := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
	checkpoint, _, _ := s.Get(t.Context(), "x")
	b := belt.New(newCautious(t, &l), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		own := newStore()
		_ = own.Set(t.Context(), "x", checkpoint)
		r := newRig(t, b, own)
		wg.Go(func() {
			ctx := compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
			out, waits, err := r.run(ctx, nil)
			for err == nil && len(waits) > 0 { // it came before the first one's approval
				out, waits, err = r.run(t.Context(), nil)
			}
			if err != nil || texts(b, out)[0] != "removed a" {
				t.Errorf("resume %d: %v, %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if ran := l.calls(); len(ran) != 1 {
		t.Errorf("the calls are %q", ran)
	}
}

// A call that is not the one that was interrupted does not get its approval.
func TestStateOfAnotherCall(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	tools, err := belt.Tools(t.Context(), reg, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	run, err := chain.Compile(t.Context(), compose.WithCheckPointStore(newStore()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Invoke(t.Context(), "x", compose.WithCheckPointID("x"))
	info, ok := compose.ExtractInterruptInfo(err)
	if !ok {
		t.Fatal(err)
	}
	if _, err := reg.Resume(t.Context(), belt.Waits(info.InterruptContexts)[0].Approval, nil); err != nil {
		t.Fatal(err)
	}
	name = "b"
	if out, err := run.Invoke(t.Context(), "x", compose.WithCheckPointID("x")); err == nil {
		t.Errorf("the call got %q, which is another's", out)
	}
}

// A login after which another one is needed is an interrupt again.
func TestLogins(t *testing.T) {
	needed := 2
	reg := registry.New(nil)
	err := reg.Add(returning("mail", func() (*mcp.CallToolResult, error) {
		if needed > 0 {
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: fmt.Sprintf("https://login.example/%d", needed)}, mcp.NotSent)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "no mail"}}}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, belt.New(reg, nil), newStore())
	w := r.mustWait(t, t.Context(), call("mail", ``), 1)[0]
	if !w.Login || w.LoginURL != "https://login.example/2" || w.Tool != "mail" || w.Approval != "" {
		t.Errorf("it waits for %+v", w)
	}
	needed--
	if w = r.mustWait(t, t.Context(), nil, 1)[0]; w.LoginURL != "https://login.example/1" {
		t.Errorf("it waits for %+v", w)
	}
	needed--
	if got := r.mustEnd(t, t.Context(), nil); got[0] != "no mail" {
		t.Errorf("the results are %q", got)
	}
}

// A tool that the node does not know waits as others do.
func TestUnknownToolWaits(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{UnknownToolsHandler: belt.New(reg, nil).Unknown})
	if err != nil {
		t.Fatal(err)
	}
	run, err := compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node).Compile(t.Context(), compose.WithCheckPointStore(newStore()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Invoke(t.Context(), call("remove", `{"name":"a"}`), compose.WithCheckPointID("x"))
	info, ok := compose.ExtractInterruptInfo(err)
	if !ok {
		t.Fatal(err)
	}
	if _, err := reg.Resume(t.Context(), belt.Waits(info.InterruptContexts)[0].Approval, nil); err != nil {
		t.Fatal(err)
	}
	out, err := run.Invoke(t.Context(), nil, compose.WithCheckPointID("x"))
	if err != nil || out[0].Content != "removed a" {
		t.Errorf("%v, %v", out, err)
	}
}

// The agent of adk after a restart: another runner, another agent, another registry.
func TestAgentAfterRestart(t *testing.T) {
	var l log
	model := newModel(t)
	model.Then(calls("picture", `{}`, "remove", `{"name":"a"}`), says("done"))
	kept := newStore()
	start := func() *adkAgent {
		return &adkAgent{belt: belt.New(newCautious(t, &l), nil), model: newChatModel(t, model.URL), store: kept}
	}
	first := start()
	runner, err := first.runner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var waits []belt.Wait
	events := runner.Query(t.Context(), "remove a", adk.WithCheckPointID("conversation"))
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			t.Fatal(event.Err)
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			waits = belt.Waits(event.Action.Interrupted.InterruptContexts)
		}
	}
	if len(waits) != 1 {
		t.Fatalf("it waits for %+v", waits)
	}
	second := start()
	if runner, err = second.runner(t.Context()); err != nil {
		t.Fatal(err)
	}
	resumed, err := runner.ResumeWithParams(t.Context(), "conversation", &adk.ResumeParams{Targets: map[string]any{waits[0].InterruptID: belt.Decision{Approve: true}}})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := second.events(resumed)
	if err != nil || turn.Text != "done" {
		t.Fatalf("%+v, %v, %q", turn, err, model.Refused())
	}
	last := model.Requests()[1]
	if len(last.Media) != 1 || last.Results[1].Text != "removed a" || !slices.Equal(l.calls(), []string{"picture", "remove a"}) {
		t.Errorf("the model got %+v after %q", last, l.calls())
	}
}
