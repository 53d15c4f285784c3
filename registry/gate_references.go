package registry

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// references returns what is to be said of a tool that speaks of other servers'.
// other returns the server, other than the tool's own, that has the name word or
// a tool of the name word.
//
// Only words count that are formed like names; those that the tool has for its own
// properties and choices do not, unless no language has such words.
func (g *gate) references(tool *gateTool, other func(word string) (server string, ok bool)) []Finding {
	found := g.findings(tool)
	own := map[string]bool{tool.Name: true, tool.Server: true}
	type place struct{ path, text string }
	var said []place
	t := texts{visit: func(path []byte, text string, key bool) {
		switch {
		case key:
			own[text] = true
		case strings.ContainsAny(text, " \n"):
			said = append(said, place{string(path), text})
		case len(text) <= maxWord:
			own[text] = true
			if textguard.IsName(text) {
				said = append(said, place{string(path), text})
			}
		}
	}}
	t.outside(tool)
	for _, s := range tool.schemas() {
		if len(s.raw) <= schemagate.MaxBytes && jsonscan.Valid(s.raw) == nil {
			t.document(s.field, s.raw)
		}
	}

	done := map[string]bool{}
	for _, p := range said {
		end := 0 // of the last one that was found
		for m := range textguard.Mentions(p.text) {
			if m.Start < end || done[m.Word] || own[m.Word] && !textguard.IsName(m.Word) || m.Word == tool.Name || m.Word == tool.Server {
				continue
			}
			server, ok := other(m.Word)
			if lower := strings.ToLower(m.Word); !ok && m.Loose && lower != m.Word {
				server, ok = other(lower)
			}
			if ok {
				done[m.Word], end = true, m.End
				found.add(TokenCrossServerReference, Warn, p.path, p.text, m.Start, m.End, "it speaks of the server "+plain.Quote(server)+" or a tool of it")
			}
		}
	}
	return found.sorted()
}

// maxWord is how long a word can be that is a name, in bytes.
const maxWord = 256
