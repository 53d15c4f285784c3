package toolrank

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

// A Query is what is asked for: its different words, each with those that mean the same.
type Query struct {
	// terms begin with the words of the request. The first alternative of each is the word.
	terms   []bm25.Term
	request int  // how many
	reads   bool // nothing is said of what is to be done
	changes bool // something is to be changed
	deletes bool // something is to be deleted
	idle    bool // there are no words but stop words
}

// How much of a query is read.
const (
	maxQueryText  = 16 << 10 // bytes, the last ones
	maxQueryWords = 256      // different words
	// maxRequest is how many different words make up a request, however they are parted.
	// Of more, as of a conversation, it is the last sentence and the first, with those
	// beside them until each has minRequest words.
	maxRequest = 24
	minRequest = 3
	// MaxNear is how many words of a query may be misspelt: what they may mean is
	// looked for among all words of all tools.
	MaxNear = 8
)

// How much other words count than those of the last sentence.
const (
	firstWeight   = 0.6 // of the first sentence of a conversation
	amidWeight    = 0.05
	synonymWeight = 0.6
	slipWeight    = 0.7 // of a word that is a slip away
	partWeight    = 0.4 // of each part of a word that is two words in one
	listWeight    = 0.2 // of list, if nothing is said of what is to be done
	readWeight    = 0.1 // of other words for reading, then
)

// NewQuery takes a text apart. A query of stop words alone looks for a tool that is called by
// them, and nothing else.
func NewQuery(text string) Query {
	text = strings.ToValidUTF8(text[max(len(text)-maxQueryText, 0):], " ")
	if all := bm25.Words(text); isStopWords(all) {
		name := bm25.Alternative{Text: strings.Join(all, "_"), Weight: 1}
		return Query{terms: []bm25.Term{{Alternatives: []bm25.Alternative{name}}}, request: 1, idle: true}
	}
	last, first, amid := queryWords(text)
	q := Query{request: len(last) + len(first)}
	q.idle = q.request == 0
	inFirst, inAmid := firstWeight, amidWeight
	if q.request+len(amid) <= maxRequest {
		q.request += len(amid)
		inFirst, inAmid = 1, 1
	}
	for _, part := range []struct {
		words  []string
		weight float64
	}{{last, 1}, {first, inFirst}, {amid, inAmid}} {
		for _, w := range part.words {
			if len(q.terms) < q.request {
				q.terms = append(q.terms, newTerm(w, part.weight))
				continue
			}
			word := bm25.Alternative{Text: bm25.Stem(w), Weight: part.weight}
			q.terms = append(q.terms, bm25.Term{Alternatives: []bm25.Alternative{word}})
		}
	}
	asked := func(is func(stem string) bool) bool {
		return slices.ContainsFunc(q.terms[:q.request], func(t bm25.Term) bool { return is(t.Alternatives[0].Text) })
	}
	q.reads, q.deletes = !asked(isVerb), asked(isDeletion)
	q.changes = asked(func(stem string) bool { return isVerb(stem) && !isReading(stem) })
	return q
}

// newTerm returns a word and those that mean the same.
func newTerm(word string, weight float64) bm25.Term {
	stem := bm25.Stem(word)
	same := []bm25.Alternative{{Text: stem, Weight: weight}}
	add := func(stems []string) {
		for _, s := range stems {
			same = append(same, bm25.Alternative{Text: s, Weight: weight * synonymWeight})
		}
	}
	add(builtinSynonyms(stem))
	add(derived(stem))
	return bm25.Term{Alternatives: same}
}

// sentenceEnds are the characters that end a sentence, or a line.
const sentenceEnds = "\n.?!;。？！"

// queryWords returns the different words of a query that say something: those of its last
// sentence, of its first one, and of those between them.
func queryWords(text string) (last, first, amid []string) {
	ends := func(r rune) bool { return strings.ContainsRune(sentenceEnds, r) }
	seen := map[string]bool{}
	take := func(words []string, sentence string) []string {
		for _, w := range contentWords(sentence) {
			if stem := bm25.Stem(w); !seen[stem] {
				seen[stem] = true
				words = append(words, w)
			}
		}
		return words
	}
	for len(last) < minRequest && text != "" {
		at := strings.LastIndexFunc(strings.TrimRightFunc(text, ends), ends) + 1
		last, text = take(last, text[at:]), text[:at]
	}
	for len(first) < minRequest && text != "" {
		text = strings.TrimLeftFunc(text, ends)
		at := strings.IndexFunc(text, ends)
		if at < 0 {
			at = len(text)
		}
		first, text = take(first, text[:at]), text[at:]
	}
	amid = take(nil, text)
	return last[:min(len(last), maxRequest)], first[:min(len(first), maxRequest/2)], amid[:min(len(amid), maxQueryWords)]
}

// contentWords returns the words of a text that say something.
func contentWords(text string) []string {
	all := bm25.Words(text)
	words := make([]string, 0, len(all))
	for i := 0; i < len(all); i++ {
		if i+1 < len(all) {
			if word := phrase(all[i], all[i+1]); word != "" {
				words = append(words, word)
				i++
				continue
			}
		}
		if !isStopWord(all[i]) {
			words = append(words, all[i])
		}
	}
	return words
}

// IsIdle reports whether the query says nothing of what a tool does: it has no words, or stop
// words alone.
func (q Query) IsIdle() bool { return q.idle }

// Changes reports whether the query asks for more than to find and to read.
func (q Query) Changes() bool { return q.changes }

// Deletes reports whether the query asks for something to be deleted.
func (q Query) Deletes() bool { return q.deletes }

// In returns the query as an index is asked: the words of the request, and of the others the
// rarest that the index has. A word of the request that it has not may be misspelt, or two
// in one. Without terms there is nothing to be found: the index has no word of the request,
// nor for most of them a near one, as if the query is in another language than the tools.
func (q Query) In(words *bm25.Index) []bm25.Term {
	if q.idle && !slices.ContainsFunc(q.terms, func(t bm25.Term) bool { return isKnown(t, words) }) {
		return nil
	}
	terms := make([]bm25.Term, 0, bm25.MaxTerms)
	known, guessed, unknown := 0, 0, 0
	for _, t := range q.terms[:q.request] {
		if isKnown(t, words) {
			known++
		}
		stem := t.Alternatives[0].Text
		if words.Frequency(stem) > 0 || unknown == MaxNear {
			terms = append(terms, t)
			continue
		}
		unknown++
		near, parts := nearWords(t, words), words.Split(stem)
		if near != nil || parts != nil {
			guessed++
		}
		if near != nil || isKnown(t, words) || parts == nil {
			t.Alternatives = slices.Concat(t.Alternatives, near)
			terms = append(terms, t)
			continue
		}
		for _, part := range parts {
			terms = append(terms, bm25.Term{Alternatives: []bm25.Alternative{{Text: part, Weight: partWeight}}})
		}
	}
	if known == 0 && 2*guessed <= q.request {
		return nil
	}
	if q.reads {
		terms = append(terms, bm25.Term{Bonus: true, Alternatives: []bm25.Alternative{
			{Text: "list", Weight: listWeight}, {Text: "get", Weight: readWeight}, {Text: "search", Weight: readWeight},
		}})
	}
	return append(terms, rarest(q.terms[q.request:], words, bm25.MaxTerms-len(terms))...)
}

// nearWords returns what a word may mean that an index does not have: words of the index that
// it is near to, and those that mean the same as the nearest, or as one of the synonyms. If
// the index has a word that means the same, it is hardly misspelt.
func nearWords(t bm25.Term, words *bm25.Index) []bm25.Alternative {
	stem := t.Alternatives[0].Text
	near := words.Nearest(stem)
	if isKnown(t, words) {
		for i := range near {
			near[i].Weight /= 2
		}
		return near
	}
	word, weight := "", slipWeight
	if near != nil {
		word, weight = near[0].Text, near[0].Weight
	} else {
		word = misspelt(stem)
	}
	for _, s := range builtinSynonyms(word) {
		near = append(near, bm25.Alternative{Text: s, Weight: weight * synonymWeight})
	}
	return near
}

// misspelt returns the first word with synonyms that a stem is a slip away from; "" if there
// is none.
func misspelt(stem string) string {
	for word := range strings.FieldsSeq(synonyms) {
		if bm25.IsSlip(stem, word) {
			return word
		}
	}
	return ""
}

// isKnown reports whether an index has a word, or one that means the same.
func isKnown(t bm25.Term, words *bm25.Index) bool {
	return slices.ContainsFunc(t.Alternatives, func(a bm25.Alternative) bool { return words.Frequency(a.Text) > 0 })
}

// rarest returns the terms that an index has, the rarest first, at most n.
func rarest(terms []bm25.Term, words *bm25.Index, n int) []bm25.Term {
	frequency := func(t bm25.Term) int { return words.Frequency(t.Alternatives[0].Text) }
	known := slices.DeleteFunc(slices.Clone(terms), func(t bm25.Term) bool { return frequency(t) == 0 })
	slices.SortStableFunc(known, func(a, b bm25.Term) int { return cmp.Compare(frequency(a), frequency(b)) })
	return known[:max(min(len(known), n), 0)]
}

// IsDestructive reports whether a tool of that name deletes something.
func IsDestructive(name string) bool {
	return slices.ContainsFunc(bm25.Words(name), func(w string) bool { return isDeletion(bm25.Stem(w)) })
}

// IsChanging reports whether a tool of that name changes something: it has a word for that,
// and none for reading.
func IsChanging(name string) bool {
	changes := false
	for _, w := range bm25.Words(name) {
		stem := bm25.Stem(w)
		if isReading(stem) {
			return false
		}
		changes = changes || isDeletion(stem) || isChange(stem)
	}
	return changes
}
