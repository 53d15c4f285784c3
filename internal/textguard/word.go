package textguard

import (
	"unicode"
	"unicode/utf8"
)

// maxWord is the length of the longest word that means something here.
const maxWord = 16

// A word is a part of a text as [Urging] reads it: in lower case, letters that
// only look Latin made Latin, parts of an identifier each by themselves.
type word struct {
	letters [maxWord]byte
	size    int // of letters; more than maxWord: it is of no class
	start   int // in the text
	end     int
	before  byte // what stands right before it; 0 at the start
	ends    bool // a sentence ended before it
}

func (w *word) text() string {
	if w.size > maxWord {
		return ""
	}
	return string(w.letters[:w.size])
}

func (w *word) add(c byte) {
	if w.size < maxWord {
		w.letters[w.size] = c
	}
	w.size++
}

// A reader cuts a text into words.
type reader struct {
	text string
	pos  int
}

// next returns the next word; false at the end.
func (r *reader) next(w *word) bool {
	*w = word{}
	lower := false // the character before was a small letter
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		if c < utf8.RuneSelf {
			switch {
			case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
				r.begin(w)
				w.add(c)
				lower = true
			case c >= 'A' && c <= 'Z':
				if lower {
					w.end = r.pos
					return true
				}
				r.begin(w)
				w.add(c + 'a' - 'A')
			case c == '\'' && w.size > 0 && r.pos+1 < len(r.text) && isLetter(r.text[r.pos+1]):
				// don't, user's
			case w.size > 0:
				w.end = r.pos
				return true
			default:
				w.ends = w.ends || r.endsSentence()
			}
			r.pos++
			continue
		}
		ch, n := utf8.DecodeRuneInString(r.text[r.pos:])
		plain := fold(ch)
		switch {
		case ch == 0x2019 && w.size > 0 || isJoint(ch):
		case plain != 0:
			r.begin(w)
			w.add(plain)
			lower = true
		case unicode.IsLetter(ch):
			r.begin(w)
			w.size = maxWord + 1
		case w.size > 0:
			w.end = r.pos
			return true
		}
		r.pos += n
	}
	w.end = len(r.text)
	return w.size > 0
}

func (r *reader) begin(w *word) {
	if w.size > 0 {
		return
	}
	w.start = r.pos
	if r.pos > 0 {
		w.before = r.text[r.pos-1]
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isJoint reports whether a character can stand within a word without being seen.
func isJoint(r rune) bool { return unseen(r) || isSelector(r) || r == 0x200c || r == 0x200d }

// endsSentence reports whether a sentence ends at the character here.
func (r *reader) endsSentence() bool {
	next := byte(' ')
	if r.pos+1 < len(r.text) {
		next = r.text[r.pos+1]
	}
	switch r.text[r.pos] {
	case '.', '!', '?':
		return next == ' ' || next == '\n' || next == '\r' || next == '\t' || next == '<'
	case '\n':
		return next == '\n' || next == '-' || next == '*'
	}
	return false
}

// fold returns the Latin letter or digit, in lower case, that a character looks
// like; 0 if there is none.
func fold(r rune) byte {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		return byte(r)
	case r >= 'A' && r <= 'Z':
		return byte(r) + 'a' - 'A'
	case r < utf8.RuneSelf:
		return 0
	case r >= 0xff21 && r <= 0xff3a: // full width
		return byte(r-0xff21) + 'a'
	case r >= 0xff41 && r <= 0xff5a:
		return byte(r-0xff41) + 'a'
	case r >= 0xff10 && r <= 0xff19:
		return byte(r-0xff10) + '0'
	case r >= 0x1d400 && r <= 0x1d6a3: // letters of mathematics: bold, script and so on
		return byte((r-0x1d400)%26) + 'a'
	case r >= 0x1d7ce && r <= 0x1d7ff:
		return byte((r-0x1d7ce)%10) + '0'
	case r >= 0x24b6 && r <= 0x24e9: // in circles
		return byte((r-0x24b6)%26) + 'a'
	}
	return lookalike(r)
}

// lookalike folds the letters of other alphabets that are drawn like Latin ones.
func lookalike(r rune) byte {
	switch r {
	case 'а', 'А', 'α', 'Α', 'ɑ':
		return 'a'
	case 'В', 'Β', 'Ь', 'ь':
		return 'b'
	case 'с', 'С', 'ϲ', 'Ϲ':
		return 'c'
	case 'ԁ', 'ɗ':
		return 'd'
	case 'е', 'Е', 'ё', 'Ε', 'є', 'ҽ':
		return 'e'
	case 'ɡ', 'ց':
		return 'g'
	case 'һ', 'Һ', 'Н', 'Η', 'հ':
		return 'h'
	case 'і', 'І', 'ι', 'Ι', 'ı', 'ɩ':
		return 'i'
	case 'ј', 'Ј', 'ϳ':
		return 'j'
	case 'К', 'к', 'Κ', 'κ':
		return 'k'
	case 'ӏ', 'Ӏ', 'ǀ':
		return 'l'
	case 'М', 'м', 'Μ':
		return 'm'
	case 'Ν', 'ո', 'п':
		return 'n'
	case 'о', 'О', 'ο', 'Ο', 'օ', 'σ':
		return 'o'
	case 'р', 'Р', 'ρ', 'Ρ':
		return 'p'
	case 'ԛ', 'զ':
		return 'q'
	case 'г':
		return 'r'
	case 'ѕ', 'Ѕ', 'ꜱ':
		return 's'
	case 'Т', 'т', 'Τ', 'τ':
		return 't'
	case 'υ', 'ս', 'ц':
		return 'u'
	case 'ν', 'ѵ':
		return 'v'
	case 'ԝ', 'ѡ', 'ω':
		return 'w'
	case 'х', 'Х', 'χ', 'Χ':
		return 'x'
	case 'у', 'У', 'γ', 'Υ', 'ү':
		return 'y'
	case 'Ζ', 'ᴢ':
		return 'z'
	}
	return 0
}
