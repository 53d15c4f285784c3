package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func newTurn(t *testing.T, r *registry.Registry, opts *profile.TurnOptions, tools ...registry.Tool) *profile.Turn {
	t.Helper()
	assert.OK(t, r.Add(tools...))
	return assert.Value(profile.NewTurn(t.Context(), r, profile.OpenAI, opts))(t)
}

// callsOf returns calls of tools by their names, with ids from 1.
func callsOf(names ...string) (calls []profile.Call) {
	for i, name := range names {
		calls = append(calls, profile.Call{ID: fmt.Sprint(i + 1), Name: name})
	}
	return calls
}

// runWaiting makes calls of which some have to wait.
func runWaiting(t *testing.T, turn *profile.Turn, names ...string) *profile.WaitingError {
	t.Helper()
	_, err := turn.Run(t.Context(), callsOf(names...))
	return assert.As[*profile.WaitingError](t, err)
}

// newAskingRegistry returns a registry that asks about calls of danger.
func newAskingRegistry(t *testing.T) *registry.Registry {
	return registry.New(&registry.Options{Approver: assert.Value(policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "danger"}))(t)})
}

// needsLogin returns the failure of a call that needs a login.
func needsLogin(url string, done <-chan struct{}) error {
	return mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: url, Done: done}, mcp.NotSent)
}

func texts(answers []profile.Answer) string {
	var all []string
	for _, a := range answers {
		all = append(all, result.Text(a.Result))
	}
	return strings.Join(all, ", ")
}

func TestRunKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration) func(context.Context) (*mcp.CallToolResult, error) {
			return func(context.Context) (*mcp.CallToolResult, error) {
				time.Sleep(d)
				return textResult(d.String()), nil
			}
		}
		turn := newTurn(t, registry.New(nil), nil, nativeTool("first", slow(3*time.Second)), nativeTool("second", slow(time.Second)))
		began := time.Now()
		answers := assert.Value(turn.Run(t.Context(), callsOf("first", "second", "third")))(t)
		assert.Equal(t, time.Since(began), 3*time.Second, "the time of both calls")
		assert.Equal(t, texts(answers[:2]), "3s, 1s", "the answers")
		unknown := answers[2]
		assert.As[*registry.UnknownToolError](t, unknown.Err)
		assert.True(t, unknown.Result.IsError, "the answer of an unknown tool is an error")
		assert.Equal(t, unknown.Call.ID, "3", "the call of that answer")
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
			return textResult("ok"), nil
		})
		calls := callsOf(strings.Fields(strings.Repeat("busy ", 40))...)
		for parallel, want := range map[int]int64{0: 16, 1: 1, 3: 3, 100: 40, -1: 40} {
			most.Store(0)
			assert.Value(newTurn(t, registry.New(nil), &profile.TurnOptions{MaxParallel: parallel}, busy).Run(t.Context(), calls))(t)
			assert.Equal(t, most.Load(), want, "MaxParallel %d: calls at a time", parallel)
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
		answers, err := turn.Run(ctx, callsOf("wait", "wait", "wait"))
		assert.Is(t, err, cause)
		assert.Equal(t, ran.Load(), 1, "tools that ran")
		for i, a := range answers {
			assert.Fails(t, a.Err, "answer %d", i)
			assert.True(t, a.Result.IsError, "answer %d is an error", i)
		}
	})
}

func TestRunPanicsInTheCaller(t *testing.T) {
	r := registry.New(nil)
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
			if c.Tool.Name == "bad" {
				panic("middleware")
			}
			return next(ctx, c)
		}
	})
	turn := newTurn(t, r, nil, nativeTool("bad", says("ok")), nativeTool("good", says("ok")))
	defer func() { assert.Contains(t, fmt.Sprint(recover()), "middleware", "the panic of Run") }()
	t.Errorf("got %v of Run, want a panic", assert.Err(turn.Run(t.Context(), callsOf("bad", "good"))))
}

func TestDirectResults(t *testing.T) {
	direct := func(name string, res *mcp.CallToolResult) *described {
		f := nativeTool(name, func(context.Context) (*mcp.CallToolResult, error) { return res, nil })
		f.def.ReturnDirect = true
		return f
	}
	show, fail := direct("show", textResult("for the user")), direct("fail", &mcp.CallToolResult{IsError: true, Content: textResult("why").Content})
	for _, wanted := range []bool{true, false} {
		shown, forModel := "", "for the user"
		opts := &profile.TurnOptions{}
		if wanted {
			opts.Direct = func(_ context.Context, a profile.Answer) { shown += result.Text(a.Direct) }
			forModel = result.Withheld
		}
		turn := newTurn(t, registry.New(nil), opts, show, fail)
		a := turn.Call(t.Context(), profile.Call{Name: "show"})
		assert.Equal(t, result.Text(a.Result), forModel, "what the model gets")
		assert.Equal(t, result.Text(a.Direct), "for the user", "what the program gets")
		failed := turn.Call(t.Context(), profile.Call{Name: "fail"})
		assert.Equal(t, result.Text(failed.Result), "why", "what the model gets of a failure")
		assert.Equal(t, failed.Direct, nil, "what the program gets of a failure")
		assert.Equal(t, shown == "for the user", wanted, "the user is shown %q", shown)
	}
}

// What is for the user stays so by names that the registry forgives, or that are not in the
// set.
func TestDirectResultsByOtherNames(t *testing.T) {
	direct := nativeTool("show_it", says("for the user"))
	direct.def.ReturnDirect = true
	for _, name := range []string{"show_it", "Show_It", "show.it"} {
		for _, kept := range []bool{true, false} {
			turn := newTurn(t, registry.New(nil), &profile.TurnOptions{
				Keep: func(*registry.Definition) bool { return kept }, Direct: func(context.Context, profile.Answer) {},
			}, direct)
			a := turn.Call(t.Context(), profile.Call{Name: name})
			assert.Equal(t, result.Text(a.Result), result.Withheld, "%s, kept %v: what the model gets", name, kept)
			assert.Equal(t, result.Text(a.Direct), "for the user", "%s, kept %v: what the user gets", name, kept)
		}
	}
}

func TestAnswerOfNothing(t *testing.T) {
	a := newTurn(t, registry.New(nil), nil).Answer(t.Context(), profile.Call{Name: "nothing"}, nil, nil)
	assert.False(t, a.Result.IsError, "an empty result is an error")
}

func TestWaitForAnApproval(t *testing.T) {
	var ran atomic.Int64
	r := newAskingRegistry(t)
	turn := newTurn(t, r, nil, nativeTool("safe", says("safe")), nativeTool("danger", func(context.Context) (*mcp.CallToolResult, error) {
		ran.Add(1)
		return textResult("done"), nil
	}))
	calls := callsOf("danger", "safe", "danger")
	calls[2].Arguments = json.RawMessage(`{"n":2}`)
	answers, err := turn.Run(t.Context(), calls)
	waiting := assert.As[*profile.WaitingError](t, err)
	assert.As[*registry.ApprovalRequiredError](t, err)
	assert.Equal(t, len(answers), 0, "answers")
	assert.Equal(t, len(waiting.Waiting()), 2, "calls that wait")
	assert.Equal(t, len(waiting.Answers), 3, "answers so far")
	assert.True(t, waiting.Answers[0].Result.IsError, "the model of an agent that does not wait is told of an error")
	// They are answered in another order than asked for, one of them before Wait.
	assert.Value(r.Approve(t.Context(), waiting.Answers[2].Approval().ID, nil))(t)
	refused := make(chan error, 1)
	go func() { refused <- r.Deny(t.Context(), waiting.Answers[0].Approval().ID, "no") }()
	answers = assert.Value(turn.Wait(t.Context(), waiting))(t)
	assert.OK(t, <-refused)
	assert.As[*approval.DeniedError](t, answers[0].Err)
	assert.Equal(t, texts(answers[1:]), "safe, done", "the answers")
	assert.Equal(t, ran.Load(), 1, "runs of the tool")
	assert.True(t, waiting.Answers[2].Waits(), "the error waits as before")
}

func TestWaitEndsWithItsContext(t *testing.T) {
	turn := newTurn(t, newAskingRegistry(t), nil, nativeTool("danger", says("done")))
	waiting := runWaiting(t, turn, "danger")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answers, err := turn.Wait(ctx, waiting)
	assert.Is(t, err, context.Canceled)
	assert.Equal(t, len(answers), 1, "answers")
	assert.True(t, answers[0].Waits(), "the call waits")
}

// What was made while the context ended is told.
func TestWaitKeepsWhatIsThere(t *testing.T) {
	r := newAskingRegistry(t)
	turn := newTurn(t, r, nil, nativeTool("danger", says("done")))
	waiting := runWaiting(t, turn, "danger")
	assert.Value(r.Approve(t.Context(), waiting.Answers[0].Approval().ID, nil))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the outcome and the end of the context are both there
		answers, err := turn.Wait(ctx, waiting)
		assert.Is(t, err, context.Canceled)
		if texts(answers) == "done" {
			return
		}
	}
	t.Error("got no outcome in 100 waits, want it in one")
}

// A Wait goes on where another one has ended: a call that was made is not made again.
func TestWaitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second atomic.Int64
		done, later := make(chan struct{}), make(chan struct{})
		close(done)
		login := func(ran *atomic.Int64, done <-chan struct{}) func(context.Context) (*mcp.CallToolResult, error) {
			return func(context.Context) (*mcp.CallToolResult, error) {
				if ran.Add(1) > 1 {
					return textResult("ran"), nil
				}
				return nil, needsLogin("", done)
			}
		}
		turn := newTurn(t, registry.New(nil), nil, nativeTool("first", login(&first, done)), nativeTool("second", login(&second, later)))
		waiting := runWaiting(t, turn, "first", "second")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		answers, err := turn.Wait(ctx, waiting)
		assert.Is(t, err, context.DeadlineExceeded)
		assert.False(t, answers[0].Waits(), "the first call waits")
		assert.True(t, answers[1].Waits(), "the second call waits")
		close(later)
		answers = assert.Value(turn.Wait(t.Context(), &profile.WaitingError{Answers: answers}))(t)
		assert.Equal(t, texts(answers), "ran, ran", "the answers")
		assert.Equal(t, first.Load(), 2, "tries of the first call")
		assert.Equal(t, second.Load(), 2, "tries of the second call")
	})
}

// A server that always wants a login does not keep Wait going round; and a call whose login
// is done when the context has ended still waits.
func TestWaitForEndlessLogins(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for _, done := range []<-chan struct{}{nil, closed} {
		tries := 0
		turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
			tries++
			return nil, needsLogin("", done)
		}))
		waiting := runWaiting(t, turn, "mail")
		answers := assert.Value(turn.Wait(t.Context(), waiting))(t)
		assert.True(t, answers[0].Waits(), "the call waits")
		assert.False(t, tries > 10, "got %d tries, want at most 10", tries)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			answers, err := turn.Wait(ctx, waiting)
			assert.Is(t, err, context.Canceled)
			assert.True(t, answers[0].Waits(), "the call waits after the end of the context")
		}
	}
}

func TestWaitForALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address = "https://example.com/login"
		tries, done := 0, make(chan struct{})
		turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
			if tries++; tries > 1 {
				return textResult("mail"), nil
			}
			return nil, needsLogin(address, done)
		}))
		waiting := runWaiting(t, turn, "mail")
		at, _ := waiting.Answers[0].Login()
		assert.Equal(t, at, address, "the address of the login")
		time.AfterFunc(time.Hour, func() { close(done) })
		began := time.Now()
		assert.Equal(t, texts(assert.Value(turn.Wait(t.Context(), waiting))(t)), "mail", "the answer")
		assert.Equal(t, time.Since(began), time.Hour, "an answer after")
		assert.Equal(t, tries, 2, "tries")
	})
}

// The outcome of an approval is not kept as long as a user may take to log in.
func TestWaitForAnApprovalBehindALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loggedIn := make(chan struct{})
		r := newAskingRegistry(t)
		var tries []string
		try := func(name string, most int) registry.Tool {
			return nativeTool(name, func(context.Context) (*mcp.CallToolResult, error) {
				if tries = append(tries, name); len(tries) > most {
					return textResult(name), nil
				}
				return nil, needsLogin("", loggedIn)
			})
		}
		turn := newTurn(t, r, &profile.TurnOptions{MaxParallel: 1}, try("first", 2), try("second", 2), nativeTool("danger", says("danger")))
		waiting := runWaiting(t, turn, "first", "second", "danger")
		time.AfterFunc(time.Minute, func() {
			assert.Value(r.Approve(context.Background(), waiting.Answers[2].Approval().ID, nil))(t)
		})
		time.AfterFunc(24*time.Hour, func() { close(loggedIn) })
		assert.Equal(t, texts(assert.Value(turn.Wait(t.Context(), waiting))(t)), "first, second, danger", "the answers")
		assert.Equal(t, fmt.Sprint(tries), "[first second first second]", "the calls")
	})
}

func TestLost(t *testing.T) {
	a := profile.Lost(profile.Call{ID: "1", Name: "wipe"})
	assert.Equal(t, a.Call.ID, "1", "the call")
	assert.False(t, a.Waits(), "the call waits")
	assert.True(t, a.Result.IsError, "the result is an error")
	assert.Equal(t, mcp.OutcomeOf(a.Err), mcp.Unknown, "the outcome")
	assert.Contains(t, result.Text(a.Result), "may have", "what the model is told")
}

// A call that may have run is not made again after a login.
func TestNoLoginForWhatMayHaveRun(t *testing.T) {
	turn := newTurn(t, registry.New(nil), nil, nativeTool("mail", func(context.Context) (*mcp.CallToolResult, error) {
		return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: "https://example.com"}, mcp.Unknown)
	}))
	assert.False(t, assert.Value(turn.Run(t.Context(), callsOf("mail")))(t)[0].Waits(), "the call waits")
}

// A call that was cut off before its arguments began is not one without arguments.
func TestIncompleteCall(t *testing.T) {
	turn := newTurn(t, registry.New(nil), nil, nativeTool("wipe", func(context.Context) (*mcp.CallToolResult, error) {
		t.Error("got a call, want none")
		return textResult("wiped"), nil
	}))
	answers := assert.Value(turn.Run(t.Context(), []profile.Call{{ID: "1", Name: "wipe", Incomplete: true}}))(t)
	assert.As[*registry.ArgumentsError](t, answers[0].Err)
	assert.Equal(t, mcp.OutcomeOf(answers[0].Err), mcp.NotSent, "the outcome")
	assert.True(t, answers[0].Result.IsError, "the result is an error")
	assert.Contains(t, texts(answers), "cut off", "what the model is told")
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

// TestMendedIsObserved tells observers what of a call goes back in another form, and nothing of
// a call that goes back as it is, or that a tool makes.
func TestMendedIsObserved(t *testing.T) {
	r := registry.New(nil)
	assert.OK(t, r.Add(nativeTool("inner", says("ok"))))
	assert.OK(t, r.Add(registry.MustFunc("outer", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := r.Call(ctx, "inner", nil)
		return "", err
	})))
	var seen []string
	r.Observe(func(_ context.Context, o *registry.Observation) {
		seen = append(seen, fmt.Sprint(o.Name, " ", o.CallID, " ", o.Mended))
	})
	for _, test := range []struct {
		provider profile.Provider
		calls    []profile.Call
		want     []string
	}{
		{profile.OpenAI, []profile.Call{{ID: "x", Name: "inner", Arguments: json.RawMessage(`{}`)}}, []string{"inner x []"}},
		{profile.OpenAI, []profile.Call{{ID: "x", Name: "inner"}, {ID: "x", Name: "inner"}}, []string{"inner x []", "inner call_1 [id]"}},
		{profile.Anthropic, []profile.Call{{ID: "a:1", Name: "in.ner", Arguments: json.RawMessage(`{"a":"\ud83d"}`)}}, []string{"inner a_1_ihmepbjs [id name arguments]"}},
		{profile.Gemini, []profile.Call{{Name: "in.ner", Arguments: json.RawMessage(`[]`)}}, []string{"inner  [arguments]"}},
		{profile.OpenAI, []profile.Call{{ID: "x", Name: "outer", Arguments: json.RawMessage(`null`)}}, []string{"inner x []", "outer x [arguments]"}},
	} {
		seen = nil
		turn := assert.Value(profile.NewTurn(t.Context(), r, test.provider, &profile.TurnOptions{MaxParallel: 1}))(t)
		assert.Value(turn.Run(t.Context(), test.provider.WithIDs(test.calls)))(t)
		assert.Equal(t, fmt.Sprintf("%q", seen), fmt.Sprintf("%q", test.want), "%s %v", test.provider, test.calls)
	}
}
