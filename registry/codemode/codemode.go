package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/child"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// Options are the options of a [Runner]. Nil and the zero value mean the defaults.
type Options struct {
	// Limits bound each script.
	Limits Limits
	// Program is the path of a program whose main calls [Child] first, for programs that
	// do not call it themselves. Empty: this program.
	Program string
	// MaxRuns is how many scripts there are at one time, those included that wait for
	// approval: the oldest of these is ended to make room for another one. Without one,
	// another script waits. A user that is named, as by session.WithUser, has a quarter of
	// them. Default: 16.
	MaxRuns int
	// ApprovePlan asks a person whether a script may make all calls of a plan, see
	// [Script].AskOnce; [approval.Allow] and [approval.AllowForConversation] allow them, this once. It may take its time until ctx ends, and is
	// safe for concurrent use. Nil: scripts with AskOnce are refused.
	ApprovePlan func(ctx context.Context, p *Plan) (approval.Decision, error)

	execute func(*run) (*child.Result, error) // runs a script; nil: in a child process. For tests
}

// A Runner runs scripts over the tools of one registry. Make one with [New]. All methods
// are safe for concurrent use.
type Runner struct {
	registry *registry.Registry
	finder   *toolset.Finder
	opts     Options // with the defaults
	execute  func(*run) (*child.Result, error)
	confined []string

	wg sync.WaitGroup // the runs

	mu      sync.Mutex    // guards the following
	runs    []*run        // in the order of their beginning
	kept    []*run        // that have paused, for Resume, in the order of that
	changed chan struct{} // closed, and replaced, when there is room for another run
	closed  bool
}

// New returns a Runner of scripts over the tools of a registry. Finder is for the function
// search of scripts; nil: one of the Runner's own. To find out whether there is a sandbox it
// starts one; if there is none New fails. [Runner.Close] must
// follow.
func New(r *registry.Registry, finder *toolset.Finder, opts *Options) (*Runner, error) {
	if r == nil {
		return nil, errors.New("codemode: New: the registry is nil")
	}
	c := &Runner{registry: r, finder: finder, opts: *cmp.Or(opts, new(Options)), changed: make(chan struct{})}
	var err error
	if c.opts.Limits, err = c.opts.Limits.filled(); err != nil {
		return nil, err
	}
	if c.opts.MaxRuns <= 0 {
		c.opts.MaxRuns = 16
	}
	if finder == nil {
		if c.finder, err = toolset.New(r, &toolset.Options{NoTools: true}); err != nil {
			return nil, err
		}
	}
	if c.execute = c.opts.execute; c.execute == nil {
		box, err := newSandbox(c.opts.Program)
		if err != nil {
			return nil, err
		}
		if c.confined, err = box.probe(c.opts.Limits); err != nil {
			return nil, err
		}
		c.execute = box.execute
	}
	return c, nil
}

// Confinement returns what confines the child process beside the engine: "rlimits"
// and "seccomp", as far as this system has them.
func (c *Runner) Confinement() []string { return slices.Clone(c.confined) }

// Close ends all scripts and returns when nothing is left of them. Later scripts fail.
func (c *Runner) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, r := range c.runs {
		r.cancel(errClosed)
	}
	for _, r := range c.kept {
		r.kept.Stop()
	}
	c.kept = nil
	c.room()
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}

var errClosed = errors.New("codemode: the Runner was closed")

// A Script is what a [Runner] runs.
type Script struct {
	// Code is the body of an async function in JavaScript with the parameter input. What it
	// returns is the result.
	Code string
	// Input is what the function gets, as JSON; nil: undefined.
	Input []byte
	// Timeout bounds the time that the script takes; zero, and more than Limits.Time: that.
	Timeout time.Duration
	// Keep tells which tools the script sees. Nil: all that the registry lists.
	Keep func(*registry.Definition) bool
	// DryRun makes the calls only of tools that are known to be read-only, see
	// [registry.Snapshot.Trusted], and lists the others: these return null to the script.
	DryRun bool
	// AskOnce makes a dry run, has Options.ApprovePlan asked about the calls that it lists, and
	// runs the script. A call in the list, with the arguments there, is made without another
	// question; all others are asked about as usual. The registry's Approver must be one of
	// [Approver].
	AskOnce bool
}

// Run runs a script until it ends, or waits for the approval of a call with all that it
// does: then the report has an ID for [Runner.Resume]. That the script failed is in the
// report, too. If ctx ends before, so does the script; the report says what it has done.
// An error means that the script has not begun.
//
// The calls that it makes are those of [registry.Registry.Call] under ctx, with ids of
// their own, see [registry.WithCallID]. Their results are whole, see [result.WithWhole].
func (c *Runner) Run(ctx context.Context, s *Script) (*Report, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	var p *plan
	if s.AskOnce {
		var report *Report
		var err error
		if p, report, err = c.plan(ctx, s); p == nil {
			return report, err
		}
	}
	r, err := c.begin(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return r.attend(ctx), nil
}

// check returns an error if a script cannot be run.
func check(s *Script) error {
	switch {
	case s.Code == "":
		return errors.New("codemode: a script without Code")
	case len(s.Code) > maxCode:
		return fmt.Errorf("codemode: the script has %d bytes, at most %d are allowed", len(s.Code), maxCode)
	case len(s.Input) > child.MaxArguments || len(s.Input) > 0 && !json.Valid(s.Input):
		return fmt.Errorf("codemode: the input is no JSON of at most %d bytes", child.MaxArguments)
	case s.AskOnce && s.DryRun:
		return errors.New("codemode: a dry run does not ask")
	}
	return nil
}

// Resume waits for a script that waits for approval, as [Runner.Run] does. If within
// patience nothing has changed it returns what it waits for; zero: until ctx ends. If ctx
// ends first the script goes on waiting. The error is an [*UnknownRunError] if there is no such
// script, or it is another user's than that of ctx.
func (c *Runner) Resume(ctx context.Context, id string, patience time.Duration) (*Report, error) {
	owner := registry.OwnerOf(ctx)
	c.mu.Lock()
	at := slices.IndexFunc(c.kept, func(r *run) bool { return r.id == id && r.owner == owner })
	if at < 0 {
		c.mu.Unlock()
		return nil, &UnknownRunError{}
	}
	r := c.kept[at]
	c.mu.Unlock()
	report, err := r.wait(ctx, patience)
	if err == nil && r.isOver() {
		c.drop(r)
	}
	return report, err
}

// An UnknownRunError reports an id of no script that waits: it has ended, or waited too
// long.
//
//cure:run the script again
type UnknownRunError struct{}

// Error says that the script is over.
func (e *UnknownRunError) Error() string {
	return "no script waits under this id: it has ended, or has waited too long; run it again"
}

// quarter is the share of the runs that an owner has, such as a user.
const quarter = 4

// begin begins a run as soon as there is room for it.
func (c *Runner) begin(ctx context.Context, s *Script, p *plan) (*run, error) {
	owner := registry.OwnerOf(ctx)
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errClosed
		}
		own := 0
		for _, r := range c.runs {
			if r.owner == owner {
				own++
			}
		}
		isOver := owner != "" && own >= max(c.opts.MaxRuns/quarter, 1)
		if len(c.runs) < c.opts.MaxRuns && !isOver {
			r := newRun(ctx, c, s, p)
			c.runs = append(c.runs, r)
			c.wg.Go(r.do)
			c.mu.Unlock()
			return r, nil
		}
		paused := func(r *run) bool { return (!isOver || r.owner == owner) && r.isPaused() }
		if at := slices.IndexFunc(c.runs, paused); at >= 0 {
			c.runs[at].cancel(errDisplaced)
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("codemode: waiting for other scripts: %w", ctx.Err())
		}
	}
}

var errDisplaced = errors.New("the script waited for approval, and had to make room for another one")

// end makes room for another run.
func (c *Runner) end(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = slices.DeleteFunc(c.runs, func(other *run) bool { return other == r })
	c.room()
}

// hand keeps a run for Resume. It is dropped some time after its end.
func (c *Runner) hand(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.room() // it may have to make some
	if r.kept != nil {
		r.kept.Reset(keepPaused)
		return
	}
	r.kept = time.AfterFunc(keepPaused, func() {
		if !r.isOver() && !r.isPaused() {
			c.hand(r) // it goes on
			return
		}
		r.cancel(errWaited)
		c.drop(r)
	})
	c.kept = append(c.kept, r)
	if at := slices.IndexFunc(c.kept, (*run).isOver); at >= 0 && len(c.kept) > keptPerRun*c.opts.MaxRuns {
		c.kept[at].kept.Stop()
		c.kept = slices.Delete(c.kept, at, at+1)
	}
}

// keepPaused is how long a script waits for approval.
const keepPaused = 10 * time.Minute

// keptPerRun bounds the reports that are kept for Resume.
const keptPerRun = 4

var errWaited = errors.New("the script waited for approval for too long")

// drop forgets a run that was handed.
func (c *Runner) drop(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.kept != nil {
		r.kept.Stop()
	}
	c.kept = slices.DeleteFunc(c.kept, func(other *run) bool { return other == r })
}

// room wakes those who wait for room, to look again. It needs the lock.
func (c *Runner) room() {
	close(c.changed)
	c.changed = make(chan struct{})
}
