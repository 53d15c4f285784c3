package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A model computes the same scores from the documents, the plain way.
type model struct {
	opts Options
	docs map[string][][]string
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func (m *model) search(query []Term, limit int) []Hit {
	var hits []Hit
	for id := range m.docs {
		score, covered, most := 0.0, 0.0, 0.0
		for _, t := range query {
			best, sum := 0.0, 0.0
			for _, a := range t.Alternatives {
				if w := m.weight(id, a.Text); w > 0 {
					s := a.Weight * m.rarity(a.Text) * w * (m.opts.K1 + 1) / (m.opts.K1 + w)
					best = max(best, s)
					sum += s
				}
			}
			if !t.Bonus {
				part := min(t.Alternatives[0].Weight*m.rarity(t.Alternatives[0].Text), 5)
				most += part
				covered += min(part, best)
			}
			if score > 0 || !t.Bonus {
				score += best + 0.3*(sum-best)
			}
		}
		if score > 0 {
			hits = append(hits, Hit{id, score * math.Sqrt(0.1+covered/most)})
		}
	}
	sort.Slice(hits, func(i, j int) bool {
		if math.Abs(hits[i].Score-hits[j].Score) > 1e-9 {
			return hits[i].Score > hits[j].Score
		}
		return hits[i].ID < hits[j].ID
	})
	return hits[:min(limit, len(hits))]
}

func (m *model) rarity(word string) float64 {
	have := 0
	for id := range m.docs {
		if m.weight(id, word) > 0 {
			have++
		}
	}
	return math.Log(1 + (float64(len(m.docs)-have)+0.5)/(float64(have)+0.5))
}

func (m *model) weight(id, word string) float64 {
	sum := 0.0
	for f, field := range m.opts.Fields {
		if f >= len(m.docs[id]) {
			continue
		}
		total := 0
		for _, doc := range m.docs {
			if f < len(doc) {
				total += len(doc[f])
			}
		}
		average := float64(total) / float64(len(m.docs))
		count := 0
		for _, text := range m.docs[id][f] {
			if text == word {
				count++
			}
			if text == word && count <= 4 {
				sum += field.Weight / (1 - field.B + field.B*float64(len(m.docs[id][f]))/average)
			}
		}
	}
	return sum
}

func randomText(r *rand.Rand) []string {
	var text []string
	for range r.IntN(12) {
		text = append(text, fmt.Sprintf("w%d", int(math.Exp(r.Float64()*3.5))))
	}
	if r.IntN(40) == 0 {
		for range 100 {
			text = append(text, "w1")
		}
	}
	return text
}

// TestChanges: whatever was put and removed, an index answers as the plain model
// does, and bit for bit as an index of the same documents built anew.
func TestChanges(t *testing.T) {
	for seed := range uint64(assert.Cases(2, 12)) {
		r := rand.New(rand.NewPCG(seed, 7))
		opts := Options{K1: 0.5 + r.Float64(), Fields: []Field{{3, 0.2}, {1, 0.75}, {0.5, 1}, {2, 0}}}
		m := &model{opts, map[string][][]string{}}
		ix := New(opts)
		for step := range 300 {
			id := fmt.Sprintf("d%d", r.IntN(25))
			switch {
			case r.IntN(100) == 0:
				for id := range m.docs {
					ix.Remove(id)
				}
				clear(m.docs)
			case r.IntN(3) == 0:
				delete(m.docs, id)
				ix.Remove(id)
			default:
				var fields [][]string
				for range r.IntN(5) {
					fields = append(fields, randomText(r))
				}
				m.docs[id] = fields
				ix.Put(id, fields...)
			}
			if step%10 != 0 {
				continue
			}
			anew := New(opts)
			ids := make([]string, 0, len(m.docs))
			for id := range m.docs {
				ids = append(ids, id)
			}
			r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			for _, id := range ids {
				anew.Put(id, m.docs[id]...)
			}
			var query []Term
			for range 1 + r.IntN(4) {
				var term Term
				for _, n := range r.Perm(35)[:1+r.IntN(3)] {
					term.Alternatives = append(term.Alternatives, Alternative{fmt.Sprintf("w%d", n), 0.2 + r.Float64()})
				}
				term.Bonus = r.IntN(4) == 0
				query = append(query, term)
			}
			limit := 1 + r.IntN(30)
			got, again, want := ix.Search(query, limit), anew.Search(query, limit), m.search(query, limit)
			assert.Equal(t, fmt.Sprint(got), fmt.Sprint(again), "seed %d, step %d: after changes, and built anew", seed, step)
			assert.Equal(t, len(got), len(want), "seed %d, step %d", seed, step)
			assert.Equal(t, ix.Len(), len(m.docs), "seed %d, step %d", seed, step)
			for i := range got {
				if got[i].ID != want[i].ID || math.Abs(got[i].Score-want[i].Score) > 1e-12*want[i].Score {
					t.Fatalf("seed %d, step %d, hit %d: %v, want %v", seed, step, i, got[i], want[i])
				}
			}
			for n := range 40 {
				text := fmt.Sprintf("w%d", n)
				assert.Equal(t, ix.Frequency(text), anew.Frequency(text))
				assert.Equal(t, fmt.Sprint(ix.Nearest(text)), fmt.Sprint(anew.Nearest(text)), "nearest of %s", text)
			}
		}
	}
}

// TestForgets: nothing is left of documents that are gone but in as many as stay.
func TestForgets(t *testing.T) {
	ix := New(Options{})
	ix.Put("stays", []string{"one", "two"})
	for i := range 1000 {
		ix.Put(fmt.Sprint(i), []string{"two", fmt.Sprintf("only%d", i)})
	}
	for i := range 1000 {
		ix.Remove(fmt.Sprint(i))
		assert.False(t, len(ix.docs) > 2*ix.Len(), "%d documents are kept for %d", len(ix.docs), ix.Len())
	}
	assert.False(t, len(ix.byText) > 3 || len(ix.terms) > 3, "%d terms are kept", len(ix.byText))
	assert.Equal(t, ix.Frequency("two"), 1)
	for range 1000 {
		ix.Put("stays", []string{"three"})
	}
	assert.False(t, len(ix.terms) > 3 || len(ix.terms[ix.byText["three"]].postings) > 2, "more is kept than is there")
	ix.Remove("stays")
	assert.Equal(t, cap(ix.docs)+cap(ix.terms), 0, "memory of an empty index")
	assert.Equal(t, ix.totals[0], 0, "words of an empty index")
}

// TestKeepsNoText: the index does not hold on to the text that a term is part of.
func TestKeepsNoText(t *testing.T) {
	ix := New(Options{})
	word := strings.Repeat("search", 1)
	ix.Put("a", []string{word})
	assert.False(t, unsafe.StringData(ix.terms[ix.byText["search"]].text) == unsafe.StringData(word), "the text is kept")
	fields := []string{"one"}
	ix.Put("b", fields)
	fields[0] = "two"
	assert.Equal(t, ix.Frequency("one"), 1)
	assert.Equal(t, ix.Frequency("two"), 0)
}

func terms(words ...string) []Term {
	var query []Term
	for _, w := range words {
		query = append(query, Term{Alternatives: []Alternative{{Text: w, Weight: 1}}})
	}
	return query
}

func ids(hits []Hit) string {
	var all []string
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return strings.Join(all, " ")
}

func TestSearch(t *testing.T) {
	ix := New(Options{Fields: []Field{{Weight: 3, B: 0.5}, {Weight: 1, B: 0.75}}})
	ix.Put("name", []string{"delete", "invoice"}, []string{"gone"})
	ix.Put("text", []string{"gone"}, []string{"delete", "invoice"})
	ix.Put("b", []string{"same"})
	ix.Put("a", []string{"same"})
	ix.Put("many", nil, slices.Repeat([]string{"thing"}, 5))
	ix.Put("rare", nil, []string{"thing", "unique"})
	for _, c := range []struct {
		query []Term
		limit int
		want  string
	}{
		{terms("delete", "invoice"), 5, "name text"}, {terms("gone"), 5, "text name"}, {terms("same"), 5, "a b"},
		{terms("same"), 1, "a"}, {terms("thing", "unique"), 5, "rare many"}, {terms("nothing"), 5, ""},
		{terms(""), 5, ""}, {nil, 5, ""}, {terms("same"), 0, ""}, {terms("same"), -1, ""},
		{[]Term{{Alternatives: []Alternative{{"unique", 0.1}, {"gone", 1}}}}, 5, "text name rare"},
		{[]Term{{}}, 5, ""},
		{[]Term{{Alternatives: []Alternative{{"same", 1}}, Bonus: true}}, 5, ""},
		{[]Term{{Alternatives: []Alternative{{"thing", 0.001}}}, {Alternatives: []Alternative{{"unique", 1}}, Bonus: true}}, 5, "rare many"},
	} {
		assert.Equal(t, ids(ix.Search(c.query, c.limit)), c.want, "%v", c.query)
	}
	// Of two texts the same, the first counts, and only once.
	one := ix.Search([]Term{{Alternatives: []Alternative{{"same", 0.5}}}}, 1)
	assert.Equal(t, one[0], ix.Search([]Term{{Alternatives: []Alternative{{"same", 0.5}, {"same", 7}}}}, 1)[0])
}

// TestFieldLengths: a field counts by its length, whether its norm is kept or not.
func TestFieldLengths(t *testing.T) {
	ix := New(Options{})
	for n := range 2 * shortField {
		ix.Put(fmt.Sprintf("%03d", n+1), slices.Concat([]string{"one"}, slices.Repeat([]string{"other"}, n)))
	}
	hits := ix.Search(terms("one"), 3*shortField)
	for i, h := range hits {
		if h.ID != fmt.Sprintf("%03d", i+1) || i > 0 && h.Score >= hits[i-1].Score {
			t.Fatalf("hit %d is %v, want the shorter before", i, h)
		}
	}
}

func TestBounds(t *testing.T) {
	ix := New(Options{})
	long := make([]string, 3*MaxWords)
	for i := range long {
		long[i] = fmt.Sprint("w", i)
	}
	ix.Put("long", long)
	assert.Equal(t, len(ix.byText), MaxWords, "terms")
	query := terms(long...)
	assert.Equal(t, len(ix.Search(query[MaxTerms:], 1)), 1, "a long query finds nothing")
	query[MaxTerms] = Term{Alternatives: []Alternative{{Text: "last", Weight: 1}}}
	ix.Put("last", []string{"last"})
	assert.Equal(t, ids(ix.Search(query, 9)), "long", "%d", MaxTerms)
}

// TestConcurrentSearch: searches run side by side.
func TestConcurrentSearch(t *testing.T) {
	ix := New(Options{})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		ix.Put(fmt.Sprint(i), randomText(r))
	}
	want := ix.Search(terms("w1", "w5", "w9"), 10)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				assert.Equal(t, fmt.Sprint(ix.Search(terms("w1", "w5", "w9"), 10)), fmt.Sprint(want))
				ix.Nearest("w55")
				ix.Search(terms("w2"), 3)
			}
		})
	}
	wg.Wait()
}

// A bonus finds nothing by itself, and moves what is found.
func TestSearchBonus(t *testing.T) {
	ix := New(Options{})
	ix.Put("a", []string{"note", "read"})
	ix.Put("b", []string{"note", "list"})
	ix.Put("c", []string{"mail", "list"})
	term := func(text string, bonus bool) Term {
		return Term{Alternatives: []Alternative{{Text: text, Weight: 1}}, Bonus: bonus}
	}
	for _, test := range []struct {
		query []Term
		want  []string
	}{
		{[]Term{term("note", false)}, []string{"a", "b"}},
		{[]Term{term("note", false), term("list", true)}, []string{"b", "a"}},
		{[]Term{term("list", true)}, nil},
		{[]Term{term("list", true), term("note", false)}, []string{"a", "b"}},
	} {
		var got []string
		for _, h := range ix.Search(test.query, 9) {
			got = append(got, h.ID)
		}
		assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", test.want), "%v", test.query)
	}
}

// tools returns an index like that of n tools: five fields of some 80 words, of a
// vocabulary in which few words are frequent.
func tools(n int) *Index {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("word%d", int(math.Exp(r.Float64()*math.Log(8000)))) }
	text := func(n int) []string {
		var words []string
		for range n {
			words = append(words, word())
		}
		return words
	}
	ix := New(Options{Fields: []Field{{5, 0.3}, {3, 0.3}, {1, 0.7}, {1, 0.7}, {1, 0.3}}})
	for i := range n {
		ix.Put(fmt.Sprintf("server%d__tool%d", i%50, i), text(3), text(3), text(20+r.IntN(20)), text(30+r.IntN(20)), text(1))
	}
	return ix
}

func BenchmarkSearch(b *testing.B) {
	ix := tools(10_000)
	query := []Term{
		{Alternatives: []Alternative{{"word1", 1}, {"word30", 0.5}, {"word31", 0.5}}}, // frequent: in most documents
		{Alternatives: []Alternative{{"word100", 1}, {"word101", 0.5}}},
		{Alternatives: []Alternative{{"word7000", 1}}},
		{Alternatives: []Alternative{{"word20", 1}}},
	}
	b.ReportAllocs()
	for b.Loop() {
		ix.Search(query, 10)
	}
}

func BenchmarkNearest(b *testing.B) {
	ix := tools(10_000)
	b.ReportAllocs()
	for b.Loop() {
		ix.Nearest("wrod7000")
	}
	b.ReportMetric(float64(len(ix.byText)), "terms")
}

func BenchmarkPut(b *testing.B) {
	ix := tools(10_000)
	words := Words("createIssue Create an issue in a repository of yours, with labels, assignees and a milestone; owner repo title body")
	b.ReportAllocs()
	for b.Loop() {
		ix.Put("server7__tool7", words[:2], nil, words)
	}
}

func BenchmarkWords(b *testing.B) {
	const text = "createIssue Create an issue in a GitHub repository of yours, with labels, assignees and a milestone; owner repo title body"
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for _, w := range Words(text) {
			Stem(w)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ix := tools(10_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		ix.Len()
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/10_000, "bytes/doc")
	runtime.KeepAlive(ix)
}
