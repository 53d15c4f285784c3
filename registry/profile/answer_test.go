package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A toolFunc is a native tool that fails as a server's would.
type toolFunc struct {
	def *registry.Definition
	run func(ctx context.Context) (*mcp.CallToolResult, error)
}

func (f *toolFunc) Definition() *registry.Definition { return f.def }

func (f *toolFunc) Call(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	return f.run(ctx)
}

func nativeTool(name string, run func(ctx context.Context) (*mcp.CallToolResult, error)) *toolFunc {
	return &toolFunc{&registry.Definition{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, run}
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func newTurn(t *testing.T, r *registry.Registry, opts *profile.TurnOptions, tools ...registry.Tool) *profile.Turn {
	t.Helper()
	assert.OK(t, r.Add(tools...))
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.OpenAI, opts))(t)
	return turn
}

func texts(answers []profile.Answer) []string {
	var all []string
	for _, a := range answers {
		all = append(all, result.Text(a.Result))
	}
	return all
}

func TestRunKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration) func(context.Context) (*mcp.CallToolResult, error) {
			return func(context.Context) (*mcp.CallToolResult, error) {
				time.Sleep(d)
				return says(d.String()), nil
			}
		}
		turn := newTurn(t, registry.New(nil), nil, nativeTool("first", slow(3*time.Second)), nativeTool("second", slow(time.Second)))
		begun := time.Now()
		answers, err := turn.Run(t.Context(), []profile.Call{{ID: "1", Name: "first"}, {ID: "2", Name: "second"}, {ID: "3", Name: "third"}})
		if err != nil || time.Since(begun) != 3*time.Second {
			t.Fatalf("Run returned %v after %v", err, time.Since(begun))
		}
		if got := texts(answers[:2]); !slices.Equal(got, []string{"3s", "1s"}) {
			t.Errorf("the answers are %q", got)
		}
		var unknown *registry.UnknownToolError
		if !errors.As(answers[2].Err, &unknown) || !answers[2].Result.IsError || answers[2].Call.ID != "3" {
			t.Errorf("an unknown tool has the answer %+v", answers[2])
		}
	})
}

func TestRunBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		busy := nativeTool("busy", func(context.Context) (*mcp.CallToolResult, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(time.Second)
			return says("ok"), nil
		})
		calls := slices.Repeat([]profile.Call{{Name: "busy"}}, 40)
		for parallel, want := range map[int]int64{0: 16, 1: 1, 3: 3, 100: 40, -1: 40} {
			most.Store(0)
			r := registry.New(nil)
			assert.Value(newTurn(t, r, &profile.TurnOptions{MaxParallel: parallel}, busy).Run(t.Context(), calls))(t)
			if most.Load() != want {
				t.Errorf("with MaxParallel %d there ran %d at a time, not %d", parallel, most.Load(), want)
			}
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		var ran atomic.Int64
		turn := newTurn(t, registry.New(nil), &profile.TurnOptions{MaxParallel: 1}, nativeTool("wait", func(ctx context.Context) (*mcp.CallToolResult, error) {
			ran.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		time.AfterFunc(time.Second, func() { cancel(cause) })
		answers, err := turn.Run(ctx, []profile.Call{{Name: "wait"}, {Name: "wait"}, {Name: "wait"}})
		if !errors.Is(err, cause) {
			t.Errorf("Run returned %v", err)
		}
		assert.Equal(t, ran.Load(), 1, "tools ran, though the context had ended after the first")
		for i, a := range answers {
			if a.Result == nil || !a.Result.IsError || a.Err == nil {
				t.Errorf("answer %d is %+v", i, a)
			}
		}
	})
}

func TestRunPanicsInTheCaller(t *testing.T) {
	r := registry.New(&registry.Options{Middleware: []registry.Middleware{func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
			if c.Tool.Name == "bad" {
				panic("middleware")
			}
			return next(ctx, c)
		}
	}}})
	ok := func(context.Context) (*mcp.CallToolResult, error) { return says("ok"), nil }
	turn := newTurn(t, r, nil, nativeTool("bad", ok), nativeTool("good", ok))
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "middleware") {
			t.Errorf("Run panicked with %v", v)
		}
	}()
	_, err := turn.Run(t.Context(), []profile.Call{{Name: "bad"}, {Name: "good"}})
	t.Errorf("Run returned %v", err)
}

func TestDirectResults(t *testing.T) {
	direct := func(name string, res *mcp.CallToolResult) *toolFunc {
		f := nativeTool(name, func(context.Context) (*mcp.CallToolResult, error) { return res, nil })
		f.def.ReturnDirect = true
		return f
	}
	show, fail := direct("show", says("for the user")), direct("fail", &mcp.CallToolResult{IsError: true, Content: says("why").Content})
	for _, wanted := range []bool{true, false} {
		var got []string
		opts := &profile.TurnOptions{Direct: func(_ context.Context, a profile.Answer) { got = append(got, result.Text(a.Direct)) }}
		forModel, forUser := result.Withheld, []string{"for the user"}
		if !wanted {
			opts, forModel, forUser = nil, "for the user", nil
		}
		turn := newTurn(t, registry.New(nil), opts, show, fail)
		a := turn.Call(t.Context(), profile.Call{Name: "show"})
		if result.Text(a.Result) != forModel || result.Text(a.Direct) != "for the user" {
			t.Errorf("the model gets %q, the program %q", result.Text(a.Result), result.Text(a.Direct))
		}
		if a = turn.Call(t.Context(), profile.Call{Name: "fail"}); result.Text(a.Result) != "why" || a.Direct != nil {
			t.Errorf("of a failure the model gets %q, the program %v", result.Text(a.Result), a.Direct)
		}
		if !slices.Equal(got, forUser) {
			t.Errorf("the user gets %q", got)
		}
	}
}

// TestDirectResultsByOtherNames has names that the registry forgives, or that are not
// in the set: what is for the user stays so.
func TestDirectResultsByOtherNames(t *testing.T) {
	direct := nativeTool("show_it", func(context.Context) (*mcp.CallToolResult, error) { return says("for the user"), nil })
	direct.def.ReturnDirect = true
	for _, name := range []string{"show_it", "Show_It", "show.it"} {
		for _, kept := range []bool{true, false} {
			turn := newTurn(t, registry.New(nil), &profile.TurnOptions{
				Keep: func(*registry.Definition) bool { return kept }, Direct: func(context.Context, profile.Answer) {},
			}, direct)
			a := turn.Call(t.Context(), profile.Call{Name: name})
			if result.Text(a.Result) != result.Withheld || result.Text(a.Direct) != "for the user" {
				t.Errorf("%s, kept %v: the model gets %q, the user %q", name, kept, result.Text(a.Result), result.Text(a.Direct))
			}
		}
	}
}

func TestAnswerOfNothing(t *testing.T) {
	turn := newTurn(t, registry.New(nil), nil)
	if a := turn.Answer(t.Context(), profile.Call{Name: "nobody"}, nil, nil); a.Result == nil || a.Result.IsError {
		t.Errorf("the answer is %+v", a)
	}
}

func TestWaitForAnApproval(t *testing.T) {
	var ran atomic.Int64
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if req.Tool.Name == "danger" && !req.Approved {
			return approval.Decision{Verdict: approval.Ask}, nil
		}
		return approval.Decision{Verdict: approval.Allow}, nil
	})})
	turn := newTurn(t, r, nil,
		nativeTool("danger", func(context.Context) (*mcp.CallToolResult, error) { ran.Add(1); return says("done"), nil }),
		nativeTool("safe", func(context.Context) (*mcp.CallToolResult, error) { return says("safe"), nil }))
	answers, err := turn.Run(t.Context(), []profile.Call{{Name: "danger", Arguments: json.RawMessage(`{"n":1}`)}, {Name: "safe"}, {Name: "danger", Arguments: json.RawMessage(`{"n":2}`)}})
	var waiting *profile.WaitingError
	if !errors.As(err, &waiting) || len(waiting.Waiting()) != 2 || len(waiting.Answers) != 3 || answers != nil {
		t.Fatalf("Run returned %v, %v", answers, err)
	}
	var asks *registry.ApprovalRequiredError
	if !errors.As(err, &asks) {
		t.Error("the error does not lead to the approval")
	}
	if told := waiting.Answers[0].Result; told == nil || !told.IsError {
		t.Error("the model of an agent that does not wait is told nothing")
	}
	// They are answered in another order than asked for, one of them before Wait.
	assert.Value(r.Approve(t.Context(), waiting.Answers[2].Approval().ID, nil))(t)
	refused := make(chan error, 1)
	go func() { refused <- r.Deny(t.Context(), waiting.Answers[0].Approval().ID, "no") }()
	answers, err = turn.Wait(t.Context(), waiting)
	assert.OK(t, errors.Join(err, <-refused))
	var denied *approval.DeniedError
	if !errors.As(answers[0].Err, &denied) || result.Text(answers[1].Result) != "safe" || result.Text(answers[2].Result) != "done" {
		t.Errorf("the answers are %q", texts(answers))
	}
	assert.Equal(t, ran.Load(), 1, "the tool ran times")
	if waiting.Answers[2].Approval() == nil {
		t.Error("Wait changed the error")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	turn := newTurn(t, r, nil, nativeTool("danger", func(context.Context) (*mcp.CallToolResult, error) { return says("done"), nil }))
	_, err := turn.Run(t.Context(), []profile.Call{{Name: "danger"}})
	var waiting *profile.WaitingError
	if !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answers, err := turn.Wait(ctx, waiting)
	if !errors.Is(err, context.Canceled) || len(answers) != 1 || !answers[0].Waits() {
		t.Errorf("Wait returned %+v, %v", answers, err)
	}
}

// What was made while the context ended is told.
func TestWaitKeepsWhatIsThere(t *testing.T) {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn := newTurn(t, r, nil, nativeTool("danger", func(context.Context) (*mcp.CallToolResult, error) { return says("done"), nil }))
	_, err := turn.Run(t.Context(), []profile.Call{{Name: "danger"}})
	var waiting *profile.WaitingError
	if !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	assert.Value(r.Approve(t.Context(), waiting.Answers[0].Approval().ID, nil))(t)
	cancel()
	for range 100 { // the outcome and the end of the context are both there
		answers, err := turn.Wait(ctx, waiting)
		if !errors.Is(err, context.Canceled) || len(answers) != 1 {
			t.Fatalf("Wait returned %+v, %v", answers, err)
		}
		if result.Text(answers[0].Result) == "done" {
			return
		}
	}
	t.Error("the outcome is never there")
}

// TestWaitGoesOn has the context of a Wait end after one of two calls was made: it is
// not made again.
func TestWaitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second atomic.Int64
		done := make(chan struct{})
		close(done)
		later := make(chan struct{})
		login := func(ran *atomic.Int64, done <-chan struct{}) func(context.Context) (*mcp.CallToolResult, error) {
			return func(context.Context) (*mcp.CallToolResult, error) {
				if ran.Add(1) > 1 {
					return says("ran"), nil
				}
				return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", Done: done}, mcp.NotSent)
			}
		}
		turn := newTurn(t, registry.New(nil), nil, nativeTool("first", login(&first, done)), nativeTool("second", login(&second, later)))
		_, err := turn.Run(t.Context(), []profile.Call{{Name: "first"}, {Name: "second"}})
		var waiting *profile.WaitingError
		if !errors.As(err, &waiting) || len(waiting.Waiting()) != 2 {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		answers, err := turn.Wait(ctx, waiting)
		if !errors.Is(err, context.DeadlineExceeded) || answers[0].Waits() || !answers[1].Waits() {
			t.Fatalf("Wait returned %+v, %v", answers, err)
		}
		close(later)
		answers, err = turn.Wait(t.Context(), &profile.WaitingError{Answers: answers})
		if err != nil || !slices.Equal(texts(answers), []string{"ran", "ran"}) || first.Load() != 2 || second.Load() != 2 {
			t.Errorf("%q, %v, %d and %d tries", texts(answers), err, first.Load(), second.Load())
		}
	})
}

// A call whose login is done when the context has ended still waits.
func TestWaitEndedAfterTheLogin(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for _, done := range []<-chan struct{}{nil, closed} {
		turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", Done: done}, mcp.NotSent)
		}))
		_, err := turn.Run(t.Context(), []profile.Call{{Name: "mail"}})
		var waiting *profile.WaitingError
		if !errors.As(err, &waiting) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			if answers, err := turn.Wait(ctx, waiting); !errors.Is(err, context.Canceled) || !answers[0].Waits() {
				t.Fatalf("Wait returned %+v, %v", answers, err)
			}
		}
	}
}

func TestWaitForALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries int
		done := make(chan struct{})
		turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
			if tries++; tries > 1 {
				return says("mail"), nil
			}
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: "https://example.com/login", Done: done}, mcp.NotSent)
		}))
		_, err := turn.Run(t.Context(), []profile.Call{{Name: "mail"}})
		var waiting *profile.WaitingError
		if !errors.As(err, &waiting) {
			t.Fatal(err)
		}
		if url, needed := waiting.Answers[0].Login(); !needed || url != "https://example.com/login" {
			t.Errorf("the login is at %q, %v", url, needed)
		}
		time.AfterFunc(time.Hour, func() { close(done) })
		begun := time.Now()
		answers, err := turn.Wait(t.Context(), waiting)
		if err != nil || result.Text(answers[0].Result) != "mail" || time.Since(begun) != time.Hour || tries != 2 {
			t.Errorf("Wait returned %q, %v after %v and %d tries", texts(answers), err, time.Since(begun), tries)
		}
	})
}

// The outcome of an approval is not kept as long as a user may take to log in.
func TestWaitForAnApprovalBehindALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loggedIn := make(chan struct{})
		policy, err := policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "danger"})
		assert.OK(t, err)
		r := registry.New(&registry.Options{Approver: policy})
		var tries []string
		try := func(name string, most int) registry.Tool {
			return nativeTool(name, func(context.Context) (*mcp.CallToolResult, error) {
				if tries = append(tries, name); len(tries) > most {
					return says(name), nil
				}
				return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: name, Done: loggedIn}, mcp.NotSent)
			})
		}
		turn := newTurn(t, r, &profile.TurnOptions{MaxParallel: 1}, try("first", 2), try("second", 2),
			nativeTool("danger", func(context.Context) (*mcp.CallToolResult, error) { return says("danger"), nil }))
		_, err = turn.Run(t.Context(), []profile.Call{{Name: "first"}, {Name: "second"}, {Name: "danger"}})
		var waiting *profile.WaitingError
		if !errors.As(err, &waiting) || len(waiting.Waiting()) != 3 {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() {
			if _, err := r.Approve(context.Background(), waiting.Answers[2].Approval().ID, nil); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(24*time.Hour, func() { close(loggedIn) })
		answers, err := turn.Wait(t.Context(), waiting)
		if want := []string{"first", "second", "danger"}; err != nil || !slices.Equal(texts(answers), want) {
			t.Errorf("%q, %v", texts(answers), err)
		}
		if !slices.Equal(tries, []string{"first", "second", "first", "second"}) {
			t.Errorf("the calls were made in the order %q", tries)
		}
	})
}

func TestLost(t *testing.T) {
	a := profile.Lost(profile.Call{ID: "1", Name: "wipe"})
	if a.Call.ID != "1" || a.Waits() || !a.Result.IsError || mcp.OutcomeOf(a.Err) != mcp.Unknown || !strings.Contains(result.Text(a.Result), "may have") {
		t.Errorf("%+v: %q", a, result.Text(a.Result))
	}
}

// A server that always wants a login must not keep Wait going round.
func TestWaitForEndlessLogins(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for _, done := range []<-chan struct{}{nil, closed} {
		tries := 0
		turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
			tries++
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", Done: done}, mcp.NotSent)
		}))
		_, err := turn.Run(t.Context(), []profile.Call{{Name: "mail"}})
		var waiting *profile.WaitingError
		if !errors.As(err, &waiting) {
			t.Fatal(err)
		}
		answers, err := turn.Wait(t.Context(), waiting)
		if err != nil || !answers[0].Waits() || tries > 10 {
			t.Errorf("Wait returned %+v, %v after %d tries", answers, err, tries)
		}
	}
}

// A call that may have run is not made again after a login.
func TestNoLoginForWhatMayHaveRun(t *testing.T) {
	turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
		return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: "https://example.com"}, mcp.Unknown)
	}))
	answers, err := turn.Run(t.Context(), []profile.Call{{Name: "mail"}})
	if err != nil || answers[0].Waits() {
		t.Errorf("the call waits for a login: %v", err)
	}
}

// TestIncompleteCall has a call that was cut off before its arguments began: they
// are not none.
func TestIncompleteCall(t *testing.T) {
	ran := false
	turn := newTurn(t, registry.New(nil), nil, nativeTool("wipe", func(context.Context) (*mcp.CallToolResult, error) {
		ran = true
		return says("wiped"), nil
	}))
	answers, err := turn.Run(t.Context(), []profile.Call{{ID: "1", Name: "wipe", Incomplete: true}})
	if err != nil || ran || !answers[0].Result.IsError {
		t.Errorf("%v, ran: %v, %+v", err, ran, answers)
	}
	var refused *registry.ArgumentsError
	if !errors.As(answers[0].Err, &refused) || mcp.OutcomeOf(answers[0].Err) != mcp.NotSent || !strings.Contains(texts(answers)[0], "cut off") {
		t.Errorf("%v, %q", answers[0].Err, texts(answers))
	}
}

// What stands in a conversation is read again by those that copy OpenAI's API.
func TestObject(t *testing.T) {
	for arguments, want := range map[string]string{
		"": "{}", " ": "{}", "null": "{}", "[]": "{}", `"{}"`: "{}", `{"n":`: "{}", `{"n":1}{}`: "{}",
		"{}": "{}", "\n\t {\"n\": 1.0}\r\n": "\n\t {\"n\": 1.0}\r\n", `{"n":12345678901234567890}`: `{"n":12345678901234567890}`,
		strings.Repeat(`{"n":`, 100_000): "{}",
	} {
		assert.Equal(t, profile.Object([]byte(arguments)), want, "%.40q", arguments)
	}
}
