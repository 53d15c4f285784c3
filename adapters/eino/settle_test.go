package eino_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/compose"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// newAsking returns a registry in which everything has to be approved.
func newAsking(t *testing.T, opts *approval.Options, tools ...registry.Tool) *registry.Registry {
	t.Helper()
	o := &registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})}
	if opts != nil {
		o.Approvals = *opts
	}
	r := registry.New(o)
	assert.OK(t, r.Add(tools...))
	return r
}

// deciding returns a context in which the waits have these decisions, in their order.
func deciding(ctx context.Context, waits []belt.Wait, decisions ...any) context.Context {
	targets := map[string]any{}
	for i, d := range decisions {
		targets[waits[i].InterruptID] = d
	}
	return compose.BatchResumeWithData(ctx, targets)
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// A call that was approved, but could not be made, does not go on waiting when the model
// has been told that it failed.
func TestApprovedButNotSent(t *testing.T) {
	for _, restart := range []bool{false, true} {
		failing := true
		start := func() *registry.Registry {
			return newAsking(t, nil, returning("mail", func() (*mcp.CallToolResult, error) {
				if failing {
					return nil, mcp.WithOutcome(errors.New("the server is away"), mcp.NotSent)
				}
				return textResult("no mail"), nil
			}))
		}
		s := newStore()
		reg := start()
		r := newRig(t, belt.New(reg, nil), s)
		waits := r.mustWait(t, t.Context(), call("mail", `{}`), 1)
		if restart {
			reg = start()
			r = newRig(t, belt.New(reg, nil), s)
		}
		checkpoint, _, _ := s.Get(t.Context(), "x")
		approved := func() context.Context { return deciding(t.Context(), waits, belt.Decision{Approve: true}) }
		assert.True(t, strings.HasPrefix(r.mustEnd(t, approved(), nil)[0], "The tool failed:"), "restart=%v: the results", restart)
		assert.Equal(t, len(reg.Approvals(t.Context())), 0, "restart=%v: the call can still be made", restart)
		failing = false
		assert.OK(t, s.Set(t.Context(), "x", checkpoint))
		assert.Contains(t, r.mustEnd(t, approved(), nil)[0], "given up", "restart=%v: after it was given up the results", restart)
	}
}

// Nor does one whose server wants a login: it is a new call after that.
func TestApprovedButLoginNeeded(t *testing.T) {
	loggedIn := false
	reg := newAsking(t, nil, returning("mail", func() (*mcp.CallToolResult, error) {
		if !loggedIn {
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "mail", URL: "https://login.example"}, mcp.NotSent)
		}
		return textResult("no mail"), nil
	}))
	r := newRig(t, belt.New(reg, nil), newStore())
	waits := r.mustWait(t, t.Context(), call("mail", `{}`), 1)
	waits = r.mustWait(t, deciding(t.Context(), waits, belt.Decision{Approve: true}), nil, 1)
	assert.True(t, waits[0].Login, "it waits for a login")
	assert.Equal(t, len(reg.Approvals(t.Context())), 0, "approvals")
	loggedIn = true
	waits = r.mustWait(t, t.Context(), nil, 1)
	assert.Equal(t, r.mustEnd(t, deciding(t.Context(), waits, belt.Decision{Approve: true}), nil)[0], "no mail", "the results")
}

// An approval that nobody gave in time is a refusal, whatever is decided after that.
func TestApprovalExpires(t *testing.T) {
	for name, decision := range map[string]any{"none": nil, "approved": belt.Decision{Approve: true}, "refused": belt.Decision{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l log
				r := newRig(t, belt.New(newCautious(t, &l), nil), newStore())
				waits := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)
				time.Sleep(time.Until(waits[0].Expires) + time.Second)
				ctx := t.Context()
				if decision != nil {
					ctx = deciding(ctx, waits, decision)
				}
				got := r.mustEnd(t, ctx, nil)
				assert.True(t, strings.HasPrefix(got[0], "The tool failed:"), "the results are %q, the calls %q", got, l.calls())
				assert.Lacks(t, got[0], "may have run", "the results are %q, the calls %q", got, l.calls())
				assert.Equal(t, len(l.calls()), 0, "the results are %q, the calls", got)
			})
		})
	}
}

// A refusal, or a resume without a decision, that comes when nobody remembers what became of
// the call does not say that it was not made, and does not wait for anybody.
func TestRefusalAfterOutcomeWasDropped(t *testing.T) {
	for _, decision := range []any{nil, belt.Decision{Reason: "keep it"}} {
		var l log
		reg := newNosy(t, &l, &approval.Options{MaxPending: 1})
		b := belt.New(reg, nil)
		first, second := newRig(t, b, newStore()), newRig(t, b, newStore())
		waits := first.mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)
		assert.Value(reg.Approve(t.Context(), waits[0].Approval, nil))(t)
		others := second.mustWait(t, t.Context(), call("remove", `{"name":"b"}`), 1)
		second.mustEnd(t, deciding(t.Context(), others, belt.Decision{Approve: true}), nil)
		ctx := t.Context()
		if decision != nil {
			ctx = deciding(ctx, waits, decision)
		}
		assert.Contains(t, first.mustEnd(t, ctx, nil)[0], "may have run or not", "%v: the call was made, and the model is told", decision)
	}
}

// A tool that is gone, or another one, when the run goes on is not called, and the model
// learns why. The calls beside it have their results.
func TestToolsChangeWhileInterrupted(t *testing.T) {
	for name, decision := range map[string]any{"from anywhere": nil, "decision": belt.Decision{Approve: true}} {
		for _, gone := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				var l log
				reg := newCautious(t, &l)
				r := newRig(t, belt.New(reg, nil), newStore())
				waits := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`, "picture", `{}`), 1)
				reg.Remove("remove")
				if !gone {
					assert.OK(t, reg.Add(registry.MustFunc("remove", "Removes everything", func(context.Context, target) (string, error) {
						l.add("remove everything")
						return "", nil
					})))
				}
				ctx := t.Context()
				if decision != nil {
					ctx = deciding(ctx, waits, decision)
				} else if _, err := reg.Approve(ctx, waits[0].Approval, nil); err == nil {
					t.Error("the approval has the call made")
				}
				out, again, err := r.run(ctx, nil)
				assert.OK(t, err)
				if len(again) > 0 { // the tool may come back, until a person calls it off
					assert.OK(t, reg.Deny(t.Context(), again[0].Approval, "it is another one"))
					out, again, err = r.run(t.Context(), nil)
				}
				got := texts(r.belt, out)
				if err != nil || len(again) > 0 || len(got) != 2 || !strings.HasPrefix(got[0], "The tool failed:") || !strings.Contains(got[1], "attached") {
					t.Errorf("gone=%v: the results are %q; %+v, %v", gone, got, again, err)
				}
				assert.List(t, l.calls(), []string{"picture"}, "gone=%v: the calls", gone)
			})
		}
	}
}

// A run that ends while its own decision is being carried out ends at once. A resume after
// that makes no second call.
func TestEndedWhileDecisionRuns(t *testing.T) {
	for _, restart := range []bool{false, true} {
		started := make(chan struct{}, 2)
		start := func() *belt.Belt {
			return belt.New(newAsking(t, nil, registry.MustFunc("slow", "is slow", func(ctx context.Context, _ target) (string, error) {
				started <- struct{}{}
				<-ctx.Done()
				return "", ctx.Err()
			})), nil)
		}
		s := newStore()
		b := start()
		waits := newRig(t, b, s).mustWait(t, t.Context(), call("slow", `{"name":"x"}`), 1)
		if restart {
			b = start()
		}
		r := newRig(t, b, s)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := r.run(deciding(ctx, waits, belt.Decision{Approve: true}), nil)
			ended <- err
		}()
		<-started
		cancel()
		assert.Is(t, <-ended, context.Canceled, "restart=%v: the run ends with", restart)
		for range 2 {
			got := r.mustEnd(t, deciding(t.Context(), waits, belt.Decision{Approve: true}), nil)
			assert.True(t, strings.HasPrefix(got[0], "The tool failed:"), "restart=%v: the results are %q", restart, got)
		}
		assert.Equal(t, len(started), 0, "restart=%v: the call was made", restart)
	}
}

// The same call twice in one message: two decisions on it after a restart have the run end,
// and the call made once.
func TestTwinsAfterRestart(t *testing.T) {
	for range 100 {
		var l log
		s := newStore()
		same := []string{"remove", `{"name":"a"}`}
		waits := restarted(t, &l, s).mustWait(t, t.Context(), call(append(same, same...)...), 2)
		yes := belt.Decision{Approve: true}
		got := restarted(t, &l, s).mustEnd(t, deciding(t.Context(), waits, yes, yes), nil)
		assert.True(t, slices.Equal(got, []string{"removed a", "removed a"}), "the results are %q", got)
		asked := slices.Compact([]string{waits[0].Approval, waits[1].Approval})
		assert.Equal(t, len(l.calls()), len(asked), "the calls are %q, and a person was asked", l.calls())
	}
}

// What is decided for one of several calls has no effect on the others, however often the
// run is resumed, and what they wait for stays the same.
func TestOneAfterTheOther(t *testing.T) {
	var l log
	r := newRig(t, belt.New(newCautious(t, &l), nil), newStore())
	waits := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`, "remove", `{"name":"b"}`, "remove", `{"name":"c"}`, "picture", `{}`), 3)
	kept := map[string]string{}
	for _, w := range waits {
		kept[string(w.Arguments)] = w.Approval
	}
	decisions := map[string]belt.Decision{`{"name":"c"}`: {Reason: "not c"}, `{"name":"a"}`: {Approve: true}, `{"name":"b"}`: {Approve: true}}
	for _, args := range []string{`{"name":"c"}`, `{"name":"a"}`} {
		at := slices.IndexFunc(waits, func(w belt.Wait) bool { return string(w.Arguments) == args })
		waits = r.mustWait(t, deciding(t.Context(), waits[at:], decisions[args]), nil, len(waits)-1)
		for _, w := range waits {
			assert.True(t, kept[string(w.Arguments)] == w.Approval, "the user is asked about %s again", w.Arguments)
		}
		waits = r.mustWait(t, t.Context(), nil, len(waits))
	}
	got := r.mustEnd(t, deciding(t.Context(), waits, belt.Decision{Approve: true}), nil)
	if len(got) != 4 || got[0] != "removed a" || got[1] != "removed b" || !strings.Contains(got[2], "not c") || !strings.Contains(got[3], "attached") {
		t.Errorf("the results are %q", got)
	}
	assert.List(t, l.calls(), []string{"picture", "remove a", "remove b"}, "the calls")
}

// A resume that ended before anything was done after a restart leaves the call to the next
// one.
func TestEndedBeforeDecision(t *testing.T) {
	var l log
	s := newStore()
	waits := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)
	ctx, cancel := context.WithCancel(t.Context())
	reg := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		if ctx.Err() == nil {
			cancel()
			return approval.Decision{}, ctx.Err()
		}
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	assert.OK(t, reg.Add(removing(&l)))
	r := newRig(t, belt.New(reg, nil), s)
	if _, _, err := r.run(deciding(ctx, waits, belt.Decision{Approve: true}), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ends with %v", err)
	}
	assert.Equal(t, r.mustEnd(t, deciding(t.Context(), waits, belt.Decision{Approve: true}), nil)[0], "removed a", "the results")
}

// Nor does one that ended leave those without a call who waited for what comes of it.
func TestEndedBeforeOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s, other := newStore(), newStore()
		waits := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)
		checkpoint, _, _ := s.Get(t.Context(), "x")
		_ = other.Set(t.Context(), "x", checkpoint)
		ctx, cancel := context.WithCancel(t.Context())
		reg := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			if ctx.Err() == nil {
				<-ctx.Done()
				return approval.Decision{}, ctx.Err()
			}
			return approval.Decision{Verdict: approval.Ask}, nil
		})})
		assert.OK(t, reg.Add(removing(&l)))
		b := belt.New(reg, nil)
		first, second := newRig(t, b, s), newRig(t, b, other)
		yes := belt.Decision{Approve: true}
		ended, got := make(chan error, 1), make(chan []string, 1)
		go func() {
			_, _, err := first.run(deciding(ctx, waits, yes), nil)
			ended <- err
		}()
		synctest.Wait()
		go func() {
			out, _, _ := second.run(deciding(t.Context(), waits, yes), nil)
			got <- texts(b, out)
		}()
		synctest.Wait()
		cancel()
		assert.Is(t, <-ended, context.Canceled, "the first run ends with")
		results := <-got
		assert.List(t, results, []string{"removed a"}, "the results")
	})
}

// A call that was not sent because the run ended can be made by the next resume.
func TestEndedBeforeCallWasSent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reg := newAsking(t, nil, returning("mail", func() (*mcp.CallToolResult, error) {
		if ctx.Err() == nil {
			cancel()
			return nil, mcp.WithOutcome(ctx.Err(), mcp.NotSent)
		}
		return textResult("no mail"), nil
	}))
	r := newRig(t, belt.New(reg, nil), newStore())
	waits := r.mustWait(t, t.Context(), call("mail", `{}`), 1)
	if _, _, err := r.run(deciding(ctx, waits, belt.Decision{Approve: true}), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ends with %v", err)
	}
	assert.Equal(t, r.mustEnd(t, deciding(t.Context(), waits, belt.Decision{Approve: true}), nil)[0], "no mail", "the results")
}
