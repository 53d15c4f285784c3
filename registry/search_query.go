package registry

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

// A searchQuery is the text of a [Query]: its words, each with those that mean the
// same.
type searchQuery []bm25.Term

// maxQueryText is how much of a query is read, in bytes.
const maxQueryText = 4 << 10

// How much other words count than that of the query.
const (
	synonymWeight = 0.5
	partWeight    = 0.7
)

// newSearchQuery takes a text apart. Also gives synonyms beside the built-in ones.
func newSearchQuery(text string, also func(word string) []string) searchQuery {
	all := bm25.Words(strings.ToValidUTF8(text[:min(len(text), maxQueryText)], " "))
	words := make([]string, 0, len(all))
	for _, w := range all {
		if !isStopWord(w) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		words = all
	}
	words = words[:min(len(words), bm25.MaxTerms)]
	q := make(searchQuery, len(words))
	for i, w := range words {
		stem := bm25.Stem(w)
		same := []bm25.Alternative{{Text: stem, Weight: 1}}
		for _, s := range builtinSynonyms(stem) {
			same = append(same, bm25.Alternative{Text: s, Weight: synonymWeight})
		}
		for _, s := range also(w) {
			for _, s := range stems(s) {
				same = append(same, bm25.Alternative{Text: s, Weight: synonymWeight})
			}
		}
		q[i].Alternatives = same
	}
	return q
}

// in returns the query as an index is asked: a word that is not in it may be
// misspelt, or two in one.
func (q searchQuery) in(words *bm25.Index) []bm25.Term {
	terms := make([]bm25.Term, len(q))
	for i, t := range q {
		terms[i] = t
		if stem := t.Alternatives[0].Text; words.Frequency(stem) == 0 {
			same := append(t.Alternatives[:len(t.Alternatives):len(t.Alternatives)], words.Nearest(stem)...)
			for _, part := range words.Split(stem) {
				same = append(same, bm25.Alternative{Text: part, Weight: partWeight})
			}
			terms[i].Alternatives = same
		}
	}
	return terms
}
