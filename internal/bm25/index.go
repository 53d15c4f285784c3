package bm25

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// MaxWords is how many terms of a field count. Later terms are ignored.
const MaxWords = 4096

// maxCount is how many occurrences of a term in a field count. Later ones only make the
// field longer, so that a document gains nothing by repeating itself.
const maxCount = 4

// Options say how an [Index] ranks. The zero value means the defaults.
type Options struct {
	// Fields are the parts of a document. Default: one, with B of 0.75.
	Fields []Field
	// K1 says how much a word counts that occurs again: the higher, the more.
	// Default: 1.2.
	K1 float64
}

// A Field is a part of a document.
type Field struct {
	// Weight is how much an occurrence in the field counts.
	Weight float64
	// B says how much less it counts in a field that is longer than the average:
	// from 0, not at all, to 1, in inverse proportion.
	B float64
}

// An Index ranks documents. [New] makes one; it must not be copied.
//
// [Index.Put] and [Index.Remove] must run alone. All other methods are safe for
// concurrent use with each other.
type Index struct {
	fields []Field
	k1     float64

	byText map[string]int32 // place of a term in terms
	terms  []term           // some without documents

	byID    map[string]int32 // place of a document in docs
	docs    []document       // with those that were removed, until these are the larger half
	lengths []int32          // of the fields of each document; 0 for one that was removed
	totals  []int64          // sum of the lengths, for each field

	scratch sync.Pool // of *scratch
}

// A term is a word that occurs in some document.
type term struct {
	text     string
	letters  uint64    // see lettersOf
	docs     int       // how many documents have it
	postings []posting // those of a document in a row, by field
}

// A posting says how often a document has a term in a field.
type posting struct {
	doc          int32
	field, count uint16
}

type document struct {
	id    string
	words []word // those of a term in a row, by field; none if it was removed
}

// A word says how often the document has a term in a field.
type word struct {
	term         int32
	field, count uint16
}

// New returns an index without documents.
func New(opts Options) *Index {
	ix := &Index{fields: opts.Fields, k1: cmp.Or(opts.K1, 1.2)}
	if len(ix.fields) == 0 {
		ix.fields = []Field{{Weight: 1, B: 0.75}}
	}
	ix.clear()
	return ix
}

// clear removes all documents, and gives back their memory.
func (ix *Index) clear() {
	ix.byText, ix.terms = make(map[string]int32), nil
	ix.byID, ix.docs = make(map[string]int32), nil
	ix.lengths, ix.totals = nil, make([]int64, len(ix.fields))
}

// Len returns how many documents there are.
func (ix *Index) Len() int { return len(ix.byID) }

// Frequency returns how many documents have the term.
func (ix *Index) Frequency(text string) int {
	t, ok := ix.byText[text]
	if !ok {
		return 0
	}
	return ix.terms[t].docs
}

// Put adds a document, in place of the one of that id. It has for each field, in the
// order of [Options], the terms in it; those without a text, those after the first
// [MaxWords] and fields that the index does not have are ignored. The index keeps
// none of the slices, nor what the terms are part of.
func (ix *Index) Put(id string, fields ...[]string) {
	ix.Remove(id)
	lengths := make([]int32, len(ix.fields))
	var all []uint64 // the term and the field of each word
	for f, texts := range fields[:min(len(fields), len(ix.fields))] {
		for _, text := range texts[:min(len(texts), MaxWords)] {
			if text != "" {
				all = append(all, uint64(ix.intern(text))<<32|uint64(f))
				lengths[f]++
			}
		}
	}
	slices.Sort(all)
	words := make([]word, 0, len(all))
	for i, n := 0, 0; i < len(all); i += n {
		for n = 1; i+n < len(all) && all[i+n] == all[i]; {
			n++
		}
		words = append(words, word{int32(all[i] >> 32), uint16(all[i]), uint16(min(n, maxCount))})
	}
	ix.add(document{strings.Clone(id), slices.Clone(words)}, lengths)
}

// add adds a document of an id that there is none of, with the lengths of its fields.
func (ix *Index) add(d document, lengths []int32) {
	at := int32(len(ix.docs))
	ix.byID[d.id] = at
	ix.docs = append(ix.docs, d)
	ix.lengths = append(ix.lengths, lengths...)
	ix.count(d, lengths, 1)
	for _, w := range d.words {
		t := &ix.terms[w.term]
		t.postings = append(t.postings, posting{at, w.field, w.count})
	}
}

// count counts a document once more, or once less.
func (ix *Index) count(d document, lengths []int32, by int) {
	for f, length := range lengths {
		ix.totals[f] += int64(by) * int64(length)
	}
	for i, w := range d.words {
		if i == 0 || d.words[i-1].term != w.term {
			ix.terms[w.term].docs += by
		}
	}
}

// intern returns the place of the term of that text.
func (ix *Index) intern(text string) int32 {
	t, ok := ix.byText[text]
	if !ok {
		text = strings.Clone(text)
		t = int32(len(ix.terms))
		ix.terms = append(ix.terms, term{text: text, letters: lettersOf(text)})
		ix.byText[text] = t
	}
	return t
}

// Remove removes the document of that id, if there is one.
func (ix *Index) Remove(id string) {
	d, ok := ix.byID[id]
	if !ok {
		return
	}
	lengths := ix.lengths[int(d)*len(ix.fields):][:len(ix.fields)]
	ix.count(ix.docs[d], lengths, -1)
	clear(lengths)
	ix.docs[d] = document{}
	delete(ix.byID, id)
	if len(ix.docs) > 2*len(ix.byID) {
		ix.compact()
	}
}

// compact gives back the memory of the documents that were removed, and of their words.
func (ix *Index) compact() {
	docs, terms, lengths, byID := ix.docs, ix.terms, ix.lengths, ix.byID
	ix.clear()
	for i, d := range docs {
		if at, ok := byID[d.id]; !ok || int(at) != i {
			continue
		}
		for j, w := range d.words {
			d.words[j].term = ix.intern(terms[w.term].text)
		}
		ix.add(d, lengths[i*len(ix.fields):][:len(ix.fields)])
	}
}
