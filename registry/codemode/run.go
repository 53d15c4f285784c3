package codemode

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A Report says what became of a script.
type Report struct {
	// ID names a script that waits for approval, for [Runner.Resume]; else empty.
	ID string
	// Waiting are the calls that it waits for, if it waits.
	Waiting []*registry.ApprovalRequest
	// Err is why the script failed: a [*ScriptError], a [*LimitError], a [*SandboxError] or the
	// cause of its context; nil if it returned, or waits.
	Err error
	// Value is what it returned.
	Value Value
	// Log is what it has logged, line by line, cut at Limits.Log.
	Log string
	// Calls are the calls that it has made, in their order; after a dry run also those that it
	// would make.
	Calls []CallReport
	// DryRun says that it was one.
	DryRun bool
	// Duration is how long it took, or has taken so far.
	Duration time.Duration
}

// A CallReport says what became of one call.
type CallReport struct {
	// Tool is the name of the tool, or what the script gave for one.
	Tool string
	// Arguments are what the script gave. Of those that have no room beside the others, see
	// Limits.Output, it is the beginning, as a string.
	Arguments json.RawMessage
	// State is what became of it.
	State CallState
	// Result is what the script got, cut as Arguments are; nil: nothing.
	Result json.RawMessage
	// Error is what the script got in its place; empty: none.
	Error string
}

// A CallState is what became of a call.
type CallState string

// The states of calls.
const (
	// Answered: the tool has answered.
	Answered CallState = "answered"
	// NotSent: it was not made.
	NotSent CallState = "not sent"
	// Unknown: it may have been made or not.
	Unknown CallState = "unknown"
	// Planned: a dry run did not make it.
	Planned CallState = "planned"
	// Waiting: it waits for approval.
	Waiting CallState = "waiting"
)

// stateOf returns the state of a call that is over.
func stateOf(o mcp.Outcome) CallState {
	switch o {
	case mcp.Answered:
		return Answered
	case mcp.NotSent:
		return NotSent
	}
	return Unknown
}

// A run is one script that runs. It implements [Bridge].
type run struct {
	runner *Runner
	id     string
	user   string
	keep   func(*registry.Definition) bool
	dry    bool
	plan   *plan  // nil: none
	parent string // begins the ids of its calls
	code   string
	input  json.RawMessage
	limits Limits
	waits  *time.Timer // ends it while it waits; guarded by the lock of the runner

	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  *clock
	began  time.Time
	done   chan struct{} // closed when the following three are set
	value  *Value
	err    error
	took   time.Duration

	mu       sync.Mutex // guards the following
	changed  chan struct{}
	calls    []*CallReport
	listed   []*PlannedCall // of a dry run
	planned  int            // bytes of their arguments
	room     int            // bytes of arguments and results that may still be kept
	log      strings.Builder
	requests int
	open     int // requests without an answer
	idle     int // requests when the script was idle last
	waiting  []*registry.ApprovalRequest
	reported []*registry.ApprovalRequest // what it waited for when that was reported last
}

type runKey struct{}

// newRun returns a run that has not begun. It does not end with ctx by itself.
func newRun(ctx context.Context, c *Runner, s *Script, code string, p *plan) *run {
	user, _ := registry.UserOf(ctx)
	r := &run{
		runner: c, id: rand.Text(), user: user, keep: s.Keep, dry: s.DryRun, plan: p, parent: cmp.Or(registry.CallIDOf(ctx), ToolName),
		code: code, input: s.Input, limits: c.limits,
		began: time.Now(), done: make(chan struct{}), changed: make(chan struct{}), room: c.limits.Output,
	}
	if s.Timeout > 0 {
		r.limits.Time = min(s.Timeout, r.limits.Time)
	}
	outer := ctx
	// What the caller gave for this one call is not for those of the script.
	ctx = registry.WithCallOptions(registry.WithProgress(context.WithoutCancel(ctx), nil), nil)
	ctx = context.WithValue(result.WithWhole(ctx), runKey{}, r)
	ctx = approval.WithWait(ctx, func() func() {
		first, second := r.clock.stop(), approval.Wait(outer)
		return func() { second(); first() }
	})
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// do runs the script to its end.
func (r *run) do() {
	r.clock = newClock(r.limits.Time, func() { r.cancel(&LimitError{"Time", r.limits.Time.String()}) })
	r.value, r.err = r.runner.engine.Run(r.ctx, &Program{Code: r.code, Input: r.input, Limits: r.limits}, r)
	r.clock.end()
	r.cancel(errEnded)
	r.took = time.Since(r.began)
	close(r.done)
	r.runner.end(r)
}

// isOver reports whether the script has ended.
func (r *run) isOver() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// isPaused reports whether the script does nothing but wait for approval.
func (r *run) isPaused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pauses()
}

// pauses is isPaused, with the lock held.
func (r *run) pauses() bool {
	return r.open > 0 && len(r.waiting) == r.open && r.idle == r.requests
}

// change wakes those who attend. It needs the lock.
func (r *run) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// attend waits until the script ends or waits for what was not reported yet, and ends it if
// ctx ends.
func (r *run) attend(ctx context.Context) *Report {
	if !r.follow(ctx.Done(), nil) {
		r.cancel(context.Cause(ctx))
		<-r.done
	}
	return r.report()
}

// resume waits likewise, but no longer than patience, if that is positive. If ctx ends it
// returns why.
func (r *run) resume(ctx context.Context, patience time.Duration) (*Report, error) {
	var over <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	if !r.follow(ctx.Done(), over) && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.isOver() {
		r.runner.drop(r)
	}
	return r.report(), nil
}

// follow returns true when the script has ended or waits for what was not reported yet.
func (r *run) follow(end <-chan struct{}, over <-chan time.Time) bool {
	for {
		r.mu.Lock()
		changed := r.changed
		paused := r.pauses() && !slices.Equal(r.waiting, r.reported)
		if paused {
			r.reported = slices.Clone(r.waiting)
		}
		r.mu.Unlock()
		if paused {
			r.runner.hand(r)
			return true
		}
		select {
		case <-changed:
		case <-r.done:
			return true
		case <-end:
			return false
		case <-over:
			return false
		}
	}
}

// report says what is known now.
func (r *run) report() *Report {
	over := r.isOver()
	r.mu.Lock()
	defer r.mu.Unlock()
	report := &Report{Log: r.log.String(), DryRun: r.dry, Duration: time.Since(r.began)}
	for _, call := range r.calls {
		report.Calls = append(report.Calls, *call)
	}
	if !over {
		report.ID, report.Waiting = r.id, slices.Clone(r.waiting)
		return report
	}
	report.Duration, report.Err = r.took, r.err
	if r.value != nil {
		report.Value = *r.value
	}
	return report
}

// Log implements Bridge.
func (r *run) Log(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.limits.Log - r.log.Len(); left > 0 {
		r.log.WriteString(plain.Cut(text+"\n", left))
	}
}

// Idle implements Bridge.
func (r *run) Idle(requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = requests
	r.change()
}

// Request implements Bridge.
func (r *run) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r.mu.Lock()
	r.requests++
	most := r.limits.Calls
	tooMany := r.requests > most
	r.open++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.open--
		r.change()
	}()
	if tooMany {
		r.cancel(&LimitError{"Calls", strconv.Itoa(most) + " calls"})
		return nil, &Exception{"too many calls", "limit", mcp.NotSent.String()}
	}
	switch method {
	case "call":
		return r.call(ctx, params)
	case "search":
		return r.search(ctx, params)
	case "describe":
		return r.describe(ctx, params)
	}
	return nil, &Exception{"there is no such request", "failed", mcp.NotSent.String()}
}

// kept returns JSON as far as there is room for it. It needs the lock.
func (r *run) kept(data json.RawMessage) json.RawMessage {
	if len(data) <= r.room {
		r.room -= len(data)
		return data
	}
	beginning, err := json.Marshal(plain.Cut(string(data), min(r.room, leastKept)))
	if err != nil {
		return nil
	}
	r.room -= min(r.room, leastKept)
	return beginning
}

// leastKept is how much is kept of what there is no room for.
const leastKept = 1 << 10
