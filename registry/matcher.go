package registry

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A matcher finds the tools of a snapshot by names that are not quite theirs: the one
// that a name can mean, and those that are near to it.
type matcher struct {
	once    sync.Once
	servers map[string]fits // by folded server: its tools without it
	bare    fits            // the same of all servers, and names that do not begin with the server
	natives fits            // native tools
	near    []nearEntry     // the listed and hidden tools
	known   map[string]bool // folded names of servers
}

// Fits are tools by a folded name; nil stands for several.
type fits map[string]*entry

func (f fits) add(name string, e *entry) {
	if name == "" {
		return
	}
	if other, ok := f[name]; ok && other != e {
		e = nil
	}
	f[name] = e
}

// of returns the matcher of the entries of a snapshot, which the first who needs it builds.
func (m *matcher) of(entries []*entry) *matcher {
	m.once.Do(func() {
		m.servers, m.bare, m.natives, m.known = map[string]fits{}, fits{}, fits{}, map[string]bool{}
		m.near = make([]nearEntry, 0, len(entries))
		var server foldedServer // that of the neighbour mostly is the same
		for _, e := range entries {
			if name := e.def.Origin.Server; name != server.name {
				server = foldedServer{name, toolname.Fold(name).Folded, toolname.Fold(names.CleanServer(name)).Folded}
			}
			m.add(e, server)
		}
	})
	return m
}

// A foldedServer is the name of a server, folded, and the same without the characters
// that names of tools do not have.
type foldedServer struct{ name, folded, cleaned string }

func (m *matcher) add(e *entry, server foldedServer) {
	if server.name != "" {
		m.known[server.folded] = true
	}
	if e.change == nil {
		m.near = append(m.near, nearEntry{newNearName(e.def.Name), e, server.folded})
		if local := e.def.localName(); toolname.HasHash(e.def.Name) && len(local) <= maxName { // and what it would be called without
			m.near = append(m.near, nearEntry{newNearName(server.name + "__" + local), e, server.folded})
		}
	}
	name := toolname.Fold(e.def.Name)
	if server.name == "" {
		m.natives.add(name.Folded, e)
		return
	}
	for _, tool := range []string{e.def.Origin.Tool, e.def.Alias} {
		tool := toolname.Fold(tool).Folded
		m.ofServer(server.folded).add(tool, e)
		m.bare.add(tool, e)
	}
	begins := false
	for _, name := range []toolname.Name{name, name.WithoutMCP()} {
		for _, c := range name.Cuts {
			if first := name.Folded[:c.End]; first == server.folded || first == server.cleaned {
				m.ofServer(first).add(name.Folded[c.Next:], e)
				begins = true
			}
		}
	}
	if !begins {
		m.bare.add(name.Folded, e)
	}
}

func (m *matcher) ofServer(server string) fits {
	tools := m.servers[server]
	if tools == nil {
		tools = fits{}
		m.servers[server] = tools
	}
	return tools
}

// resolve returns the one tool, listed or quarantined, that name can mean if
// case, separators and a lost or doubled prefix do not count. Nil: there is none,
// or more than one.
//
// A tool fits if the name has the words of its server and then its own, with a
// separator between the two and maybe an "mcp__" before them, or just its own. Those of its
// server may have "mcp server" behind them, as titles do.
// Words fit as a whole or not at all: this is no search for what is near. A name
// that speaks of a server means none but that one, so that a call to the tool of a
// server that went away does not end at another's tool that took the name.
func (m *matcher) resolve(name string) *entry {
	if len(name) > 2*maxName || !utf8.ValidString(name) {
		return nil
	}
	return m.find(toolname.Fold(name))
}

// find returns the tool that fits, if there is just one.
func (m *matcher) find(asked toolname.Name) *entry {
	var found *entry
	several := false
	consider := func(fits fits, name string) {
		if e, ok := fits[name]; ok {
			several = several || e == nil || found != nil && found != e
			found = e
		}
	}

	for server, tool := range asked.Splits() {
		consider(m.servers[m.titled(server)], tool)
	}
	claimed, strong := m.claims(asked, ""), asked.Strong()
	if !claimed {
		for server, tool := range asked.WithoutMCP().Splits() {
			consider(m.servers[m.titled(server)], tool)
		}
	}
	if !strong || !claimed {
		consider(m.natives, asked.Folded)
	}
	if !strong {
		// A name that begins with that of a server may be meant for that one.
		before := found
		consider(m.bare, asked.Folded)
		if e := m.bare[asked.Folded]; e != nil && e != before && m.claims(asked, toolname.Fold(e.def.Origin.Server).Folded) {
			return nil
		}
	}
	if several {
		return nil
	}
	return found
}

// titled returns the server that a folded name means: the one of that name, or else the one
// whose title it may be, such as "GitHub MCP Server" of the server github.
func (m *matcher) titled(name string) string {
	if server, ok := strings.CutSuffix(name, "mcpserver"); ok && m.servers[name] == nil && m.servers[server] != nil {
		return server
	}
	return name
}

// claims reports whether the asked name begins with that of a server other than
// own.
func (m *matcher) claims(asked toolname.Name, own string) bool {
	for server := range asked.Splits() {
		server = m.titled(server)
		if _, ok := m.servers[server]; ok && server != own {
			return true
		}
	}
	return false
}

const maxSuggestions = 3

// suggest returns the names, of tools to keep, that the caller may have meant by name,
// nearest first. Case and separators do not count, and a name may lack its server or have
// a wrong one, or lack its hash. If it names a server that is there, no tool of another
// server is meant.
func (m *matcher) suggest(name string, keep func(*entry) bool) []string {
	if name == "" || len(name) > maxName {
		return nil
	}
	var named []string // folded names of servers with tools that the name begins with
	if folded := toolname.Fold(name); folded.Strong() {
		for server := range folded.Splits() {
			if m.known[server] {
				named = append(named, server)
			}
		}
	}
	asked := newNearName(name)
	type suggestion struct {
		name     string
		distance int
	}
	var found []suggestion
	for _, n := range m.near {
		if named != nil && n.server != "" && !slices.Contains(named, n.server) {
			continue
		}
		if d, ok := asked.distance(n.nearName); ok && keep(n.entry) {
			found = append(found, suggestion{n.entry.def.Name, d})
		}
	}
	slices.SortFunc(found, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var nearest []string
	for _, s := range found {
		if !slices.Contains(nearest, s.name) && len(nearest) < maxSuggestions {
			nearest = append(nearest, s.name)
		}
	}
	return nearest
}

// A nearName is a name made comparable: lower case, one separator.
type nearName struct {
	whole, bare string // "notes_create_note", and without the server, if there is one: "create_note"
}

// A nearEntry is a name of a tool.
type nearEntry struct {
	nearName
	entry  *entry
	server string // folded; empty: a native tool
}

func newNearName(name string) nearName {
	name = strings.ToLower(name)
	whole := normalize(name)
	if _, bare, ok := strings.Cut(name, "__"); ok {
		return nearName{whole, normalize(bare)}
	}
	return nearName{whole, whole}
}

// normalize returns the words of a name with one underscore between them.
func normalize(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-./: ", r) })
	return strings.Join(words, "_")
}

// maxEdits is how many mistakes a name may have; beyond that it is a different one.
const maxEdits = 6

// distance returns how far the name have is from the asked one, and whether that is
// near at all. An edit counts two; another server, or none, counts one,
// whatever its name.
func (asked nearName) distance(have nearName) (least int, near bool) {
	const otherEnd = 3
	most := 2*maxEdits + 1
	if endsWith(have.whole, asked.whole) || endsWith(asked.whole, have.whole) {
		most, least, near = otherEnd, otherEnd, true
	}
	if edits, ok := edits(asked.whole, have.whole, most/2); ok {
		most, least, near = 2*edits, 2*edits, true
	}
	if edits, ok := edits(asked.bare, have.bare, (most-1)/2); ok && 2*edits+1 <= most {
		least, near = 2*edits+1, true
	}
	return least, near
}

// edits returns the edit distance of a and b if it is small for their length, and at
// most most.
func edits(a, b string, most int) (int, bool) {
	if a == "" || b == "" {
		return 0, false
	}
	return nearest.Edits([]byte(a), []byte(b), min(most, (max(len(a), len(b))+2)/4))
}

// endsWith reports whether the last words of name are tail.
func endsWith(name, tail string) bool { return tail != "" && strings.HasSuffix(name, "_"+tail) }
