package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A catalogue holds all offers, and makes the entries of a snapshot of them. It is
// guarded by Registry.mu.
type catalogue struct {
	ledger  *ledger.Ledger // nil: none
	servers map[string]*offering
	gone    []*entry // of offers that do not stand any more; the next place takes them out
}

// An offering is all that one server offers. The native tools are that of the
// server "".
type offering struct {
	server *Server // nil for native tools
	offers []*offer

	judged bool // the ledger was asked about all offers
	known  any  // what it knew of the server then
}

// A refusal is an offer whose name another one has.
type refusal struct{ offer, holder *offer }

// generation returns that of the ledger; 0 if there is none. It needs no lock.
func (c *catalogue) generation() (n uint64) {
	if c.ledger != nil {
		n, _ = c.ledger.Generation()
	}
	return n
}

// set makes offers all that a server offers. One that offers nothing is forgotten,
// unless more is known of it than its name.
func (c *catalogue) set(name string, s *offering) {
	if old := c.servers[name]; old != nil {
		c.withdraw(old.offers...)
	}
	if len(s.offers) == 0 && !s.server.known() {
		delete(c.servers, name)
	} else {
		c.servers[name] = s
	}
}

// withdraw has the entries of offers be taken out by the next place.
func (c *catalogue) withdraw(offers ...*offer) {
	for _, o := range offers {
		if e := o.placed.Swap(nil); e != nil {
			c.gone = append(c.gone, e)
		}
	}
}

// place makes the entries of all offers. Those of before are taken over as far as
// they stay as they were. Only offers of the server named changed are new, if the
// ledger is at the same generation as then. An offer whose name another one has
// is refused, and not offered any more.
func (c *catalogue) place(before *Snapshot, changed string) (entries []*entry, generation uint64, refused []refusal) {
	generation = c.generation()
	var offers []*offer
	if generation != before.generation {
		offers = c.unsettled()
	} else if s := c.servers[changed]; s != nil {
		offers = s.offers
	}
	var fresh []*entry
	for _, o := range offers {
		if change := c.judge(o); o.placed.Load() == nil || !o.placed.Load().change.Same(change) {
			fresh = append(fresh, o.place(change))
			c.withdraw(o)
		}
	}
	slices.SortStableFunc(fresh, compareNames)
	slices.SortFunc(c.gone, compareNames)
	entries, refused = merge(cut(before.entries, c.gone), fresh)
	c.gone = nil
	for _, r := range refused {
		s := c.servers[r.offer.def.Origin.Server]
		s.offers = slices.DeleteFunc(slices.Clone(s.offers), func(o *offer) bool { return o == r.offer })
	}
	return entries, generation, refused
}

// unsettled returns the offers of the servers of which the ledger knows something
// else than when it was asked about them, and those that it was not asked about.
func (c *catalogue) unsettled() []*offer {
	var names []string
	for name, s := range c.servers {
		known := c.ledger.About(s.server.ledger()) // before it is asked: it may know more then
		if !s.judged || s.known != known {
			s.judged, s.known = true, known
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var offers []*offer
	for _, name := range names {
		offers = append(offers, c.servers[name].offers...)
	}
	return offers
}

// judge returns why the ledger holds an offer back, or nil.
func (c *catalogue) judge(o *offer) *ledger.Change {
	if c.ledger == nil || o.server == nil {
		return nil
	}
	return c.ledger.Judge(o.server.ledger(), o.surface)
}

func compareNames(a, b *entry) int { return strings.Compare(a.def.Name, b.def.Name) }

// cut returns sorted entries without some of them, sorted as well. The others are not
// looked at one by one, but for a few of them.
func cut(entries, gone []*entry) []*entry {
	if len(gone) == 0 {
		return entries
	}
	left := make([]*entry, 0, len(entries)-len(gone))
	for _, e := range gone {
		if at, ok := slices.BinarySearchFunc(entries, e, compareNames); ok {
			left = append(left, entries[:at]...)
			entries = entries[at+1:]
		}
	}
	return append(left, entries...)
}

// merge puts sorted fresh entries between sorted kept ones. Of two with one name
// the kept one stays, else the first.
func merge(kept, fresh []*entry) (entries []*entry, refused []refusal) {
	entries = make([]*entry, 0, len(kept)+len(fresh))
	for _, e := range fresh {
		at, taken := slices.BinarySearchFunc(kept, e, compareNames)
		entries = append(entries, kept[:at]...)
		kept = kept[at:]
		var holder *entry
		if taken {
			holder = kept[0]
		} else if n := len(entries); n > 0 && entries[n-1].def.Name == e.def.Name {
			holder = entries[n-1]
		}
		if holder != nil {
			refused = append(refused, refusal{e.offer, holder.offer})
			continue
		}
		e.offer.placed.Store(e)
		entries = append(entries, e)
	}
	return append(entries, kept...), refused
}

// A DuplicateError reports a tool that was refused because its name is taken.
// The holder keeps the name; give the other one a different name, with [With]
// for instance.
//
//cure:give one of the tools another name, by With
type DuplicateError struct {
	Name    string // the name
	Holder  Origin // whose it is
	Refused Origin // who asked for it too
}

func (e *DuplicateError) Error() string {
	return plain.Text(fmt.Sprintf("registry: the name %s for %v is taken by %v; rename one of them", plain.Quote(e.Name), e.Refused, e.Holder))
}

// A Diff tells what [Registry.Replace] did to the catalogue. All lists are sorted
// by name.
type Diff struct {
	Added    []string    // names that are new
	Removed  []string    // names that are gone
	Changed  []string    // names whose definition is a different one now
	Rejected []Rejection // tools that are not known to the registry
	// Quarantined are the tools of the server that wait for approval,
	// whether they were known before or not.
	Quarantined []Quarantined
}

// A Rejection is a tool that [Registry.Replace] did not take.
type Rejection struct {
	Name string // name of the tool
	Err  error  // why: a [*DuplicateError], a [*DefinitionError] or a [*gate.Error]
}

// reject adds a rejection.
func (d *Diff) reject(name string, err error) {
	d.Rejected = append(d.Rejected, Rejection{name, err})
}

// compare notes the differences between two sorted lists, and reports whether
// there are any, in quarantine or out of it.
func (d *Diff) compare(before, after []*entry) (differs bool) {
	for len(before) > 0 || len(after) > 0 {
		var b, a *entry // of one name; nil: there is none
		if len(after) == 0 || len(before) > 0 && before[0].def.Name <= after[0].def.Name {
			b, before = before[0], before[1:]
		}
		if len(after) > 0 && (b == nil || b.def.Name == after[0].def.Name) {
			a, after = after[0], after[1:]
		}
		if b == a {
			continue
		}
		was, is := b != nil && b.change == nil, a != nil && a.change == nil
		switch {
		case was && !is:
			d.Removed = append(d.Removed, b.def.Name)
		case is && !was:
			d.Added = append(d.Added, a.def.Name)
		case b == nil || a == nil: // it is, or was, in quarantine
		case !b.def.equal(a.def):
			if is {
				d.Changed = append(d.Changed, a.def.Name)
			}
		case b.change.Same(a.change):
			continue
		}
		differs = true
	}
	return differs
}

// finish completes a diff for what a server offers; nil: nothing.
func (d *Diff) finish(s *offering) {
	if s != nil {
		for _, o := range s.offers {
			if e := o.placed.Load(); e != nil && e.change != nil {
				d.Quarantined = append(d.Quarantined, Quarantined{Tool: e.def, Change: e.change})
			}
		}
	}
	slices.SortFunc(d.Quarantined, func(a, b Quarantined) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	slices.SortStableFunc(d.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Name, b.Name) })
}
