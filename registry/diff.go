package registry

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

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
