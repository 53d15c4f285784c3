package toolrank

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

// A searchQuery is the text of a registry.Query: its words, each with those that mean the
// same.
type Query []bm25.Term

// maxQueryText is how much of a query is read, in bytes.
const maxQueryText = 4 << 10

// MaxNear is how many words of a query may be misspelt: what they may mean is
// looked for among all words of all tools.
const MaxNear = 8

// How much other words count than that of the query.
const (
	synonymWeight = 0.55
	partWeight    = 0.4 // of each part of a word that is two words in one
	listWeight    = 0.2 // of list, if nothing is said of what is to be done
	readWeight    = 0.1 // of other words for reading, then
)

// NewQuery takes a text apart. Also gives synonyms beside the built-in ones.
func NewQuery(text string, also func(word string) []string) Query {
	all := bm25.Words(strings.ToValidUTF8(text[:min(len(text), maxQueryText)], " "))
	words := make([]string, 0, len(all))
	for i := 0; i < len(all); i++ {
		if i+1 < len(all) {
			if meant := phrase(all[i], all[i+1]); meant != "" {
				words = append(words, meant)
				i++
				continue
			}
		}
		if !isStopWord(all[i]) {
			words = append(words, all[i])
		}
	}
	if len(words) == 0 {
		words = all
	}
	words = words[:min(len(words), bm25.MaxTerms)]
	q := make(Query, len(words))
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
	if len(q) > 0 && !slices.ContainsFunc(q, func(t bm25.Term) bool { return isVerb(t.Alternatives[0].Text) }) {
		q = append(q, bm25.Term{Bonus: true, Alternatives: []bm25.Alternative{
			{Text: "list", Weight: listWeight}, {Text: "get", Weight: readWeight}, {Text: "search", Weight: readWeight},
		}})
	}
	return q
}

// In returns the query as an index is asked: a word that is not in it may be
// misspelt, or two in one.
func (q Query) In(words *bm25.Index) []bm25.Term {
	terms := make([]bm25.Term, 0, len(q)+1)
	unknown := 0
	for _, t := range q {
		stem := t.Alternatives[0].Text
		if t.Bonus || words.Frequency(stem) > 0 || unknown == MaxNear {
			terms = append(terms, t)
			continue
		}
		unknown++
		same := append(t.Alternatives[:len(t.Alternatives):len(t.Alternatives)], words.Nearest(stem)...)
		if parts := words.Split(stem); len(same) == 1 {
			for _, part := range parts {
				terms = append(terms, bm25.Term{Alternatives: []bm25.Alternative{{Text: part, Weight: partWeight}}})
			}
			continue
		}
		terms = append(terms, bm25.Term{Alternatives: same})
	}
	return terms
}
