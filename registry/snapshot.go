package registry

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/memo"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A Snapshot is the catalogue at one moment. It never changes and is safe for
// concurrent use.
type Snapshot struct {
	version    uint64
	generation uint64   // of the ledger, as far as the snapshot follows it
	entries    []*entry // all, with those in quarantine, sorted by name

	// Of many snapshots that follow each other quickly nobody asks for the tools.
	listing sync.Once
	tools   []Tool // that are listed, sorted by name; set by listing

	// superseded is closed once a snapshot of a later version is in place.
	// Snapshots of one version share it.
	superseded chan struct{}

	matcher matcher // built by the first call that needs it
	words   words   // built by the first tool whose texts are read
}

// Tools returns all tools that are listed, sorted by name. The slice is shared: do
// not change its elements. Appending to it copies.
func (s *Snapshot) Tools() []Tool {
	s.listing.Do(func() {
		tools := slices.Grow([]Tool(nil), len(s.entries))
		for _, e := range s.entries {
			if e.listed() {
				tools = append(tools, e.tool)
			}
		}
		s.tools = slices.Clip(tools)
	})
	return s.tools
}

// Lookup returns the tool of that name, listed or hidden.
func (s *Snapshot) Lookup(name string) (Tool, bool) {
	if e := s.find(name); e != nil && e.change == nil {
		return e.tool, true
	}
	return nil, false
}

// Trusted reports whether what the tool of that name says of itself is believed: it is
// native, or its server is [Server].Trusted.
func (s *Snapshot) Trusted(name string) bool {
	e := s.find(name)
	return e != nil && e.trusted()
}

// Quarantined returns the tools that are known but not listed, because they are not
// accepted as they are, sorted by name.
func (s *Snapshot) Quarantined() []Quarantined {
	var held []Quarantined
	for _, e := range s.entries {
		if e.change != nil {
			held = append(held, Quarantined{Tool: e.def, Change: e.change})
		}
	}
	return held
}

// Findings returns what the gate finds in the tool of that name, listed or in
// quarantine, the severest first; with regard to the other servers that the registry has
// now. Nil: nothing.
func (s *Snapshot) Findings(name string) []gate.Finding {
	e := s.find(name)
	if e == nil || e.server == nil {
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(e.findings), func(f gate.Finding) bool { return f.Token == "cross_server_reference" })
	return gate.Merge(before, gate.References(e.server.Name, e.def.said(), s.others(e.server.Name, nil)))
}

// Version numbers the listings of one registry. It starts at 1 and grows by one
// with each change, so equal versions list equal definitions. Equal versions do not
// promise the same [Tool] values, see [Registry.Replace].
func (s *Snapshot) Version() uint64 { return s.version }

// Memory returns a function that finds where the packages of this module keep what they
// make of the definition of a tool in the snapshot, and whether the gate let its schemas
// pass as they are. The cell is nil for any other definition. It lasts as long as the tool
// says the same. Definitions that come in the order of their names are found without a
// search. The function is not safe for concurrent use.
func (s *Snapshot) Memory() func(def *Definition) (cell *memo.Cell, examined bool) {
	next := 0
	return func(def *Definition) (*memo.Cell, bool) {
		if def == nil {
			return nil, false
		}
		if next == len(s.entries) || s.entries[next].def != def {
			at, ok := s.index(def.Name)
			if !ok || s.entries[at].def != def {
				return nil, false
			}
			next = at
		}
		e := s.entries[next]
		next++
		return &e.memory.cell, e.memory.examined
	}
}

// find returns the entry of that name, listed or not, or nil.
func (s *Snapshot) find(name string) *entry {
	if i, ok := s.index(name); ok {
		return s.entries[i]
	}
	return nil
}

// index returns where the entry of that name is, listed or not, if there is one.
func (s *Snapshot) index(name string) (int, bool) {
	return slices.BinarySearchFunc(s.entries, name, func(e *entry, name string) int {
		return strings.Compare(e.def.Name, name)
	})
}

// lookup returns the entry that name means, listed or not, or nil.
func (s *Snapshot) lookup(name string) *entry {
	if e := s.find(name); e != nil {
		return e
	}
	return s.matcher.of(s.entries).resolve(name)
}

// words are the words that stand for servers with tools: their names, and those of their tools
// there, each with its servers, sorted.
type words struct {
	once    sync.Once
	servers map[string][]string
}

// others returns a function that finds the server, other than own, that a word
// stands for: by its name, by what one of its tools is called here, or by what it
// is called there, unless own has a tool that is called so, also one of tools.
func (s *Snapshot) others(own string, tools []*ledger.Tool) func(word string) (server string, ok bool) {
	s.words.once.Do(func() {
		s.words.servers = map[string][]string{}
		add := func(word, server string) {
			all := s.words.servers[word]
			if at, has := slices.BinarySearch(all, server); !has {
				s.words.servers[word] = slices.Insert(all, at, server)
			}
		}
		for _, e := range s.entries {
			if server := e.def.Origin.Server; server != "" {
				add(server, server)
				add(e.def.Name, server)
				add(e.def.Origin.Tool, server)
			}
		}
	})
	named := make(map[string]bool, len(tools))
	for _, t := range tools {
		named[t.Name] = true
	}
	return func(word string) (string, bool) {
		switch servers := s.words.servers[word]; {
		case len(servers) == 0 || named[word] || slices.Contains(servers, own):
			return "", false
		case slices.Contains(servers, word):
			return word, true
		default:
			return servers[0], true
		}
	}
}
