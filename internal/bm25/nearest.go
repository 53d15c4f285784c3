package bm25

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/nearest"
)

// maxNearest is how many terms stand in at most for one that is not there.
const maxNearest = 4

// nearWeight is what a term counts that is no slip away at all; one that is one away counts
// half of that.
const nearWeight = 1.4

// maxNearWord is the length of the longest word, in characters, that others stand in for.
const maxNearWord = 32

// Nearest returns the terms of the index that may be meant by a word that is none
// of them, the nearest first, at most four, with weights below 1: those that differ
// by a slip of the keyboard, see [IsSlip], and those that begin with the word. A word of
// fewer than four characters, or more than 32, has none near.
func (ix *Index) Nearest(word string) []Alternative {
	s, ok := newSlip(word)
	if !ok {
		return nil
	}
	var near []nearTerm // the best so far, sorted
	for i := range ix.terms {
		t := &ix.terms[i]
		if t.docs == 0 || t.text == word || t.text[0] != word[0] {
			continue
		}
		if strings.HasPrefix(t.text, word) && len(t.text) <= 4*len(word) {
			near = addNear(near, nearTerm{t.text, 1.5 + 0.2*float64(len(t.text)-len(word)), t.docs})
			continue
		}
		if edits, ok := s.edits(t.text, t.letters); ok {
			near = addNear(near, nearTerm{t.text, float64(edits), t.docs})
		}
	}
	var alternatives []Alternative
	for _, c := range near {
		alternatives = append(alternatives, Alternative{c.text, nearWeight / (1 + c.penalty)})
	}
	return alternatives
}

// IsSlip reports whether a word is another one but for a slip of the keyboard: a letter
// too many, too few, wrong, or in the place of the next; one in a word of four letters or
// more, two in one of nine or more, but none in the first letter, which few get wrong. In
// a word of fewer than six letters a wrong letter does not count as one: too many short
// words differ by that.
func IsSlip(word, other string) bool {
	if word == "" || other == "" || other[0] != word[0] {
		return false
	}
	s, ok := newSlip(word)
	if !ok {
		return false
	}
	_, ok = s.edits(other, lettersOf(other))
	return ok
}

// A slip is a word that may be misspelt.
type slip struct {
	text    string
	word    []rune
	letters uint64
	limit   int // how many letters may be wrong
}

// newSlip returns false for a word that is too short or too long to be one.
func newSlip(word string) (slip, bool) {
	s := slip{text: word, word: []rune(word), letters: lettersOf(word), limit: 1}
	if len(s.word) >= 9 {
		s.limit = 2
	}
	return s, len(s.word) >= 4 && len(s.word) <= maxNearWord
}

// edits returns how many slips a term of these letters is away, if it is near.
func (s *slip) edits(text string, letters uint64) (int, bool) {
	if d := len(text) - len(s.text); d > s.limit*utf8.UTFMax || -d > s.limit*utf8.UTFMax {
		return 0, false
	}
	if bits.OnesCount64(s.letters^letters) > 2*s.limit { // a slip changes two letters at most
		return 0, false
	}
	have := []rune(text)
	edits, ok := nearest.Edits(s.word, have, s.limit)
	if !ok || len(s.word) < 6 && len(have) == len(s.word) && letters != s.letters {
		return 0, false
	}
	return edits, true
}

// A nearTerm is a term that may be meant.
type nearTerm struct {
	text    string
	penalty float64
	docs    int
}

// addNear adds a term to the nearest, of which the last one may have to go. Millions
// may be near, so they are not collected.
func addNear(near []nearTerm, t nearTerm) []nearTerm {
	at, _ := slices.BinarySearchFunc(near, t, func(a, b nearTerm) int {
		return cmp.Or(cmp.Compare(a.penalty, b.penalty), cmp.Compare(b.docs, a.docs), strings.Compare(a.text, b.text))
	})
	switch {
	case at == maxNearest:
		return near
	case len(near) == maxNearest:
		near = near[:maxNearest-1]
	}
	return slices.Insert(near, at, t)
}

// Split returns the two terms of the index that a word is made of, such as pull and request
// for pullrequest; nil if it is made of none. Of several ways it is the one whose rarer term is
// in the most documents.
func (ix *Index) Split(word string) (best []string) {
	most := 0
	for i := 3; i <= min(len(word), 4*maxNearWord)-3; i++ {
		if have := min(ix.Frequency(word[:i]), ix.Frequency(word[i:])); have > most {
			best, most = []string{word[:i], word[i:]}, have
		}
	}
	return best
}

// lettersOf returns a set of the characters in a text: characters that it does not
// have in common with another one are seen, as a rule.
func lettersOf(text string) uint64 {
	var set uint64
	for _, r := range text {
		set |= 1 << (uint32(r) & 63)
	}
	return set
}
