package registry

import (
	"cmp"
	"maps"
	"slices"
)

// A Snapshot is the catalogue at one moment. It never changes and is safe for
// concurrent use.
type Snapshot struct {
	version uint64
	tools   []Tool // sorted by name
	entries map[string]*entry

	// superseded is closed once a snapshot of a later version is in place.
	// Snapshots of one version share it.
	superseded chan struct{}
}

// Tools returns all tools, sorted by name. The slice is shared: do not change its
// elements. Appending to it copies.
func (s *Snapshot) Tools() []Tool { return s.tools }

// Lookup returns the tool of that name.
func (s *Snapshot) Lookup(name string) (Tool, bool) {
	e, ok := s.entries[name]
	if !ok {
		return nil, false
	}
	return e.tool, true
}

// Version numbers the listings of one registry. It starts at 1 and grows by one
// with each change, so equal versions list equal definitions. Equal versions do not
// promise the same [Tool] values, see [Registry.Replace].
func (s *Snapshot) Version() uint64 { return s.version }

// with returns a snapshot of the same version that has other entries.
func (s *Snapshot) with(entries map[string]*entry) *Snapshot {
	sorted := slices.SortedFunc(maps.Values(entries), func(a, b *entry) int {
		return cmp.Compare(a.def.Name, b.def.Name)
	})
	tools := make([]Tool, len(sorted))
	for i, e := range sorted {
		tools[i] = e.tool
	}
	return &Snapshot{version: s.version, tools: tools, entries: entries, superseded: s.superseded}
}
