// Package plain makes texts of models, tools and scripts safe to show to people.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text with what is not seen, or moves what is seen, written as <U+202E>.
func Text(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && !unicode.Is(unicode.Variation_Selector, r) && r != 0x2800 {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "<U+%04X>", r)
		}
	}
	return out.String()
}

// Cut returns text in at most so many bytes, with a mark where it is cut.
func Cut(text string, most int) string {
	const mark = "…"
	end := most - len(mark)
	switch {
	case len(text) <= most:
		return text
	case end < 0:
		return ""
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// Quote returns text in quotes, shortened and on one line.
func Quote(text string) string { return Text(strconv.Quote(Cut(text, 200))) }

// Nesting returns how deep the objects and arrays of JSON are within each other.
func Nesting(text string) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
