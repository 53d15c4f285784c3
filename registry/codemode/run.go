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

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/child"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A Report says what became of a script.
type Report struct {
	// ID names a script that waits for approval, for [Runner.Resume]; else empty.
	ID string
	// Waiting are the calls that it waits for, if it waits.
	Waiting []*registry.ApprovalRequest
	// Err is why the script failed: a [*ScriptError], a [*LimitError], that the sandbox failed, or the
	// cause of its context; nil if it returned, or waits.
	Err error
	// Value is what it returned, as JSON; nil: undefined. Of a value that is larger than Limits.Output it is the
	// beginning of its JSON, as a string.
	Value json.RawMessage
	// Bytes is how long the JSON of a value is that was cut; else 0.
	Bytes int
	// Log is what it has logged, line by line, cut at 16 KiB.
	Log string
	// Calls are the calls that it has made, in their order; after a dry run also those that it
	// would make.
	Calls []CallReport
	// Duration is how long it took, or has taken so far.
	Duration time.Duration

	dry bool // it was a dry run
}

// A CallReport says what became of one call.
type CallReport struct {
	// Tool is the name of the tool, or what the script gave for one.
	Tool string `json:"tool"`
	// Arguments are what the script gave. Of those that have no room beside the others, see
	// Limits.Output, it is the beginning, as a string.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// State is what became of it: "answered", the tool has answered; "not sent", it was not made;
	// "unknown", it may have been made or not; "planned", a dry run did not make it; "waiting", it
	// waits for approval.
	State string `json:"state"`
	// Result is what the script got, cut as Arguments are; nil: nothing.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is what the script got in its place; empty: none.
	Error string `json:"error,omitempty"`
}

// The states of calls.
const (
	callAnswered = "answered"
	callNotSent  = "not sent"
	callUnknown  = "unknown"
	callPlanned  = "planned"
	callWaiting  = "waiting"
)

// A run is one script that runs.
type run struct {
	runner *Runner
	id     string
	owner  string
	keep   func(*registry.Definition) bool
	dry    bool
	plan   *plan  // nil: none
	parent string // begins the ids of its calls
	code   string
	input  json.RawMessage
	limits Limits
	kept   *time.Timer // ends it while it waits; guarded by the lock of the runner

	ctx    context.Context
	cancel context.CancelCauseFunc
	began  time.Time
	done   chan struct{} // closed when the following three are set
	result *child.Result // nil: it has not returned
	err    error
	took   time.Duration

	mu       sync.Mutex // guards the following
	changed  chan struct{}
	clock    *time.Timer   // ends it at its limit; stopped while people are asked
	left     time.Duration // of its time, when the clock was started last
	since    time.Time     // when that was
	stops    int           // of the clock
	calls    []*CallReport
	listed   []PlannedCall // of a dry run
	planned  int           // bytes of their arguments
	room     int           // bytes of arguments and results that may still be kept
	log      strings.Builder
	requests int
	open     int // requests without an answer
	idle     int // requests when the script was idle last
	waiting  []*registry.ApprovalRequest
	reported []*registry.ApprovalRequest // what it waited for when that was reported last
}

type runKey struct{}

// newRun returns a run that has not begun. It does not end with ctx by itself.
func newRun(ctx context.Context, c *Runner, s *Script, p *plan) *run {
	r := &run{
		runner: c, id: rand.Text(), owner: registry.OwnerOf(ctx), keep: s.Keep, dry: s.DryRun, plan: p, parent: cmp.Or(registry.CallIDOf(ctx), ToolName),
		code: s.Code, input: s.Input, limits: c.opts.Limits,
		began: time.Now(), done: make(chan struct{}), changed: make(chan struct{}), room: c.opts.Limits.Output,
	}
	if s.Timeout > 0 {
		r.limits.Time = min(s.Timeout, r.limits.Time)
	}
	outer := ctx
	// What the caller gave for this one call is not for those of the script.
	ctx = registry.WithCallOptions(registry.WithProgress(context.WithoutCancel(ctx), nil), nil)
	ctx = context.WithValue(result.WithWhole(ctx), runKey{}, r)
	ctx = approval.WithWait(ctx, func() func() {
		first, second := r.stopClock(), approval.Wait(outer)
		return func() { second(); first() }
	})
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// do runs the script to its end.
func (r *run) do() {
	r.mu.Lock()
	r.left, r.since = r.limits.Time, time.Now()
	r.clock = time.AfterFunc(r.left, func() { r.cancel(&LimitError{"Time", r.limits.Time.String()}) })
	r.mu.Unlock()
	r.result, r.err = r.runner.execute(r)
	r.stopClock() // for good
	r.cancel(errEnded)
	r.took = time.Since(r.began)
	close(r.done)
	r.runner.end(r)
}

// stopClock stops the clock until what it returns is called.
func (r *run) stopClock() (start func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stops++; r.stops == 1 && r.clock.Stop() {
		r.left -= time.Since(r.since)
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stops--; r.stops == 0 {
			r.since = time.Now()
			r.clock.Reset(max(r.left, 0))
		}
	})
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

// wait returns a report when the script has ended, or waits for what was not reported yet, or has not within patience,
// if that is positive. The error is that of ctx if it ends before.
func (r *run) wait(ctx context.Context, patience time.Duration) (*Report, error) {
	var over <-chan time.Time
	if patience > 0 {
		over = time.After(patience)
	}
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
			return r.report(), nil
		}
		select {
		case <-changed:
			continue
		case <-r.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-over:
		}
		return r.report(), nil
	}
}

// attend is wait for the caller that has begun the script: with its ctx the script ends.
func (r *run) attend(ctx context.Context) *Report {
	report, err := r.wait(ctx, 0)
	if err != nil {
		r.cancel(err)
		<-r.done
		report = r.report()
	}
	return report
}

// report says what is known now.
func (r *run) report() *Report {
	over := r.isOver()
	r.mu.Lock()
	defer r.mu.Unlock()
	report := &Report{Log: r.log.String(), dry: r.dry, Duration: time.Since(r.began)}
	for _, call := range r.calls {
		report.Calls = append(report.Calls, *call)
	}
	if !over {
		report.ID, report.Waiting = r.id, slices.Clone(r.waiting)
		return report
	}
	report.Duration, report.Err = r.took, r.err
	if r.result != nil {
		report.Value, report.Bytes = r.result.Value, r.result.Bytes
	}
	return report
}

// logs takes a line that the script logs.
func (r *run) logs(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := child.MaxLog - r.log.Len(); left > 0 {
		r.log.WriteString(plain.Cut(text+"\n", left))
	}
}

// idles notes that the script waits for the answers to what it has requested, which are as many requests so far.
func (r *run) idles(requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = requests
	r.change()
}

// request makes a request of the script, and returns JSON, or nil for undefined, or what is thrown there. It returns when
// ctx ends.
func (r *run) request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *exception) {
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
		return nil, notSent("limit", "too many calls")
	}
	switch method {
	case "call":
		return r.call(ctx, params)
	case "search":
		return r.search(ctx, params)
	case "describe":
		return r.describe(ctx, params)
	}
	return nil, notSent("failed", "there is no such request")
}

// shorten returns JSON as far as there is room for it. It needs the lock.
func (r *run) shorten(data json.RawMessage) json.RawMessage {
	if len(data) <= r.room {
		r.room -= len(data)
		return data
	}
	most := min(r.room, leastKept)
	r.room -= most
	beginning, _ := json.Marshal(plain.Cut(string(data), most)) // of a string there is always JSON
	return beginning
}

// leastKept is how much is kept of what there is no room for.
const leastKept = 1 << 10
