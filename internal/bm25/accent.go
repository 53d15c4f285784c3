package bm25

import "github.com/mcpbelt/mcpbelt/internal/textguard"

// unaccented returns a letter in lower case without its accent, if it is a Latin one
// with an accent; else itself.
func unaccented(r rune) rune {
	if c := textguard.Unaccented(r); c != 0 {
		return rune(c)
	}
	return r
}
