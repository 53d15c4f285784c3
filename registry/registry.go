package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A Registry is a catalogue of tools. Make one with [New]. All methods are safe
// for concurrent use; reading and calling never wait for a writer.
type Registry struct {
	names     names.Names
	gate      *gate.Gate
	ledger    *ledger.Ledger // nil: none
	approvals *approvals
	validator *validator
	results   *result.Shaper   // nil: results stay as they came
	scrubber  *redact.Redactor // of arguments on their way to servers; nil: none
	search    *searcher
	tokens    *tokenCounter

	replacing keylock.Set // by server: held from the examination of its tools until they are in place

	snapshot   atomic.Pointer[Snapshot]
	chain      atomic.Pointer[[]Handler]
	observers  atomic.Pointer[[]*Observer]  // nil: none
	explainers atomic.Pointer[[]*explainer] // nil: none
	mu         sync.Mutex                   // held to store any of these; guards catalogue
	catalogue  catalogue
}

// Options are the options of a [Registry]. Nil and the zero value mean none.
type Options struct {
	// Middleware is used from the start, as if by [Registry.Use].
	Middleware []Middleware
	// Names says how the tools of servers are called.
	Names names.Names
	// Gate bounds what servers may say of their tools.
	Gate gate.Options
	// Ledger remembers which tools of servers were approved, and holds back what
	// is new or changed. Nil: nothing is held back.
	Ledger *ledger.Ledger
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
	Results *result.Options
	// Search says how [Registry.Search] ranks, and lets models search: the tools
	// search_tools, describe_tool and call_tool can be called then, and are part of a
	// [Toolset] that is too large. The first two show what [Registry.Callable] does, and
	// need no approval; a call of the last is one of the tool that it names. Nil:
	// models cannot.
	Search *SearchOptions
}

// New returns a registry that is empty, but for the tool read_result if results
// are kept, see [result.Options].
func New(opts *Options) *Registry {
	var o Options
	if opts != nil {
		o = *opts
	}
	r := &Registry{
		names:     o.Names,
		gate:      gate.New(o.Gate),
		ledger:    o.Ledger,
		approvals: newApprovals(o.Approver, o.Approvals),
		validator: newValidator(o.Arguments, o.SkipOutputCheck),
		results:   result.New(o.Results),
		search:    newSearcher(o.Search),
		tokens:    newTokenCounter(o.Search),
		catalogue: catalogue{ledger: o.Ledger, servers: map[string]*stock{}},
	}
	if o.Arguments.Redact {
		var secrets map[string]*regexp.Regexp
		if o.Results != nil {
			secrets = o.Results.Secrets
		}
		r.scrubber = redact.New(redact.Patterns(secrets))
	}
	first := &Snapshot{version: 1, superseded: make(chan struct{}), gate: r.gate}
	if r.ledger != nil {
		first.generation, _ = r.ledger.Generation()
	}
	r.snapshot.Store(first)
	r.chain.Store(new([]Handler))
	r.Use(o.Middleware...)
	if r.results.Keeps() {
		_ = r.Add(newReader(r.results)) // nothing else is listed yet
	}
	if o.Search != nil {
		r.hide(newSearchTools(r))
	}
	return r
}

var errZero = errors.New("registry: there is no Registry, or it is the zero one: make it with New")

// made returns errZero for the zero Registry.
func (r *Registry) made() error {
	if r == nil || r.approvals == nil {
		return errZero
	}
	return nil
}

// mustBeMade panics with it.
func (r *Registry) mustBeMade() {
	if err := r.made(); err != nil {
		panic(err.Error())
	}
}

// hide adds native tools that can be called and are not listed.
func (r *Registry) hide(tools []Tool) {
	offers, err := r.newOffers(tools)
	if err != nil {
		return // cannot be: all of them are our own
	}
	for _, o := range offers {
		o.hidden = true
		o.complete(nil, nil)
	}
	_ = r.add(map[string][]*offer{"": offers}) // nothing of that name is listed yet
}

// Ledger returns the ledger of the registry's options; nil if there is none.
func (r *Registry) Ledger() *ledger.Ledger { return r.ledger }

// Names returns how the tools of servers are called, as the registry's options say.
func (r *Registry) Names() names.Names {
	r.mustBeMade()
	return r.names
}

// Snapshot returns the catalogue as it is now.
func (r *Registry) Snapshot() *Snapshot {
	r.mustBeMade()
	s := r.snapshot.Load()
	if r.ledger == nil {
		return s
	}
	if generation, _ := r.ledger.Generation(); generation == s.generation {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current()
}

// current returns the newest snapshot, after the ledger was asked again if it has
// changed. It needs r.mu.
func (r *Registry) current() *Snapshot {
	s := r.snapshot.Load()
	if r.ledger == nil {
		return s
	}
	if generation, _ := r.ledger.Generation(); generation != s.generation {
		entries, generation, _ := r.catalogue.place(s, "")
		r.publish(entries, generation, new(Diff))
	}
	return r.snapshot.Load()
}

// publish puts entries in place, adds to diff what they change, and wakes the
// watchers if that is anything. It needs r.mu.
func (r *Registry) publish(entries []*entry, generation uint64, diff *Diff) {
	before := r.snapshot.Load()
	after := before.with(entries, generation)
	after.vocabulary = r.catalogue.vocabulary()
	if !diff.compare(before.entries, entries) {
		r.snapshot.Store(after)
		return
	}
	after.version++
	after.superseded = make(chan struct{})
	r.snapshot.Store(after)
	close(before.superseded)
}

// Watch yields the current snapshot at once and the newest one after each
// change. Changes that come faster than the loop takes them are yielded as one;
// the last is never missed. The sequence ends when ctx ends.
func (r *Registry) Watch(ctx context.Context) iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		var seen uint64
		for ctx.Err() == nil {
			var judged <-chan struct{} // never ready without a ledger
			if r.ledger != nil {
				_, judged = r.ledger.Generation()
			}
			s := r.Snapshot()
			if s.version != seen && !yield(s) {
				return
			}
			seen = s.version
			select {
			case <-s.superseded:
			case <-judged:
			case <-ctx.Done():
			}
		}
	}
}

// Call calls the tool of that name as it is listed now. Args must be a JSON
// object; empty or null means {}. A name that no tool has stands for the one tool
// that it can mean if case, separators and a lost prefix do not count, unless
// [names.Names] says Exact. A call of call_tool, see [Options].Search, is one of the tool
// that it names. The call goes this way:
//
//   - The arguments are checked and mended, see [ArgumentOptions].
//   - The [Approver] decides, and sees the arguments as they are then.
//   - The middleware of [Registry.Use], and then the tool, get the call.
//   - The result is checked against the output schema, and shaped, see
//     [result.Options]. That of a server that is not [Server].Trusted loses the characters
//     that models read and people do not see, in texts, links and strings of structured
//     content. Middleware gets it as it came.
//
// A name that is not listed fails with an [*UnknownToolError]; if its server is known
// not to be ready, see [Registry.Explain], with a [*NotReadyError]; or, if the ledger
// holds the tool back and the [policy.Policy] does not deny it to the user of ctx, with a
// [*QuarantinedError]; arguments that do not fit with an
// [*ArgumentsError]; a call that may not be made with an [*ApprovalRequiredError],
// a [*DeniedError] or a [*PolicyError]. In all these cases neither middleware nor
// tool has run. A tool that returns nothing at all, or what its output schema
// forbids, fails with a [*ResultError]. Any other error is the tool's own.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	if err := r.made(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if observers := r.observers.Load(); observers != nil {
		o := &Observation{Kind: Called, Name: name, Arguments: args, User: userOf(ctx), Conversation: onbehalf.ConversationOf(ctx), CallID: CallIDOf(ctx)}
		return r.observed(ctx, *observers, o, func(o *Observation) (*mcp.CallToolResult, error) { return r.call(ctx, name, args, o) })
	}
	return r.call(ctx, name, args, nil)
}

// call is Call, and notes in o, which may be nil, which call it is.
func (r *Registry) call(ctx context.Context, name string, args json.RawMessage, o *Observation) (*mcp.CallToolResult, error) {
	e, args, err := r.resolve(ctx, name, args, o)
	if err != nil {
		return nil, err
	}
	o.meant(e, args)
	name = e.def.Name
	args, err = objectArgs(args)
	if err != nil {
		return nil, &ArgumentsError{Tool: name, Err: err}
	}
	if args, err = r.validator.arguments(e, args); err != nil {
		return nil, err
	}
	o.passed(args)
	if !e.hidden { // a look for tools shows no more than a list of them would
		if err := r.approvals.decide(ctx, e, args); err != nil {
			return nil, err
		}
	}
	o.goes()
	return r.carryOut(ctx, e, args)
}

// carryOut makes a call that was decided.
func (r *Registry) carryOut(ctx context.Context, e *entry, args json.RawMessage) (*mcp.CallToolResult, error) {
	var res *mcp.CallToolResult
	var err error
	if chain := *r.chain.Load(); len(chain) == 0 {
		res, err = r.pass(ctx, e, args)
	} else {
		call := &Call{Tool: e.def, Args: args, registry: r, entry: e, chain: chain}
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
	if !e.trusted() && !e.def.ReturnDirect {
		res = result.StripHidden(res)
	}
	if r.results != nil && !e.def.ReturnDirect && !isReader(e.tool) {
		res = r.results.Shape(ctx, result.From{Server: e.def.Origin.Server, Tool: e.def.Origin.Tool, Trusted: e.trusted()}, res)
	}
	return res, nil
}

// pass passes a call on to its tool, if that is still listed and, where somebody
// has decided about it, what it was then. An approver or middleware may have taken
// hours.
func (r *Registry) pass(ctx context.Context, e *entry, args json.RawMessage) (*mcp.CallToolResult, error) {
	s, now, err := r.seek(ctx, e.def.Name, func(s *Snapshot) *entry { return s.find(e.def.Name) })
	switch {
	case err != nil:
		return nil, err
	case now == e:
	case now == nil:
		return nil, r.unknown(ctx, s, e.def.Name)
	case now.change != nil:
		return nil, &QuarantinedError{Name: e.def.Name, Change: now.change}
	case subjectOf(now).same(subjectOf(e)):
		e = now // by a new client perhaps
	case r.approvals.approver != nil:
		return nil, &StaleApprovalError{Tool: e.def.Name}
	}
	if r.scrubber != nil && e.server != nil {
		args = r.scrubber.JSON(args)
	}
	res, err := e.tool.Call(ctx, args)
	if wrong, ok := err.(*ArgumentsError); ok && wrong.Tool == e.def.Origin.Tool && wrong.Tool != e.def.Name {
		renamed := *wrong // as the caller knows the tool
		renamed.Tool = e.def.Name
		err = &renamed
	}
	return res, err
}

var errNoResult = errors.New("there is none, and no error either")

// resolve returns the tool that a call is for, and its arguments: a call of call_tool
// is one of the tool that it names, for everybody.
func (r *Registry) resolve(ctx context.Context, name string, args json.RawMessage, o *Observation) (*entry, json.RawMessage, error) {
	e, err := r.find(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	calls, ok := e.tool.(*relay)
	if !ok || calls.registry != r { // that of another registry calls tools there
		return e, args, nil
	}
	if name, args, err = calls.target(args); err != nil {
		return nil, nil, err
	}
	o.relayed(name, args)
	if e, err = r.find(ctx, name); err != nil {
		return nil, nil, err
	}
	if again, ok := e.tool.(*relay); ok && again.registry == r {
		return nil, nil, &ArgumentsError{Tool: e.def.Name, Err: errors.New(`"name" must be the name of another tool: it cannot call itself`)}
	}
	if e.def.ReturnDirect {
		return nil, nil, &ArgumentsError{Tool: calls.def.Name, Err: fmt.Errorf("it cannot call %s, whose result goes to the user: call that tool by its own name", plain.Quote(e.def.Name))}
	}
	return e, args, nil
}

// Meant returns the definition of the listed tool that [Registry.Call] calls by a name:
// the one of that name or, unless [names.Names].Exact says no, the one that it nearly is.
func (r *Registry) Meant(name string) (*Definition, bool) {
	e := r.Snapshot().lookup(name, r.names.Exact)
	if e == nil || e.change != nil {
		return nil, false
	}
	return e.def, true
}

// find returns the listed tool that name means.
func (r *Registry) find(ctx context.Context, name string) (*entry, error) {
	s, e, err := r.seek(ctx, name, func(s *Snapshot) *entry { return s.lookup(name, r.names.Exact) })
	if err != nil {
		return nil, err
	}
	if e != nil && e.change != nil {
		// Somebody may have approved it in another process.
		if err := r.ledger.Reload(ctx); err == nil {
			s = r.Snapshot()
			e = s.lookup(name, r.names.Exact)
		}
	}
	switch {
	case e == nil:
		return nil, r.unknown(ctx, s, name)
	case e.change != nil:
		// It says what changed, which is not for everybody.
		if denied := r.deniedTo(ctx)(e); denied != nil {
			return nil, denied
		}
		return nil, &QuarantinedError{Name: e.def.Name, Change: e.change}
	}
	return e, nil
}
