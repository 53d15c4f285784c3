// Package plain makes text of others short, and safe to be shown at a terminal.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text with everything made visible that could deceive a reader of
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

// Cut returns text of at most most bytes. A longer text is cut behind a whole
// character and ends in "…", if there is room for that.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = "…"
	end := max(most-len(mark), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if most < len(mark) {
		return ""
	}
	return text[:end] + mark
}

// Quote returns text between quotes as Go writes it, on one line, with everything made
// visible that [Text] makes visible. A text of more than 200 bytes is cut first.
func Quote(text string) string {
	const most = 200
	return Text(strconv.Quote(Cut(text, most)))
}
