package registry

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// references returns what is to be said of a tool that speaks of other servers'.
// other returns the server, other than the tool's own, that has the name word or
// a tool of the name word.
//
// Only words count that are formed like names; those that the tool has for its own
// properties and choices do not, unless no language has such words.
func (g *gate) references(def *Definition, other func(word string) (server string, ok bool)) []Finding {
	found := g.findings(def)
	own := map[string]bool{def.called(): true, def.Origin.Server: true}
	type place struct{ path, text string }
	var said []place
	t := texts{visit: func(path []byte, text string, key bool) {
		switch {
		case key:
			own[text] = true
		case strings.ContainsAny(text, " \n"):
			said = append(said, place{string(path), text})
		case len(text) <= maxName:
			own[text] = true
			if textguard.IsName(text) {
				said = append(said, place{string(path), text})
			}
		}
	}}
	t.outside(def)
	for _, s := range def.schemas() {
		if len(s.raw) <= schemagate.MaxBytes && jsonscan.Valid(s.raw) == nil {
			t.document(s.field, s.raw)
		}
	}

	done := map[string]bool{}
	for _, p := range said {
		end := 0 // of the last one that was found
		for m := range textguard.Mentions(p.text) {
			if m.Start < end || done[m.Word] || own[m.Word] && !textguard.IsName(m.Word) || m.Word == def.called() || m.Word == def.Origin.Server {
				continue
			}
			server, ok := other(m.Word)
			if lower := strings.ToLower(m.Word); !ok && m.Loose && lower != m.Word {
				server, ok = other(lower)
			}
			if ok {
				done[m.Word], end = true, m.End
				found.add(TokenCrossServerReference, Warn, p.path, p.text, m.Start, m.End, "it speaks of the server "+quote(server)+" or a tool of it")
			}
		}
	}
	return found.sorted()
}

// foreign returns other for a server that lists defs: what is a name of its own is
// no word for somebody else's tool.
func foreign(defs []*Definition, other func(word string) (server string, ok bool)) func(word string) (server string, ok bool) {
	own := make(map[string]struct{}, len(defs))
	for _, def := range defs {
		own[def.called()] = struct{}{}
	}
	return func(word string) (string, bool) {
		if _, ok := own[word]; ok {
			return "", false
		}
		return other(word)
	}
}
