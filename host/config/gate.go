package config

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A gate is the section "mcp" that Gemini CLI has beside mcpServers: lists of
// the entries, by title, that alone are used or never used.
type gate struct {
	allowed, excluded []string // nil if the file has no such list
}

// gate reads the section. A section that does not look like Gemini's belongs to some
// other program and is left alone.
func (p *parser) gate() gate {
	return gate{allowed: dialect.Titles(dialect.ListMember(&p.doc.Root, "allowed")), excluded: dialect.Titles(dialect.ListMember(&p.doc.Root, "excluded"))}
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
