// Package plain makes text of others safe to be shown at a terminal.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text with everything made visible that could deceive who reads
// it: control characters, escape sequences, what turns the direction of writing,
// what takes no room, and what is not UTF-8. Such a character becomes its number,
// as in <U+202E>. Only line feeds stay.
func Text(text string) string {
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			fmt.Fprintf(&out, "<%02X>", text[i])
		case r == '\n' || r == ' ' || unicode.IsPrint(r) && !unseen(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "<U+%04X>", r)
		}
	}
	return out.String()
}

// unseen reports whether a character that counts as printable takes no room.
func unseen(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, 0x2800:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// Line is Text for what has to stay on one line, and short.
func Line(text string) string {
	const most = 500
	text = Text(strings.ReplaceAll(text, "\n", " "))
	if n := utf8.RuneCountInString(text); n > most {
		text = string([]rune(text)[:most]) + fmt.Sprintf("... (%d more characters)", n-most)
	}
	return text
}
