package bm25

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// How much of a query counts. The rest is ignored.
const (
	// MaxTerms is how many terms of a query count.
	MaxTerms = 64
	// MaxAlternatives is how many alternatives of a term count.
	MaxAlternatives = 32
)

// A Term is one part of a query: alternatives of which any will do. A document scores by
// it what its best alternative scores there, and a part of what the others do.
type Term struct {
	// Alternatives are the texts, at most [MaxAlternatives]. Of those with the same
	// text the first counts.
	Alternatives []Alternative
	// Bonus lets the term count only for documents that a term before it has found.
	Bonus bool
}

// An Alternative is a text that stands for a term.
type Alternative struct {
	// Text is a term of the index.
	Text string
	// Weight is how much it counts that a document has it.
	Weight float64
}

// A Hit is a document that fits a query.
type Hit struct {
	// ID is the id of the document.
	ID string
	// Score says how well it fits: more than 0, and comparable within one search.
	Score float64
}

// Search returns the documents that fit a query, the best first and those of the
// same score by id, at most limit.
//
// At most [MaxTerms] terms of the query count.
func (ix *Index) Search(query []Term, limit int) []Hit {
	if limit <= 0 || len(ix.byID) == 0 {
		return nil
	}
	s := ix.borrow()
	most := 0.0
	for _, t := range query[:min(len(query), MaxTerms)] {
		for i, a := range t.Alternatives[:min(len(t.Alternatives), MaxAlternatives)] {
			if !slices.ContainsFunc(t.Alternatives[:i], func(other Alternative) bool { return other.Text == a.Text }) {
				ix.weigh(s, a)
			}
		}
		if !t.Bonus && len(t.Alternatives) > 0 {
			most += ix.cover(s, t.Alternatives[0])
		}
		ix.score(s, t.Bonus)
	}
	for _, d := range s.found {
		s.scores[d] *= math.Sqrt(uncovered + s.covered[d]/most)
		s.covered[d] = 0
	}
	hits := ix.best(s, limit)
	ix.scratch.Put(s)
	return hits
}

const (
	// shortField is the length of a field up to which its norm is computed ahead.
	shortField = 64
	// others is the part of their scores that alternatives but the best add.
	others = 0.3
	// uncovered is what the part of the query that a document has is raised by: one that has
	// all of the words is ahead of one that has a word often, but not by far.
	uncovered = 0.1
	// mostCovered bounds what a rare word of the query counts in that part.
	mostCovered = 5
)

// A scratch is what a search needs, kept for the next one. Its numbers of documents are 0
// between searches.
type scratch struct {
	norms []float64 // what an occurrence counts, by field and its length

	weights []float64 // of the documents, for the present alternative
	touched []int32   // the documents with one

	terms   []termScore // of the documents, for the present term
	matched []int32     // the documents with one

	scores  []float64 // of the documents, so far
	found   []int32   // the documents with one
	covered []float64 // how much of the query the documents have
}

// A termScore is what the alternatives of a term score in a document.
type termScore struct{ best, sum float64 }

// borrow returns a scratch that has room for all documents.
func (ix *Index) borrow() *scratch {
	s, _ := ix.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{norms: make([]float64, len(ix.fields)*(shortField+1))}
	}
	if len(s.weights) < len(ix.docs) {
		n := len(ix.docs)
		s.weights, s.terms, s.scores, s.covered = make([]float64, n), make([]termScore, n), make([]float64, n), make([]float64, n)
	}
	for f := range ix.fields {
		for length := range shortField + 1 {
			s.norms[f*(shortField+1)+length] = ix.norm(f, length)
		}
	}
	return s
}

// norm returns what an occurrence counts in a field of that length.
func (ix *Index) norm(field, length int) float64 {
	f := ix.fields[field]
	if ix.totals[field] == 0 {
		return f.Weight
	}
	average := float64(ix.totals[field]) / float64(len(ix.byID))
	return f.Weight / (1 - f.B + f.B*float64(length)/average)
}

// weigh gives each document that has an alternative its score for it.
func (ix *Index) weigh(s *scratch, a Alternative) {
	i, ok := ix.byText[a.Text]
	if !ok {
		return
	}
	t := &ix.terms[i]
	for _, p := range t.postings {
		field, length := int(p.field), int(ix.lengths[int(p.doc)*len(ix.fields)+int(p.field)])
		if length == 0 { // the document was removed
			continue
		}
		var norm float64
		if length <= shortField {
			norm = s.norms[field*(shortField+1)+length]
		} else {
			norm = ix.norm(field, length)
		}
		if s.weights[p.doc] == 0 {
			s.touched = append(s.touched, p.doc)
		}
		s.weights[p.doc] += norm * float64(p.count)
	}
	most := a.Weight * ix.rarity(t.docs) * (ix.k1 + 1)
	for _, d := range s.touched {
		w := s.weights[d]
		s.weights[d] = 0
		score := most * w / (ix.k1 + w)
		t := &s.terms[d]
		if t.best == 0 {
			s.matched = append(s.matched, d)
		}
		t.best = max(t.best, score)
		t.sum += score
	}
	s.touched = s.touched[:0]
}

// rarity returns how much a word counts that so many documents have.
func (ix *Index) rarity(docs int) float64 {
	have := float64(docs)
	return math.Log1p((float64(len(ix.byID)) - have + 0.5) / (have + 0.5))
}

// cover notes which documents have the present term, whose first alternative says how much
// of the query it is, and returns that.
func (ix *Index) cover(s *scratch, first Alternative) float64 {
	part := min(first.Weight*ix.rarity(ix.Frequency(first.Text)), mostCovered)
	for _, d := range s.matched {
		s.covered[d] += min(part, s.terms[d].best)
	}
	return part
}

// score makes what the alternatives of a term have scored part of the scores; if it
// is a bonus, of documents that have one.
func (ix *Index) score(s *scratch, bonus bool) {
	for _, d := range s.matched {
		t := s.terms[d]
		s.terms[d] = termScore{}
		if s.scores[d] == 0 {
			if bonus {
				continue
			}
			s.found = append(s.found, d)
		}
		s.scores[d] += t.best + others*(t.sum-t.best)
	}
	s.matched = s.matched[:0]
}

// best returns the hits, and leaves the scratch as it was.
func (ix *Index) best(s *scratch, limit int) []Hit {
	hits := make([]Hit, len(s.found))
	for i, d := range s.found {
		hits[i] = Hit{ix.docs[d].id, s.scores[d]}
		s.scores[d] = 0
	}
	s.found = s.found[:0]
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID)) })
	return hits[:min(len(hits), limit)]
}
