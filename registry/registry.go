package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Registry is a catalogue of tools. Make one with [New]. All methods are safe
// for concurrent use; reading and calling never wait for a writer.
type Registry struct {
	names     Names
	gate      *gate
	ledger    *Ledger // nil: none
	approvals *approvals
	validator *validator
	results   *results // nil: results stay as they came

	snapshot atomic.Pointer[Snapshot]
	chain    atomic.Pointer[[]Handler]
	mu       sync.Mutex // held to store snapshot or chain
}

// Options are the options of a [Registry]. Nil and the zero value mean none.
type Options struct {
	// Middleware is used from the start, as if by [Registry.Use].
	Middleware []Middleware
	// Names says how the tools of servers are called.
	Names Names
	// Gate bounds what servers may say of their tools.
	Gate GateOptions
	// Ledger remembers which tools of servers were approved, and holds back what
	// is new or changed. Nil: nothing is held back.
	Ledger *Ledger
	// Approver decides which calls are made. Nil: all calls to listed tools.
	Approver Approver
	// Approvals says how calls wait for approval.
	Approvals ApprovalOptions
	// Arguments says how arguments are checked.
	Arguments ArgumentOptions
	// SkipOutputCheck lets structured results pass that do not match the output
	// schema. Those of servers are checked by their [mcp.Client] in any case.
	SkipOutputCheck bool
	// Results says in which form results come back. Nil: as they came.
	Results *ResultOptions
}

// New returns an empty registry.
func New(opts *Options) *Registry {
	var o Options
	if opts != nil {
		o = *opts
	}
	r := &Registry{
		names:     o.Names,
		gate:      newGate(o.Gate),
		ledger:    o.Ledger,
		approvals: newApprovals(o.Approver, o.Approvals),
		validator: newValidator(o.Arguments, o.SkipOutputCheck),
		results:   newResults(o.Results),
	}
	r.snapshot.Store(&Snapshot{version: 1, entries: map[string]*entry{}, superseded: make(chan struct{})})
	r.chain.Store(new([]Handler))
	r.Use(o.Middleware...)
	return r
}

// Add adds tools, all of them or, on error, none. It is meant for native tools;
// a server's tools are better kept with [Registry.Replace].
//
// A name that is taken, or given twice, fails with a [*DuplicateError]; a tool
// that cannot be listed, nil included, fails with a [*DefinitionError].
func (r *Registry) Add(tools ...Tool) error {
	entries, err := describeAll(tools)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := e.def.validate(); err != nil {
			return err
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	after := maps.Clone(r.Snapshot().entries)
	for _, e := range entries {
		if holder, taken := after[e.def.Name]; taken {
			return &DuplicateError{Name: e.def.Name, Holder: holder.def.Origin, Refused: e.def.Origin}
		}
		after[e.def.Name] = e
	}
	if len(entries) > 0 {
		r.publish(after)
	}
	return nil
}

// Replace makes tools all the tools of a server, in one step: every tool whose
// Origin.Server is server is swapped for them. An empty server stands for the
// native tools.
//
// A tool whose name is held by another origin, or comes twice in tools, is
// rejected and the first holder keeps the name; so is a tool whose name or
// schema cannot be listed. The other tools are not affected. A rejected tool stays
// out, even if its name becomes free, until the next Replace offers it again.
//
// If no definition differs, no new version is published and no watcher is woken,
// yet the new Tool values are in place: a reconnected server's tools call its new
// client from now on. So hold on to names, not to tools, and call through
// [Registry.Call].
//
// An error, a [*DefinitionError], means that nothing was done: a tool is nil, has
// no definition, or has an Origin.Server other than server.
func (r *Registry) Replace(server string, tools []Tool) (Diff, error) {
	entries, err := describeAll(tools)
	if err != nil {
		return Diff{}, err
	}
	for _, e := range entries {
		if got := e.def.Origin.Server; got != server {
			return Diff{}, &DefinitionError{Tool: e.def.Name, Field: "Origin.Server", Err: fmt.Errorf("is %s, want %s", quote(got), quote(server))}
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.Snapshot()
	after, diff := swap(before.entries, server, entries)
	if diff.unchanged() {
		r.snapshot.Store(before.with(after))
	} else {
		r.publish(after)
	}
	return diff, nil
}

// Remove takes tools out of the catalogue. Names that are not in it are ignored.
// A server's tools come back with its next [Registry.Replace].
func (r *Registry) Remove(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.Snapshot().entries
	after := maps.Clone(before)
	for _, name := range names {
		delete(after, name)
	}
	if len(after) < len(before) {
		r.publish(after)
	}
}

// Snapshot returns the catalogue as it is now.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Watch yields the current snapshot at once and the newest one after each
// change. Changes that come faster than the loop takes them are yielded as one;
// the last is never missed. The sequence ends when ctx ends.
func (r *Registry) Watch(ctx context.Context) iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		for ctx.Err() == nil {
			s := r.Snapshot()
			if !yield(s) {
				return
			}
			select {
			case <-s.superseded:
			case <-ctx.Done():
			}
		}
	}
}

// Call calls the tool of that name as it is listed now. Args must be a JSON
// object; empty or null means {}. The call passes the middleware of
// [Registry.Use] and then the tool, whose result is returned as it is.
//
// A name that is not listed fails with an [*UnknownToolError], arguments that are
// no JSON object with an [*ArgumentsError]; in both cases neither middleware nor
// tool has run. A tool that returns nothing at all fails with a [*ResultError].
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	s := r.Snapshot()
	e, ok := s.entries[name]
	if !ok {
		return nil, &UnknownToolError{Name: name, Suggestions: s.suggest(name)}
	}
	args, err := objectArgs(args)
	if err != nil {
		return nil, &ArgumentsError{Tool: name, Err: err}
	}
	if args, err = r.validator.arguments(e, args); err != nil {
		return nil, err
	}
	if err := r.approvals.decide(ctx, e, args); err != nil {
		return nil, err
	}
	return r.carryOut(ctx, e, args)
}

// carryOut makes a call that was decided.
func (r *Registry) carryOut(ctx context.Context, e *entry, args json.RawMessage) (*mcp.CallToolResult, error) {
	var res *mcp.CallToolResult
	var err error
	if chain := *r.chain.Load(); len(chain) == 0 {
		res, err = e.tool.Call(ctx, args)
	} else {
		call := &Call{Tool: e.def, Args: args, tool: e.tool, chain: chain}
		res, err = call.run(ctx, 0)
	}
	switch {
	case err != nil:
		return res, err
	case res == nil:
		return nil, &ResultError{Tool: e.def.Name, Err: errNoResult}
	}
	if err := r.validator.result(e, res); err != nil {
		return nil, err
	}
	if r.results != nil {
		res = r.results.shape(ctx, e, res)
	}
	return res, nil
}

var errNoResult = errors.New("there is none, and no error either")

// publish puts a new version in place and wakes the watchers. It needs r.mu.
func (r *Registry) publish(entries map[string]*entry) {
	before := r.Snapshot()
	after := before.with(entries)
	after.version++
	after.superseded = make(chan struct{})
	r.snapshot.Store(after)
	close(before.superseded)
}
