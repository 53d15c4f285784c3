package eino_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cloudwego/eino/compose"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// newNosy returns a registry whose tool remove needs an approval, and notes who calls it.
func newNosy(t *testing.T, l *log, opts *approval.Options) *registry.Registry {
	return newDescribed(t, l, "Removes a file", opts)
}

func newDescribed(t *testing.T, l *log, description string, opts *approval.Options) *registry.Registry {
	t.Helper()
	o := &registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})}
	if opts != nil {
		o.Approvals = *opts
	}
	r := registry.New(o)
	assert.OK(t, r.Add(registry.MustFunc("remove", description, func(ctx context.Context, in target) (string, error) {
		user, _ := onbehalf.User(ctx)
		l.add(user + " removes " + in.Name)
		return "removed " + in.Name, nil
	})))
	return r
}

// Another user does not decide what one user was asked about: they are asked themselves.
// A context without a user answers for others as long as the registry knows which user it
// has asked.
func TestDecisionOfAnotherUser(t *testing.T) {
	for name, c := range map[string]struct {
		user    string
		restart bool
		ran     []string
	}{
		"another":                {"bob", false, nil},
		"another after restart":  {"bob", true, nil},
		"nobody":                 {"", false, []string{"alice removes a"}},
		"nobody after restart":   {"", true, nil},
		"the same after restart": {"alice", true, []string{"alice removes a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			s := newStore()
			reg := newNosy(t, &l, nil)
			w := newRig(t, belt.New(reg, nil), s).mustWait(t, onbehalf.With(t.Context(), "alice"), call("remove", `{"name":"a"}`), 1)[0]
			if c.restart {
				reg = newNosy(t, &l, nil)
			}
			checkpoint, _, _ := s.Get(t.Context(), "x")
			r := newRig(t, belt.New(reg, nil), s)
			ctx := onbehalf.With(t.Context(), c.user)
			_, waits, err := r.run(compose.ResumeWithData(ctx, w.InterruptID, belt.Decision{Approve: true}), nil)
			if err != nil || !slices.Equal(l.calls(), c.ran) || (len(waits) == 0) != (c.ran != nil) {
				t.Fatalf("%q; %+v, %v", l.calls(), waits, err)
			}
			if c.ran != nil {
				return
			}
			assert.False(t, waits[0].Approval == w.Approval, "one user is asked in the name of another")
			// It is still for the one who was asked.
			assert.OK(t, s.Set(t.Context(), "x", checkpoint))
			ctx = compose.ResumeWithData(onbehalf.With(t.Context(), "alice"), w.InterruptID, belt.Decision{Approve: true})
			assert.Equal(t, r.mustEnd(t, ctx, nil)[0], "removed a")
			assert.List(t, l.calls(), []string{"alice removes a"})
		})
	}
}

// An outcome that the registry has dropped for want of room does not make the call new.
func TestResumeAfterOutcomeWasDropped(t *testing.T) {
	var l log
	b := belt.New(newNosy(t, &l, &approval.Options{MaxPending: 1}), nil)
	first, second := newStore(), newStore()
	w := newRig(t, b, first).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
	checkpoint, _, _ := first.Get(t.Context(), "x")
	approve := func(s compose.CheckPointStore, w belt.Wait) string {
		ctx := compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
		return newRig(t, b, s).mustEnd(t, ctx, nil)[0]
	}
	approve(first, w)
	approve(second, newRig(t, b, second).mustWait(t, t.Context(), call("remove", `{"name":"b"}`), 1)[0])
	assert.OK(t, first.Set(t.Context(), "x", checkpoint))
	assert.Contains(t, approve(first, w), "may have run or not", "the result")
	assert.List(t, l.calls(), []string{" removes a", " removes b"}, "the calls")
}

// A tool that is another one after the restart is not what a person has approved.
func TestDecisionOfAnotherTool(t *testing.T) {
	var l log
	s := newStore()
	w := newRig(t, belt.New(newNosy(t, &l, nil), nil), s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
	r := newRig(t, belt.New(newDescribed(t, &l, "Removes a file and all like it", nil), nil), s)
	decide := func(w belt.Wait) context.Context {
		return compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
	}
	again := r.mustWait(t, decide(w), nil, 1)[0]
	assert.False(t, again.Approval == w.Approval || len(l.calls()) > 0, "the call was made: %q", l.calls())
	assert.Equal(t, r.mustEnd(t, decide(again), nil)[0], "removed a", "the results")
}
