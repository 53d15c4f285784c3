package textguard

import (
	"iter"
	"slices"
	"strings"
)

// A Mention is a word that is formed like the name of a tool or server.
type Mention struct {
	Word       string
	Start, End int // in bytes
	// Loose says that the text calls it a server, so that case does not matter.
	Loose bool
}

// Mentions yields the words of text that are formed like names: what holds an
// underscore, a dash, a dot, a colon or, after a small letter at the start, a
// capital within; what stands in quotes; what is followed by "server" or "MCP" and comes after "the" or the like. Of
// server__tool and server:tool, the server is yielded after the whole. Other
// words, however they read, are not yielded.
func Mentions(text string) iter.Seq[Mention] {
	return func(yield func(Mention) bool) {
		var before, last piece
		for at := 0; ; {
			p, ok := nextPiece(text, at)
			if !ok {
				return
			}
			at = p.end
			if isKind(p.word) && last.end > 0 && isArticle(before.word) && apart(text, last, p) && !yield(Mention{last.word, last.start, last.end, true}) {
				return
			}
			if (p.formed() || quoted(text, p)) && !p.yield(yield) {
				return
			}
			before, last = last, p
		}
	}
}

// A piece is a run of the characters of names.
type piece struct {
	word       string
	start, end int
}

// maxName is the length of the longest word that is taken for a name.
const maxName = 256

func nextPiece(text string, at int) (piece, bool) {
	for at < len(text) && !isName(text[at]) {
		at++
	}
	start := at
	for at < len(text) && (isName(text[at]) || isInner(text[at])) {
		at++
	}
	end := at
	for end > start && isInner(text[end-1]) {
		end--
	}
	return piece{text[start:end], start, end}, end > start
}

func isName(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' }

func isInner(c byte) bool { return c == '-' || c == '.' || c == ':' || c == '/' }

// formed reports whether no word of a language looks so.
func (p piece) formed() bool {
	if len(p.word) > maxName {
		return false
	}
	for i := 1; i < len(p.word); i++ {
		switch c, prev := p.word[i], p.word[i-1]; {
		case c == '_' || isInner(c):
			return true
		case c >= 'A' && c <= 'Z' && prev >= 'a' && prev <= 'z' && p.word[0] >= 'a':
			return true // not what begins with a capital, as products do
		}
	}
	return false
}

// yield yields the piece, and the server that it begins with.
func (p piece) yield(yield func(Mention) bool) bool {
	if len(p.word) > maxName {
		return true
	}
	if !yield(Mention{p.word, p.start, p.end, false}) {
		return false
	}
	word, start := p.word, p.start
	if rest, ok := strings.CutPrefix(word, "mcp__"); ok {
		word, start = rest, start+len("mcp__")
	}
	at := strings.Index(word, "__")
	if at < 0 {
		// A colon is also what stands in times, sorts and URLs.
		if at = strings.IndexByte(word, ':'); at < 0 || at+1 == len(word) || !isLetter(word[at+1]) {
			return true
		}
	}
	return at == 0 || yield(Mention{word[:at], start, start + at, false})
}

// quoted reports whether a piece stands alone in quotes.
func quoted(text string, p piece) bool {
	if p.start == 0 || p.end >= len(text) {
		return false
	}
	switch c := text[p.start-1]; c {
	case '"', '\'', '`':
		return text[p.end] == c
	}
	return false
}

// apart reports whether only a space, or the end of a quote, is between two pieces.
func apart(text string, a, b piece) bool {
	return strings.Trim(text[a.end:b.start], " \n'\"`") == "" && b.start > a.end
}

func isKind(word string) bool {
	return strings.EqualFold(word, "server") || strings.EqualFold(word, "mcp")
}

func isArticle(word string) bool {
	return slices.Contains([]string{"the", "from", "of", "via", "by", "on", "to", "with", "use", "using", "other", "trusted"}, strings.ToLower(word))
}

// IsName reports whether a word is formed as no word of a language is.
func IsName(word string) bool {
	p, ok := nextPiece(word, 0)
	return ok && p.word == word && p.formed()
}
