package textguard

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Strip returns text without the characters that [Hidden] calls Tag and Unseen: a model
// reads them and people do not see them. Characters that scripts and emoji need stay, and
// so do separators of lines and paragraphs, and bytes that are not UTF-8.
func Strip(text string) string {
	if !hides(text) {
		return text
	}
	rightToLeft := scan{text: text}
	rightToLeft.all(func(rune, int, Kind, bool) {})
	s := scan{text: text}
	var out strings.Builder
	out.Grow(len(text))
	at := 0
	s.all(func(r rune, n int, kind Kind, hidden bool) {
		mark := isMark(r) && !rightToLeft.rtl
		switch {
		case r == utf8.RuneError && n == 1, r == 0x2028, r == 0x2029, !mark && !(hidden && (kind == Tag || kind == Unseen)):
			out.WriteString(text[at : at+n])
		}
		at += n
	})
	return out.String()
}

// hides reports whether there is something for Strip.
func hides(text string) bool {
	return !IsASCII(text) && slices.ContainsFunc(Hidden(text), func(s Sight) bool { return s.Kind == Tag || s.Kind == Unseen })
}

// IsASCII reports whether all of text is ASCII, in which there is nothing for [Strip]. It costs
// a fraction of what looking for hidden characters does.
func IsASCII[T string | []byte](text T) bool {
	for ; len(text) >= 8; text = text[8:] {
		if text[0]|text[1]|text[2]|text[3]|text[4]|text[5]|text[6]|text[7] >= utf8.RuneSelf {
			return false
		}
	}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// all goes along the whole text.
func (s *scan) all(each func(r rune, n int, kind Kind, hidden bool)) {
	for i := 0; i < len(s.text); {
		r, n := utf8.DecodeRuneInString(s.text[i:])
		kind, hidden := s.next(i, r, n)
		each(r, n, kind, hidden)
		i += n
	}
}
