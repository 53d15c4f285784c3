package toolset

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry"
)

// maxHitSummary is the length of the longest summary, in characters.
const maxHitSummary = 200

// summaryOf returns what a tool says of itself, on one line and short: the first
// sentences of its description, or its title.
func summaryOf(def *registry.Definition) string {
	// Text far behind the end needs no work.
	text := cmp.Or(oneLine(plain.Cut(def.Description, 16*maxHitSummary)), oneLine(plain.Cut(def.Title, 16*maxHitSummary)))
	if utf8.RuneCountInString(text) <= maxHitSummary {
		return text
	}
	runes := []rune(text)[:maxHitSummary]
	if end := sentenceEnd(runes); end > 0 {
		return string(runes[:end]) + " …"
	}
	for at := len(runes) - 1; at > len(runes)/2; at-- {
		if runes[at] == ' ' {
			runes = runes[:at]
			break
		}
	}
	return strings.TrimRight(string(runes), " ,;:") + "…"
}

// sentenceEnd returns where the last whole sentence ends, or 0 if that is early.
func sentenceEnd(text []rune) int {
	for at := len(text) - 2; at >= len(text)/4; at-- {
		switch c := text[at]; {
		case c == '。' || c == '！' || c == '？':
			return at + 1
		case (c == '.' || c == '!' || c == '?') && text[at+1] == ' ' && (at+2 == len(text) || !unicode.IsLower(text[at+2])):
			return at + 1
		}
	}
	return 0
}

// oneLine returns text on one line, with single blanks, and nothing in it that could
// pass for something else.
func oneLine(text string) string {
	var out strings.Builder
	for word := range strings.FieldsSeq(text) {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(plain.Text(strings.Map(withoutEmojiStyle, word)))
	}
	return out.String()
}

// withoutEmojiStyle takes away what says only how an emoji is drawn.
func withoutEmojiStyle(r rune) rune {
	if r == 0xfe0e || r == 0xfe0f {
		return -1
	}
	return r
}

// briefHints returns what annotations claim, in a word or two each.
func briefHints(h registry.Hints) []string {
	switch {
	case h.ReadOnly:
		return []string{"read-only"}
	case h.Annotated && h.Destructive:
		return []string{"may destroy"}
	}
	return nil
}
