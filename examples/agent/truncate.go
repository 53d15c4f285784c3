package main

import (
	"fmt"
	"unicode/utf8"
)

// truncate cuts text to at most n bytes, between characters, and says so.
func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	cut := max(n, 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes]", text[:cut], cut, len(text))
}
