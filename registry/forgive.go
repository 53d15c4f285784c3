package registry

import (
	"sync"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// forgive returns the one tool, listed or quarantined, that name can mean if
// case, separators and a lost or doubled prefix do not count. Nil: there is none,
// or more than one.
//
// A tool fits if the name has the words of its server and then its own, with a
// separator between the two and maybe an "mcp__" before them, or just its own.
// Words fit as a whole or not at all: this is no search for what is near. A name
// that speaks of a server means none but that one, so that a call to the tool of a
// server that went away does not end at another's tool that took the name.
func (s *Snapshot) forgive(name string) *entry {
	if len(name) > 2*maxName || !utf8.ValidString(name) {
		return nil
	}
	s.forgiving.once.Do(func() { s.forgiving.index(s) })
	return s.forgiving.find(toolname.Fold(name))
}

// Forgiveness finds tools by what is left of their names once they are folded.
type forgiveness struct {
	once    sync.Once
	servers map[string]fits // tools of a server without it
	bare    fits            // the same of all servers, and names that do not begin with the server
	natives fits            // native tools

	// underscored: there are names by names.UnderscoreTool, so an underscore may stand
	// behind the name of a server that is not known.
	underscored bool
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

func (f *forgiveness) index(s *Snapshot) {
	f.servers, f.bare, f.natives = map[string]fits{}, fits{}, fits{}
	for _, e := range s.entries {
		f.add(e)
	}
}

func (f *forgiveness) add(e *entry) {
	name := toolname.Fold(e.def.Name)
	o := e.def.Origin
	if o.Server == "" {
		f.natives.add(name.Folded, e)
		return
	}
	server := toolname.Fold(o.Server).Folded
	for _, tool := range []string{o.Tool, e.def.Alias} {
		tool := toolname.Fold(tool).Folded
		f.ofServer(server).add(tool, e)
		f.bare.add(tool, e)
	}
	begins := false
	cleaned := toolname.Fold(names.CleanServer(o.Server)).Folded
	for _, name := range []toolname.Name{name, name.WithoutMCP()} {
		for _, c := range name.Cuts {
			if first := name.Folded[:c.End]; first == server || first == cleaned {
				f.ofServer(first).add(name.Folded[c.Next:], e)
				begins = true
			}
		}
	}
	if !begins {
		f.bare.add(name.Folded, e)
	}
	f.underscored = f.underscored || len(e.def.Name) == len(o.Server)+len("_")+len(o.Tool) && e.def.Name == o.Server+"_"+o.Tool
}

func (f *forgiveness) ofServer(server string) fits {
	tools := f.servers[server]
	if tools == nil {
		tools = fits{}
		f.servers[server] = tools
	}
	return tools
}

// find returns the tool that fits, if there is just one.
func (f *forgiveness) find(asked toolname.Name) *entry {
	var found *entry
	several := false
	consider := func(fits fits, name string) {
		if e, ok := fits[name]; ok {
			several = several || e == nil || found != nil && found != e
			found = e
		}
	}

	f.eachServer(asked, func(_ string, tools fits, tool string) { consider(tools, tool) })
	if !f.claims(asked, "") {
		f.eachServer(asked.WithoutMCP(), func(_ string, tools fits, tool string) { consider(tools, tool) })
	}
	strong := asked.Strong()
	if !strong || !f.claims(asked, "") {
		consider(f.natives, asked.Folded)
	}
	if !strong {
		// What begins with the name of a server may be meant for that one.
		before := found
		consider(f.bare, asked.Folded)
		if e := f.bare[asked.Folded]; e != nil && e != before {
			if f.underscored && len(asked.Cuts) > 0 || f.claims(asked, toolname.Fold(e.def.Origin.Server).Folded) {
				return nil
			}
		}
	}
	if several {
		return nil
	}
	return found
}

// eachServer yields the servers with whose names the asked one begins, and the
// rest of it.
func (f *forgiveness) eachServer(asked toolname.Name, yield func(server string, tools fits, tool string)) {
	for server, tool := range asked.Splits() {
		if tools, ok := f.servers[server]; ok {
			yield(server, tools, tool)
		}
	}
}

// claims reports whether the asked name begins with that of a server other than
// own.
func (f *forgiveness) claims(asked toolname.Name, own string) bool {
	claims := false
	f.eachServer(asked, func(server string, _ fits, _ string) { claims = claims || server != own })
	return claims
}
