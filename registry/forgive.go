package registry

import (
	"sync"
	"unicode"
	"unicode/utf8"
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
	return s.forgiving.find(fold(name))
}

// Forgiveness finds tools by what is left of their names once they are folded.
type forgiveness struct {
	once    sync.Once
	servers map[string]fits // tools of a server without it
	bare    fits            // the same of all servers, and names that do not begin with the server
	natives fits            // native tools

	// underscored: there are names by UnderscoreTool, so an underscore may stand
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
	name := fold(e.def.Name)
	o := e.def.Origin
	if o.Server == "" {
		f.natives.add(name.folded, e)
		return
	}
	server := fold(o.Server).folded
	for _, tool := range []string{o.Tool, e.def.Alias} {
		tool := fold(tool).folded
		f.ofServer(server).add(tool, e)
		f.bare.add(tool, e)
	}
	begins := false
	cleaned := fold(cleanPart(o.Server, emptyServer)).folded
	for _, name := range []foldedName{name, name.withoutMCP()} {
		for _, c := range name.cuts {
			if first := name.folded[:c.end]; first == server || first == cleaned {
				f.ofServer(first).add(name.folded[c.next:], e)
				begins = true
			}
		}
	}
	if !begins {
		f.bare.add(name.folded, e)
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
func (f *forgiveness) find(asked foldedName) *entry {
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
		f.eachServer(asked.withoutMCP(), func(_ string, tools fits, tool string) { consider(tools, tool) })
	}
	strong := asked.strong()
	if !strong || !f.claims(asked, "") {
		consider(f.natives, asked.folded)
	}
	if !strong {
		// What begins with the name of a server may be meant for that one.
		before := found
		consider(f.bare, asked.folded)
		if e := f.bare[asked.folded]; e != nil && e != before {
			if f.underscored && len(asked.cuts) > 0 || f.claims(asked, fold(e.def.Origin.Server).folded) {
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
// rest of it. It ends there only where the strongest separators are: in
// "github__create_issue" no server "github_create" is named.
func (f *forgiveness) eachServer(asked foldedName, yield func(server string, tools fits, tool string)) {
	strong := asked.strong()
	for _, c := range asked.cuts {
		if tools, ok := f.servers[asked.folded[:c.end]]; ok && (c.strong || !strong) {
			yield(asked.folded[:c.end], tools, asked.folded[c.next:])
		}
	}
}

// claims reports whether the asked name begins with that of a server other than
// own.
func (f *forgiveness) claims(asked foldedName, own string) bool {
	claims := false
	f.eachServer(asked, func(server string, _ fits, _ string) { claims = claims || server != own })
	return claims
}

// A foldedName is a name without its case and separators.
type foldedName struct {
	folded string
	cuts   []cut // where the separators were
}

// A cut is where a server's name may end.
type cut struct {
	end    int  // where the words before it end in the folded name
	next   int  // where the words after it begin
	strong bool // it was a separator that is made to stand between server and tool
}

// fold folds a name. Of its separators only those between two digits stay, as one
// underscore: "page_1_2" is not "page_12". In a name without any, as in
// "githubCreateIssue", the first word may be a server.
func fold(name string) foldedName {
	var f foldedName
	folded := make([]byte, 0, len(name))
	var before rune // the last one that is no separator
	camel := 0
	strong, separated := false, false
	underscore := false // the rune before was one
	for _, r := range name {
		if separator(r) {
			strong = strong || r == '_' && underscore || r == '.' || r == ':' || r == '/'
			underscore = r == '_'
			separated = true
			continue
		}
		if separated && len(folded) > 0 {
			c := cut{end: len(folded), strong: strong}
			if unicode.IsDigit(before) && unicode.IsDigit(r) {
				folded = append(folded, '_')
			}
			c.next = len(folded)
			f.cuts = append(f.cuts, c)
		}
		if camel == 0 && len(folded) > 0 && unicode.IsUpper(r) {
			camel = len(folded)
		}
		folded = utf8.AppendRune(folded, unicode.ToLower(r))
		before, strong, separated, underscore = r, false, false, false
	}
	f.folded = string(folded)
	if len(f.cuts) == 0 && camel > 0 && !startsUpper(name) {
		f.cuts = append(f.cuts, cut{camel, camel, false})
	}
	return f
}

func separator(r rune) bool {
	switch r {
	case '_', '-', '.', ':', '/', ' ':
		return true
	}
	return false
}

func startsUpper(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}

// strong reports whether any separator is a strong one.
func (n foldedName) strong() bool {
	for _, c := range n.cuts {
		if c.strong {
			return true
		}
	}
	return false
}

// withoutMCP returns what follows if the first word is "mcp", else nothing.
func (n foldedName) withoutMCP() foldedName {
	const mcp = "mcp"
	if len(n.cuts) == 0 || n.folded[:n.cuts[0].end] != mcp {
		return foldedName{}
	}
	from := n.cuts[0].next
	rest := foldedName{folded: n.folded[from:]}
	for _, c := range n.cuts[1:] {
		rest.cuts = append(rest.cuts, cut{c.end - from, c.next - from, c.strong})
	}
	return rest
}
