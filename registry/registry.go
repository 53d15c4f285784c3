package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// newOffers asks all tools of a server, or native ones, for their definitions, without a lock: they are
// foreign code. It fails for tools that have none.
func (r *Registry) newOffers(server string, tools []Tool) ([]*offer, error) {
	offers := make([]*offer, len(tools))
	for i, t := range tools {
		def, err := definitionOf(t)
		if err != nil {
			return nil, err
		}
		o := &offer{entry: entry{tool: t, def: def}}
		o.derived = def.derived || def.Name == "" && def.Origin.Server != "" && def.Origin.Tool != ""
		if o.derived {
			if name := r.names.Name(def.Origin.Server, def.localName()); name != def.Name {
				renamed := *def
				renamed.Name = name
				o.tool, o.def = redefine(t, &renamed), &renamed
			}
		}
		if got := def.Origin.Server; got != server {
			err := fmt.Errorf("is %s, want %s: the tools of a server are put in place by Replace", plain.Quote(got), plain.Quote(server))
			return nil, &DefinitionError{Tool: o.def.Name, Field: "Origin.Server", Err: err}
		}
		offers[i] = o
	}
	return offers, nil
}

// Quarantines reports whether all of a server is held back because it is in quarantine,
// see [Server.Quarantined].
func (r *Registry) Quarantines(server Server) bool {
	r.mustBeMade()
	return r.ledger.Quarantines(server.ledger())
}

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
	r.chain.Store(&chain{passer: r})
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

// Add adds native tools, all of them or, on error, none. The tools of a server are put in
// place by [Registry.Replace].
//
// A name that is taken, or given twice, fails with a [*DuplicateError]; a tool
// that cannot be listed, nil and one of a server included, fails with a [*DefinitionError].
func (r *Registry) Add(tools ...Tool) error { return r.addAll(tools, false) }

// AddHidden adds native tools that can be called by name and are not listed: neither
// [Snapshot.Tools] nor [Registry.Callable] has them. Calls of them need no approval, so
// they must show or do nothing that the user of the context may not see or do. They
// stay when the native tools are replaced. Package registry/toolset adds the tools by
// which a model finds others. A call of a hidden tool with the method
//
//	Target(args json.RawMessage) (name string, inner json.RawMessage, err error)
//
// is one of the tool that Target names.
//
// The errors are those of [Registry.Add].
func (r *Registry) AddHidden(tools ...Tool) error { return r.addAll(tools, true) }

func (r *Registry) addAll(tools []Tool, hidden bool) error {
	if err := r.made(); err != nil {
		return err
	}
	offers, err := r.newOffers("", tools)
	if err != nil {
		return err
	}
	for _, o := range offers {
		o.hidden = hidden
		if err := o.def.validate(); err != nil {
			return err
		}
		o.complete(nil, nil)
	}
	unlock, _ := r.replacing.Lock(context.Background(), "") // it fails if its context ends
	defer unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.current()
	taken := map[string]*offer{}
	for _, o := range offers {
		holder := taken[o.def.Name]
		if e := before.find(o.def.Name); e != nil {
			holder = e.offer
		}
		if holder != nil {
			return &DuplicateError{Name: o.def.Name, Holder: holder.def.Origin, Refused: o.def.Origin}
		}
		taken[o.def.Name] = o
	}
	if len(offers) == 0 {
		return nil
	}
	if s := r.catalogue.servers[""]; s != nil {
		offers = slices.Concat(s.offers, offers)
	}
	r.catalogue.servers[""] = &offering{offers: offers}
	r.publish("", new(Diff))
	return nil
}

// offering returns what is known of a server, and what it offers.
func (r *Registry) offering(name string) offering {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.catalogue.servers[name]; s != nil {
		return *s
	}
	return offering{}
}

// Instructions returns what may be told a model of the use of a server, out of what
// [Registry.Replace] was told of it: the text that the ledger has approved, which
// may be another one than the server gives now, or none. Without a ledger it is what the
// server says. Of a server that is not trusted, characters that people do not see are
// left out. The words are the server's.
//
// The ledger treats instructions as it does tools. Under [ledger.Pin] the first that it
// hears of are approved, those of a server without any included.
func (r *Registry) Instructions(server string) string {
	if r.made() != nil || server == "" {
		return ""
	}
	s := cmp.Or(r.offering(server).server, &Server{Name: server})
	text := ""
	if r.ledger != nil {
		text = r.ledger.Instructions(s.ledger())
	} else if s.Instructions != nil {
		text = *s.Instructions
	}
	if s.Trusted {
		return text
	}
	return textguard.Strip(text)
}
