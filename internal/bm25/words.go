package bm25

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words splits a text into terms in lower case.
//
//   - An identifier is split at case, digits and separators: createIssue,
//     create_issue and create-issue are create and issue. If it has two parts that
//     differ by case alone, it is there as one word as well: GitHub is git, hub and
//     github.
//   - Digits stay with the letters before them, and the letters are there by
//     themselves as well, if they are three or more: s3, v2; oauth2 and oauth.
//   - A letter alone belongs to what follows it: OAuth, iPhone and e-mail are oauth
//     and auth, iphone and phone, email and mail.
//   - Accents of Latin letters do not count, nor does an apostrophe in a word.
//   - What is written without spaces, such as Chinese, Japanese, Korean and Thai, is
//     split into pairs of characters.
//
// At most [MaxWords] are returned, of an identifier its first 128 characters count,
// and what is no UTF-8 separates.
func Words(text string) []string {
	s := splitter{}
	for i, r := range text {
		if len(s.words) >= MaxWords {
			return s.words[:MaxWords]
		}
		switch c := classify(r); {
		case c == unseen:
		case c == joint && (len(s.token) == 0 || !startsWord(text[i+len(string(r)):])),
			c == hyphen && !(len(s.token) == 1 && alone(text[:i]) && startsWord(text[i+len(string(r)):])),
			c == separator:
			s.flush()
		case c == joint:
		case c == hyphen:
			s.joined = true
		case c == unspaced:
			s.flushToken()
			s.run = append(s.run, r)
		default:
			s.flushRun()
			if s.joined { // e-mail is eMail
				c, s.joined = upper, false
			}
			s.add(r, c)
		}
	}
	s.flush()
	return s.words[:min(len(s.words), MaxWords)]
}

type class uint8

const (
	separator class = iota
	unseen          // inside a word, and nothing there: accents that stand alone, soft hyphens, joiners
	joint           // an apostrophe
	hyphen
	lower
	upper
	digit
	unspaced // of a script without spaces
)

func classify(r rune) class {
	switch {
	case r >= 'a' && r <= 'z':
		return lower
	case r >= 'A' && r <= 'Z':
		return upper
	case r >= '0' && r <= '9':
		return digit
	case r == '\'' || r == 0x2019:
		return joint
	case r == '-' || r == 0x2010 || r == 0x2011:
		return hyphen
	case r < 0x80:
		return separator
	case r == 0xad || r >= 0x300 && r < 0x370 || r >= 0x200b && r <= 0x200d || r == 0x2060 || r == 0xfeff || r >= 0xfe00 && r < 0xfe10:
		return unseen
	case isUnspaced(r) && (unicode.IsLetter(r) || unicode.IsMark(r)):
		return unspaced
	case unicode.IsUpper(r) || unicode.IsTitle(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return lower
	}
	return separator
}

// isUnspaced reports whether a character is of a script that is written
// without spaces between words, or with few.
func isUnspaced(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer, unicode.Hiragana, unicode.Katakana, unicode.Han, unicode.Hangul) ||
		r == 'ー' || r == 'ｰ'
}

// startsWord reports whether a text starts with a letter.
func startsWord(text string) bool {
	for _, r := range text {
		c := classify(r)
		return c == lower || c == upper
	}
	return false
}

// alone reports whether the last character of a text is a letter that nothing joins
// with what is before it, as in e-mail, but not in get-a-page.
func alone(text string) bool {
	_, n := utf8.DecodeLastRuneInString(text)
	before := text[:len(text)-n]
	return startsWord(text[len(before):]) && (before == "" || !strings.ContainsRune("-_./", rune(before[len(before)-1])))
}

// maxToken is how many characters of an identifier count.
const maxToken = 128

// A splitter collects words.
type splitter struct {
	words []string
	token []letter // letters and digits in a row
	run   []rune   // of a script without spaces

	joined bool // a hyphen stands between the token, a letter, and what comes
}

// A letter is a character of a token, in lower case and without its accent.
type letter struct {
	r     rune
	class class // what it was
}

func (s *splitter) add(r rune, c class) {
	if len(s.token) >= maxToken {
		return
	}
	if r < 0x80 {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		s.token = append(s.token, letter{r, c})
		return
	}
	switch r = unicode.ToLower(r); r {
	case 'ß':
		s.token = append(s.token, letter{'s', c}, letter{'s', c})
	case 'æ':
		s.token = append(s.token, letter{'a', c}, letter{'e', c})
	case 'œ':
		s.token = append(s.token, letter{'o', c}, letter{'e', c})
	case 'ё':
		s.token = append(s.token, letter{'е', c})
	case 'й':
		s.token = append(s.token, letter{'и', c})
	default:
		if r >= 0xff01 && r <= 0xff5e { // full width
			r -= 0xff01 - '!'
		}
		s.token = append(s.token, letter{unaccented(r), c})
	}
}

func (s *splitter) flush() {
	s.flushToken()
	s.flushRun()
}

// flushRun adds the pairs of the run, or its only character.
func (s *splitter) flushRun() {
	if len(s.run) == 1 {
		s.words = append(s.words, string(s.run))
	}
	for i := 1; i < len(s.run); i++ {
		s.words = append(s.words, string(s.run[i-1:i+1]))
	}
	s.run = s.run[:0]
}

// flushToken adds the words of the token.
func (s *splitter) flushToken() {
	token := s.token
	if len(token) == 0 {
		return
	}
	parts, start, digits := 0, 0, false
	for i := range token {
		digits = digits || token[i].class == digit
		if i > start && splits(token, start, i) {
			s.part(token[start:i])
			parts++
			start = i
		}
	}
	s.part(token[start:])
	if parts == 1 && !digits {
		s.word(token)
	}
	s.token = token[:0]
}

// splits reports whether a part of the token that began at start ends before i.
func splits(token []letter, start, i int) bool {
	before, here := token[i-1].class, token[i].class
	if here != upper || i-start == 1 && before != digit {
		return false // a letter alone belongs to what follows
	}
	if before == lower {
		return true
	}
	// The last capital of a row begins a word, unless it ends a plural: HTTPServer,
	// but URLs.
	if i+1 == len(token) || token[i+1].class != lower {
		return false
	}
	plural := before == upper && token[i+1].r == 's' && (i+2 == len(token) || token[i+2].class != lower)
	return !plural
}

// part adds a part of a token, and the words in it that count by themselves.
func (s *splitter) part(part []letter) {
	s.word(part)
	if slices.ContainsFunc(part, func(l letter) bool { return l.class == digit }) {
		s.letters(part)
	}
	if len(part) >= 4 && part[1].class == upper && part[2].class == lower { // OAuth, iPhone
		s.letters(part[1:])
	}
}

// letters adds the rows of three or more letters in a part.
func (s *splitter) letters(part []letter) {
	start := 0
	for i := range len(part) + 1 {
		if i < len(part) && part[i].class != digit {
			continue
		}
		if i-start >= 3 {
			s.word(part[start:i])
		}
		start = i + 1
	}
}

func (s *splitter) word(letters []letter) {
	runes := make([]rune, len(letters))
	for i, l := range letters {
		runes[i] = l.r
	}
	s.words = append(s.words, string(runes))
}
