package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

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
		ix.Search(query, 10, nil)
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
