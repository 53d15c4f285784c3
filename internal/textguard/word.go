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
	clause  bool // a comma, colon, semicolon or dash stands before it
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
		if c := r.text[r.pos]; c < utf8.RuneSelf {
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
				w.clause = w.clause || r.endsClause()
			}
			r.pos++
			continue
		}
		ch, n := utf8.DecodeRuneInString(r.text[r.pos:])
		plain := unaccented(ch)
		switch {
		case ch == 0x2019 && w.size > 0 || isJoint(ch) || isAccent(ch):
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
		case ch == 0x2013 || ch == 0x2014: // dashes
			w.clause = true
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

// endsClause reports whether a part of a sentence ends at the character here.
func (r *reader) endsClause() bool {
	switch r.text[r.pos] {
	case ',', ':', ';':
		return true
	case '-':
		return r.pos > 0 && r.text[r.pos-1] == ' '
	}
	return false
}
