package registry

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A Registry is a catalogue of tools. Make one with [New]. All methods are safe
// for concurrent use; reading and calling never wait for a writer.
type Registry struct {
	names     names.Scheme
	ledger    *ledger.Ledger // nil: none
	approvals *approvals
	schemas   *schemagate.Cache // of arguments and results
	results   *result.Shaper    // nil: results stay as they came
	scrubber  *redact.Redactor  // of arguments on their way to servers; nil: none

	replacing keylock.Set // by server: held from the examination of its tools until they are in place

	snapshot   atomic.Pointer[Snapshot]
	chain      atomic.Pointer[chain]
	observers  callbacks[Observer]
	explainers callbacks[func(ctx context.Context, name string) error] // see Explain
	mu         sync.Mutex                                              // held to store any of these but callbacks; guards catalogue
	catalogue  catalogue
}

// Options are the options of a [Registry]. Nil and the zero value mean none.
type Options struct {
	// Names says how the tools of servers are called.
	Names names.Scheme
	// Ledger remembers which tools of servers were approved, and holds back what
	// is new or changed. Nil: nothing is held back.
	Ledger *ledger.Ledger
	// Approver decides which calls are made. Nil: all calls to listed tools.
	Approver Approver
	// Approvals says how calls wait for approval.
	Approvals approval.Options
	// RedactArguments replaces secrets in the strings of arguments, keys included, by
	// "[redacted: kind]" on their way to a server, as [result.Options].Redact does in
	// results, with the Secrets of Results as well. It comes last: approvers, middleware and
	// observers see the arguments as they were, and that the schema allows what the server
	// gets is not checked again. Tools of the program itself get the arguments as they are. A
	// tool that wants a secret as an argument cannot be used then.
	RedactArguments bool
	// Results says in which form results come back. Nil: as they came.
	Results *result.Options
}

// New returns a registry that is empty, but for the tool read_result if there are
// [Options].Results.
func New(opts *Options) *Registry {
	o := *cmp.Or(opts, new(Options))
	r := &Registry{
		names:     o.Names,
		ledger:    o.Ledger,
		approvals: newApprovals(o.Approver, o.Approvals),
		schemas:   schemagate.NewCache(maxCompiled),
		results:   result.New(o.Results),
		catalogue: catalogue{ledger: o.Ledger, servers: map[string]*offering{}},
	}
	if o.RedactArguments {
		r.scrubber = redact.New(cmp.Or(o.Results, new(result.Options)).Secrets)
	}
	r.snapshot.Store(&Snapshot{version: 1, generation: r.catalogue.generation(), superseded: make(chan struct{})})
	r.chain.Store(new(chain))
	if r.results != nil {
		_ = r.Add(newReader(r.results)) // nothing else is listed yet
	}
	return r
}

// made returns an error for the zero Registry.
func (r *Registry) made() error {
	if r == nil || r.approvals == nil {
		return errors.New("registry: there is no Registry, or it is the zero one: make it with New")
	}
	return nil
}

// mustBeMade panics with it.
func (r *Registry) mustBeMade() {
	if err := r.made(); err != nil {
		panic(err.Error())
	}
}

// Ledger returns the ledger of the registry's options; nil if there is none.
func (r *Registry) Ledger() *ledger.Ledger { return r.ledger }

// Names returns how the tools of servers are called, as the registry's options say.
func (r *Registry) Names() names.Scheme {
	r.mustBeMade()
	return r.names
}

// Snapshot returns the catalogue as it is now.
func (r *Registry) Snapshot() *Snapshot {
	r.mustBeMade()
	if s := r.snapshot.Load(); r.catalogue.generation() == s.generation {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current()
}

// current returns the newest snapshot, after the ledger was asked again if it has
// changed. It needs r.mu.
func (r *Registry) current() *Snapshot {
	if s := r.snapshot.Load(); r.catalogue.generation() != s.generation {
		r.publish("", new(Diff))
	}
	return r.snapshot.Load()
}

// publish puts the entries of all offers in place, of which those of one server may be new, adds to
// diff what that changes, and wakes the watchers if that is anything. It returns the offers that are
// refused. It needs r.mu.
func (r *Registry) publish(changed string, diff *Diff) []refusal {
	before := r.snapshot.Load()
	entries, generation, refused := r.catalogue.place(before, changed)
	after := &Snapshot{version: before.version, generation: generation, entries: entries, superseded: before.superseded}
	differs := diff.compare(before.entries, entries)
	if differs {
		after.version++
		after.superseded = make(chan struct{})
	}
	if r.snapshot.Store(after); differs {
		close(before.superseded)
	}
	return refused
}

// Watch yields the current snapshot at once and the newest one after each
// change. Changes that come faster than the loop takes them are yielded as one;
// the last is never missed. The sequence ends when ctx ends.
func (r *Registry) Watch(ctx context.Context) iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		var seen uint64
		for ctx.Err() == nil {
			_, judged := r.ledger.Generation() // never ready without a ledger
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
