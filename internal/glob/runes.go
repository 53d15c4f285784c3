package glob

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// runes are a set of characters: ranges in order, that neither touch nor overlap.
type runes []span

// A span is a range of characters, the last one included.
type span struct{ first, last rune }

// Names hold no surrogates: in UTF-8 there are none.
const (
	firstSurrogate = 0xd800
	lastSurrogate  = 0xdfff
)

// anyRune returns the set of all characters.
func anyRune() runes {
	return runes{{0, firstSurrogate - 1}, {lastSurrogate + 1, utf8.MaxRune}}
}

func (s runes) has(r rune) bool {
	i, found := slices.BinarySearchFunc(s, r, func(s span, r rune) int { return cmp.Compare(s.first, r) })
	return found || i > 0 && r <= s[i-1].last
}

// union returns the set of the characters of all spans.
func union(spans []span) runes {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var set runes
	for _, s := range spans {
		if n := len(set); n > 0 && s.first <= set[n-1].last+1 {
			set[n-1].last = max(set[n-1].last, s.last)
		} else {
			set = append(set, s)
		}
	}
	return set.without(runes{{firstSurrogate, lastSurrogate}})
}

// without returns the characters of s that are not in t.
func (s runes) without(t runes) runes {
	var left runes
	for _, s := range s {
		for _, t := range t {
			if t.last < s.first || t.first > s.last {
				continue
			}
			if s.first < t.first {
				left = append(left, span{s.first, t.first - 1})
			}
			s.first = t.last + 1
		}
		if s.first <= s.last {
			left = append(left, s)
		}
	}
	return left
}
