package eino_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

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
			assert.Contains(t, assert.Only(t, got), c.want, "the results")
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
	assert.False(t, left[0].Approval != waits[1].Approval || len(l.calls()) != 1, "%+v waits, and the calls are %q", left, l.calls())
	ctx = compose.ResumeWithData(t.Context(), left[0].InterruptID, belt.Decision{Approve: true})
	assert.List(t, restarted(t, &l, s).mustEnd(t, ctx, nil), []string{"removed a", "removed b"}, "the results")
	assert.Equal(t, len(l.calls()), 2, "the calls")
}

// Nobody waits for a decision for ever.
func TestNoDecisionAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s := newStore()
		time.Sleep(time.Until(restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0].Expires) - time.Second)
		r := restarted(t, &l, s)
		r.mustWait(t, t.Context(), nil, 1)
		time.Sleep(2 * time.Second)
		assert.Contains(t, r.mustEnd(t, t.Context(), nil)[0], "may have run or not", "the results")
		assert.Equal(t, len(l.calls()), 0, "the results")
	})
}

// An approval that comes too late after a restart is none: a person is asked again.
func TestLateDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s := newStore()
		w := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
		checkpoint, _, _ := s.Get(t.Context(), "x")
		time.Sleep(24 * time.Hour)
		ctx := compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
		r := restarted(t, &l, s)
		again := r.mustWait(t, ctx, nil, 1)[0]
		assert.False(t, again.Approval == w.Approval || len(l.calls()) > 0, "the call was made: %q", l.calls())
		assert.OK(t, s.Set(t.Context(), "x", checkpoint))
		ctx = compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
		if still := r.mustWait(t, ctx, nil, 1)[0]; still.Approval != again.Approval {
			t.Errorf("the same resume asks for %q, and then for %q", again.Approval, still.Approval)
		} else {
			again = still
		}
		ctx = compose.ResumeWithData(t.Context(), again.InterruptID, belt.Decision{Approve: true})
		assert.Equal(t, r.mustEnd(t, ctx, nil)[0], "removed a", "the results")
	})
}

// A second resume of the same checkpoint does not make the call a second time, also if the
// program was restarted in between.
func TestResumeTwice(t *testing.T) {
	for _, restart := range []bool{false, true} {
		var l log
		s := newStore()
		b := belt.New(newCautious(t, &l), nil)
		w := newRig(t, b, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
		checkpoint, _, _ := s.Get(t.Context(), "x")
		if restart {
			b = belt.New(newCautious(t, &l), nil)
		}
		var wg sync.WaitGroup
		for i := range 8 {
			own := newStore()
			_ = own.Set(t.Context(), "x", checkpoint)
			r := newRig(t, b, own)
			wg.Go(func() {
				out, waits, err := r.run(compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true}), nil)
				for restart && err == nil && len(waits) > 0 { // it came before the first one's approval
					out, waits, err = r.run(t.Context(), nil)
				}
				assert.False(t, err != nil || texts(b, out)[0] != "removed a", "restart=%v: resume %d: %v, %v", restart, i, out, err)
			})
		}
		wg.Wait()
		assert.Equal(t, len(l.calls()), 1, "restart=%v: the calls", restart)
	}
}

// The agent of adk after a restart: another runner, another agent, another registry.
func TestAgentAfterRestart(t *testing.T) {
	var l log
	model := newModel(t)
	model.Then(calls("picture", `{}`, "remove", `{"name":"a"}`), says("done"))
	kept := newStore()
	start := func() *adkAgent {
		return &adkAgent{belt: belt.New(newCautious(t, &l), nil), model: newModelOf(t, "", model.URL), store: kept}
	}
	runner, err := start().runner(t.Context())
	assert.OK(t, err)
	var waits []belt.Wait
	events := runner.Query(t.Context(), "remove a", adk.WithCheckPointID("conversation"))
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		assert.OK(t, event.Err)
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
	resumed := assert.Value(runner.ResumeWithParams(t.Context(), "conversation", &adk.ResumeParams{Targets: map[string]any{waits[0].InterruptID: belt.Decision{Approve: true}}}))(t)
	assert.Equal(t, assert.Value(second.events(resumed))(t).Text, "done")
	last := model.Requests()[1]
	assert.Equal(t, len(last.Media), 1, "the model")
	assert.Equal(t, last.Results[1].Text, "removed a", "the model")
	assert.List(t, l.calls(), []string{"picture", "remove a"}, "the model")
}

// A call that needs no approval any more after a restart is made once, too.
func TestApprovalNotNeededAfterRestart(t *testing.T) {
	var l log
	s := newStore()
	w := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
	checkpoint, _, _ := s.Get(t.Context(), "x")
	reg := registry.New(nil)
	assert.OK(t, reg.Add(removing(&l)))
	r := newRig(t, belt.New(reg, nil), s)
	for _, want := range []string{"removed a", "may have run or not"} {
		assert.OK(t, s.Set(t.Context(), "x", checkpoint))
		ctx := compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true})
		assert.Contains(t, r.mustEnd(t, ctx, nil)[0], want, "the results")
	}
	assert.Equal(t, len(l.calls()), 1, "the calls")
}
