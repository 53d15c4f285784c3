package textguard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Kind is a kind of hidden character.
type Kind int

// The kinds, in the order in which [Hidden] returns them.
const (
	Escape    Kind = iota // ESC and the introducers of C1: terminals obey what follows
	Control               // other control characters of C0, and DEL; not \t, \n and the \r of a line end
	LateC1                // other control characters of C1, mostly a broken encoding
	Tag                   // tag characters, outside the three flags that have them
	Direction             // overrides, embeddings and isolates of the direction of writing
	Unseen                // what takes no room, or has no form of its own
	kinds
)

// A Sight is what was found of one kind.
type Sight struct {
	Kind  Kind
	First rune // the first of them
	Start int  // where it is, in bytes
	Count int  // how many there are
	// Smuggles says that there are so many, or so many in a row, that they can
	// hold a message. It is only said of Unseen.
	Smuggles bool
}

const (
	smuggledRun = 8  // hidden characters in a row
	smuggledAll = 32 // in all
)

// Hidden returns what text hides, at most one sight of each kind.
func Hidden(text string) []Sight {
	at := plainASCII(text)
	if at == len(text) {
		return nil
	}
	// A character before that may join with what comes.
	at = max(at-1, 0)
	s := scan{text: text}
	for i := at; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		s.next(i, r, n)
		i += n
	}
	return s.sights()
}

// plainASCII returns the length of the beginning of text that is printable ASCII
// or white space.
func plainASCII(text string) int {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' && !endsLine(text, i) {
			return i
		}
	}
	return len(text)
}

// endsLine reports whether the character at i is a carriage return that belongs to the
// end of a line, or of the text. Any other one takes a terminal back to where the line
// began, so that what follows covers what was there.
func endsLine(text string, i int) bool {
	if text[i] != '\r' {
		return false
	}
	rest := text[i+1:]
	return rest == "" || rest[0] == '\n' || strings.HasPrefix(rest, "\r\n")
}

// A scan goes along a text.
type scan struct {
	text string
	seen [kinds]Sight

	prev rune // the character before; 0 at the start
	base rune // the last one that is no mark, modifier or selector

	run     int // unseen characters in a row
	longest int
	weight  int // unseen characters that seldom come in numbers
	flag    int // up to where tag characters belong to a flag
	rtl     bool
	marks   int // marks of direction, to be judged at the end
	mark    Sight
}

func (s *scan) next(i int, r rune, n int) (kind Kind, hidden bool) {
	kind, hidden = s.classify(i, r, n)
	if hidden {
		s.note(kind, i, r)
	}
	if hidden && kind == Unseen {
		s.run++
		s.longest = max(s.longest, s.run)
		if r != 0x00ad && !private(r) {
			s.weight++
		}
	} else {
		s.run = 0
	}
	s.prev = r
	if r < utf8.RuneSelf || !isModifier(r) {
		s.base = r
	}
	return kind, hidden
}

func (s *scan) note(kind Kind, i int, r rune) {
	sight := &s.seen[kind]
	if sight.Count == 0 {
		*sight = Sight{Kind: kind, First: r, Start: i}
	}
	sight.Count++
}

func (s *scan) sights() []Sight {
	if s.marks > 0 && !s.rtl {
		unseen := &s.seen[Unseen]
		if unseen.Count == 0 || s.mark.Start < unseen.Start {
			unseen.Kind, unseen.First, unseen.Start = Unseen, s.mark.First, s.mark.Start
		}
		unseen.Count += s.marks
		s.weight += s.marks
	}
	s.seen[Unseen].Smuggles = s.longest >= smuggledRun || s.weight >= smuggledAll
	var found []Sight
	for _, sight := range s.seen {
		if sight.Count > 0 {
			found = append(found, sight)
		}
	}
	return found
}

// classify returns the hidden kind of a character here, if it is hidden.
func (s *scan) classify(i int, r rune, n int) (Kind, bool) {
	switch {
	case r == 0x1b:
		return Escape, true
	case r < ' ':
		return Control, r != '\t' && r != '\n' && !endsLine(s.text, i)
	case r < 0x7f:
		return 0, false
	case r == 0x7f:
		return Control, true
	case r < 0xa0:
		switch r {
		case 0x90, 0x98, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f:
			return Escape, true
		}
		return LateC1, true
	case r == utf8.RuneError && n == 1:
		return Unseen, true // not UTF-8
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return Direction, true
	case isMark(r):
		if s.marks++; s.marks == 1 {
			s.mark = Sight{First: r, Start: i}
		}
		return 0, false // judged at the end
	case r >= 0xe0000 && r <= 0xe0fff && !isSelector(r):
		return Tag, !s.inFlag(i)
	case isSelector(r):
		return Unseen, !s.selects(i, r, n)
	case r == 0x200c || r == 0x200d:
		return Unseen, !s.joins(i, n)
	}
	if !s.rtl && r >= 0x0590 && (r <= 0x08ff || r >= 0xfb1d && r <= 0xfefc) && unicode.IsLetter(r) {
		s.rtl = true
	}
	return Unseen, unseen(r)
}

// unseen reports whether a character takes no room or has no form of its own,
// wherever it is.
func unseen(r rune) bool {
	switch r {
	case 0x00ad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x2028, 0x2029, 0x2800, 0x3164, 0xfeff, 0xffa0, 0xfffc:
		return true
	}
	switch {
	case r >= 0x2060 && r <= 0x206f, r >= 0xfff0 && r <= 0xfffb, r >= 0x1d173 && r <= 0x1d17a, r >= 0x1bca0 && r <= 0x1bca3:
		return true
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true
	}
	return private(r)
}

// isMark reports whether a character says in which direction its neighbours are written.
func isMark(r rune) bool { return r == 0x200e || r == 0x200f || r == 0x061c }

func private(r rune) bool {
	return r >= 0xe000 && r <= 0xf8ff || r >= 0xf0000
}

func isSelector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180d || r == 0x180f
}

func isSkinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// isModifier reports whether a character only changes the one before.
func isModifier(r rune) bool {
	return isSelector(r) || isSkinTone(r) || r == 0x200c || r == 0x200d || r == 0x20e3 || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r)
}

// selects reports whether a variation selector stands where one belongs.
func (s *scan) selects(i int, r rune, n int) bool {
	switch {
	case r < 0xfe00:
		return unicode.Is(unicode.Mongolian, s.prev)
	case r >= 0xe0100:
		return unicode.Is(unicode.Han, s.prev)
	case r == 0xfe0e || r == 0xfe0f:
		if s.prev < utf8.RuneSelf {
			keycap := s.prev >= '0' && s.prev <= '9' || s.prev == '#' || s.prev == '*'
			return keycap && after(s.text, i+n) == 0x20e3
		}
		return pictographic(s.prev) || isSkinTone(s.prev)
	}
	return unicode.Is(unicode.Sm, s.prev) || unicode.Is(unicode.Han, s.prev) || unicode.Is(unicode.Myanmar, s.prev) || unicode.Is(unicode.Phags_Pa, s.prev)
}

// pictographic reports whether a character can be an emoji.
func pictographic(r rune) bool {
	switch r {
	case 0x203c, 0x2049, 0x2139, 0x3030, 0x303d:
		return true
	}
	return r >= 0xa9 && (unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r)) || isSkinTone(r)
}

// joins reports whether a joiner stands where one belongs: between two emoji, or
// in a word of a script that has them.
func (s *scan) joins(i, n int) bool {
	if pictographic(s.base) && s.text[i:i+n] == "\u200d" && s.prev != 0x200d {
		return pictographic(after(s.text, i+n))
	}
	return s.prev >= 0x0600 && unicode.In(s.prev,
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Tai_Tham, unicode.Balinese, unicode.Javanese)
}

func after(text string, i int) rune {
	if i >= len(text) {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r
}

// inFlag reports whether a tag character belongs to one of the flags that are
// written with them: those of England, Scotland and Wales. No other is in use, and
// a longer sequence would be a way to hide text behind a flag.
func (s *scan) inFlag(i int) bool {
	if i < s.flag {
		return true
	}
	if s.prev != 0x1f3f4 {
		return false
	}
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		end := i
		for _, letter := range region + "\x7f" {
			if after(s.text, end) != 0xe0000+letter {
				end = 0
				break
			}
			end += 4
		}
		if end > 0 {
			s.flag = end
			return true
		}
	}
	return false
}

// TagText returns the ASCII that tag characters at the beginning of text stand for.
func TagText(text string) string {
	var out []byte
	for _, r := range text {
		if r < 0xe0000 || r > 0xe007f || len(out) == 1<<10 {
			break
		}
		if c := byte(r - 0xe0000); c >= ' ' && c < 0x7f {
			out = append(out, c)
		}
	}
	return string(out)
}
