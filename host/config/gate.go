package config

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A gate is the section "mcp" that Gemini CLI has beside mcpServers: lists of
// the entries, by title, that alone are used or never used.
type gate struct {
	allowed, excluded []string // nil if the file has no such list
}

// gate reads the section. What does not look like Gemini's belongs to some
// other program and is left alone.
func (p *parser) gate() gate {
	return gate{allowed: titles(listMember(&p.doc.Root, "allowed")), excluded: titles(listMember(&p.doc.Root, "excluded"))}
}

// listMember returns one of the lists as written, nil if it is not there.
func listMember(root *jsonc.Node, key string) *jsonc.Member {
	if m := root.Member("mcp"); m != nil {
		return m.Value.Member(key)
	}
	return nil
}

func titles(m *jsonc.Member) []string {
	if m == nil || m.Value.Kind != jsonc.Array {
		return nil
	}
	list := make([]string, 0, len(m.Value.Elems))
	for i := range m.Value.Elems {
		if m.Value.Elems[i].Kind == jsonc.String {
			list = append(list, m.Value.Elems[i].Text)
		}
	}
	slices.Sort(list)
	return list
}

// open reports whether the entry may be used.
func (g gate) open(title string) bool {
	if g.allowed != nil {
		if _, ok := slices.BinarySearch(g.allowed, title); !ok {
			return false
		}
	}
	_, excluded := slices.BinarySearch(g.excluded, title)
	return !excluded
}
