package registry

import (
	"cmp"
	"slices"
)

// A Diff tells what [Registry.Replace] did to the tools of a server. All lists
// are sorted by name.
type Diff struct {
	Added    []string    // names that are new
	Removed  []string    // names that are gone
	Changed  []string    // names whose definition is a different one now
	Rejected []Rejection // tools that were not listed
}

// A Rejection is a tool that [Registry.Replace] did not list.
type Rejection struct {
	Name string // name of the tool
	Err  error  // why: a [*DuplicateError] or a [*DefinitionError]
}

// unchanged reports whether the listing stayed as it was.
func (d *Diff) unchanged() bool {
	return len(d.Added) == 0 && len(d.Removed) == 0 && len(d.Changed) == 0
}

// swap returns a copy of entries in which the tools of server are those of
// tools, and the difference. Entries that others hold stay.
func swap(entries map[string]*entry, server string, tools []*entry) (map[string]*entry, Diff) {
	var diff Diff
	after := make(map[string]*entry, len(entries)+len(tools))
	for name, e := range entries {
		if e.def.Origin.Server != server {
			after[name] = e
		}
	}
	for _, e := range tools {
		name := e.def.Name
		if err := e.def.validate(); err != nil {
			diff.Rejected = append(diff.Rejected, Rejection{name, err})
			continue
		}
		if holder, taken := after[name]; taken {
			err := &DuplicateError{Name: name, Holder: holder.def.Origin, Refused: e.def.Origin}
			diff.Rejected = append(diff.Rejected, Rejection{name, err})
			continue
		}
		after[name] = e
		if before, ok := entries[name]; !ok {
			diff.Added = append(diff.Added, name)
		} else if !before.def.equal(e.def) {
			diff.Changed = append(diff.Changed, name)
		}
	}
	for name := range entries {
		if _, ok := after[name]; !ok {
			diff.Removed = append(diff.Removed, name)
		}
	}
	slices.Sort(diff.Added)
	slices.Sort(diff.Removed)
	slices.Sort(diff.Changed)
	slices.SortStableFunc(diff.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Name, b.Name) })
	return after, diff
}
