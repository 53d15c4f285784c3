package config

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// gate returns whether an entry may be used, by its title. It reads the section "mcp" that
// Gemini CLI has beside mcpServers: lists of the entries that alone are used or never used.
// A section that does not look like Gemini's belongs to some other program and is left alone.
func (p *parser) gate() (open func(title string) bool) {
	allowed := dialect.Titles(dialect.ListMember(&p.doc.Root, "allowed")) // nil if there is no such list
	excluded := dialect.Titles(dialect.ListMember(&p.doc.Root, "excluded"))
	in := func(list []string, title string) bool {
		_, found := slices.BinarySearch(list, title)
		return found
	}
	return func(title string) bool { return (allowed == nil || in(allowed, title)) && !in(excluded, title) }
}
