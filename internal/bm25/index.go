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

	byText    map[string]int32 // place of a term in terms
	terms     []term
	freeTerms []int32 // places in terms without one

	byID     map[string]int32 // place of a document in docs
	docs     []document
	freeDocs []int32
	lengths  []int32 // of the fields of each document
	totals   []int64 // sum of the lengths, for each field

	scratch sync.Pool // of *scratch
}

// A term is a word that occurs in some document.
type term struct {
	text    string
	letters uint64 // see lettersOf
	docs    int    // how many documents have it
	lists   []list // sorted by field
}

// A list tells which documents have a term in a field.
type list struct {
	field    uint32
	postings []posting // in no order
}

// A posting says how often a document has a term in a field.
type posting struct {
	doc   int32
	count int32
}

type document struct {
	id   string
	refs []ref // its postings, sorted by list
}

// A ref tells where a posting of a document is.
type ref struct {
	list listKey
	at   int32
}

// A listKey names a list: the place of the term in terms, and the field.
type listKey uint64

func keyOf(term int32, field int) listKey { return listKey(term)<<32 | listKey(field) }

func (k listKey) term() int32   { return int32(k >> 32) }
func (k listKey) field() uint32 { return uint32(k) }

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
	ix.byText, ix.terms, ix.freeTerms = make(map[string]int32), nil, nil
	ix.byID, ix.docs, ix.freeDocs = make(map[string]int32), nil, nil
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
	fields = fields[:min(len(fields), len(ix.fields))]

	d := ix.newDocument(strings.Clone(id))
	var all []listKey // one for each word
	for f, texts := range fields {
		texts = texts[:min(len(texts), MaxWords)]
		before := len(all)
		for _, text := range texts {
			if text != "" {
				all = append(all, keyOf(ix.intern(text), f))
			}
		}
		length := len(all) - before
		ix.lengths[int(d)*len(ix.fields)+f] = int32(length)
		ix.totals[f] += int64(length)
	}
	slices.Sort(all)
	var refs []ref
	for i := 0; i < len(all); {
		key, n := all[i], 1
		for i+n < len(all) && all[i+n] == key {
			n++
		}
		t := &ix.terms[key.term()]
		if i == 0 || all[i-1].term() != key.term() {
			t.docs++
		}
		l := t.list(key.field())
		refs = append(refs, ref{key, int32(len(l.postings))})
		l.postings = append(l.postings, posting{d, int32(min(n, maxCount))})
		i += n
	}
	ix.docs[d].refs = slices.Clip(refs)
}

// list returns the list of that field, which there is from then on.
func (t *term) list(field uint32) *list {
	i, ok := slices.BinarySearchFunc(t.lists, field, func(l list, field uint32) int { return cmp.Compare(l.field, field) })
	if !ok {
		t.lists = slices.Insert(t.lists, i, list{field: field})
	}
	return &t.lists[i]
}

// newDocument returns the place of a document that has no terms yet.
func (ix *Index) newDocument(id string) int32 {
	d := int32(len(ix.docs))
	if n := len(ix.freeDocs); n > 0 {
		d, ix.freeDocs = ix.freeDocs[n-1], ix.freeDocs[:n-1]
	} else {
		ix.docs = append(ix.docs, document{})
		ix.lengths = append(ix.lengths, make([]int32, len(ix.fields))...)
	}
	ix.docs[d].id = id
	ix.byID[id] = d
	return d
}

// intern returns the place of the term of that text.
func (ix *Index) intern(text string) int32 {
	t, ok := ix.byText[text]
	if ok {
		return t
	}
	text = strings.Clone(text)
	fresh := term{text: text, letters: lettersOf(text)}
	if n := len(ix.freeTerms); n > 0 {
		t, ix.freeTerms = ix.freeTerms[n-1], ix.freeTerms[:n-1]
		ix.terms[t] = fresh
	} else {
		t = int32(len(ix.terms))
		ix.terms = append(ix.terms, fresh)
	}
	ix.byText[text] = t
	return t
}

// Remove removes the document of that id, if there is one.
func (ix *Index) Remove(id string) {
	d, ok := ix.byID[id]
	if !ok {
		return
	}
	if len(ix.byID) == 1 {
		ix.clear()
		return
	}
	refs := ix.docs[d].refs
	for i, r := range refs {
		if i == 0 || refs[i-1].list.term() != r.list.term() {
			ix.terms[r.list.term()].docs--
		}
		ix.drop(r)
	}
	delete(ix.byID, id)
	ix.docs[d] = document{}
	ix.freeDocs = append(ix.freeDocs, d)
	for f := range ix.fields {
		length := &ix.lengths[int(d)*len(ix.fields)+f]
		ix.totals[f] -= int64(*length)
		*length = 0
	}
}

// drop removes a posting; with the last one of a list the list, and with its last
// list the term. The last posting of the list takes its place.
func (ix *Index) drop(r ref) {
	t := &ix.terms[r.list.term()]
	l := t.list(r.list.field())
	last := len(l.postings) - 1
	if int(r.at) != last {
		moved := l.postings[last]
		l.postings[r.at] = moved
		refs := ix.docs[moved.doc].refs
		i, _ := slices.BinarySearchFunc(refs, r.list, func(r ref, key listKey) int { return cmp.Compare(r.list, key) })
		refs[i].at = r.at
	}
	l.postings = l.postings[:last]
	switch {
	case last > 0:
		if cap(l.postings) > 64 && last < cap(l.postings)/4 {
			l.postings = slices.Clone(l.postings)
		}
	case len(t.lists) > 1:
		t.lists = slices.DeleteFunc(t.lists, func(l list) bool { return len(l.postings) == 0 })
	default:
		delete(ix.byText, t.text)
		*t = term{}
		ix.freeTerms = append(ix.freeTerms, r.list.term())
	}
}
