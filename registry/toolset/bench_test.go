package toolset_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

const manyToSearch = 10_000

var searchedFor = []string{"deleteInvoice", "remove invoices", "create calendar event", "which tickets are open", "delte invioce", "how do I export all shipments of a warehouse to a file"}

// BenchmarkSearch searches 10,000 tools, for one query after the other.
func BenchmarkSearch(b *testing.B) {
	r := manyTools(b, manyToSearch)
	found(b, r, toolset.Query{Text: "warm up"})
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		found(b, r, toolset.Query{Text: searchedFor[i%len(searchedFor)]})
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkSearchFirst is the first search of 10,000 tools, which reads them all. The
// memory is what the index keeps.
func BenchmarkSearchFirst(b *testing.B) {
	kept := 0.0
	for b.Loop() {
		b.StopTimer()
		r := manyTools(b, manyToSearch)
		before := heap()
		b.StartTimer()
		found(b, r, toolset.Query{Text: "remove invoices"})
		b.StopTimer()
		kept = float64(heap()-before) / manyToSearch
		runtime.KeepAlive(r)
		b.StartTimer()
	}
	b.ReportMetric(kept, "B/tool")
}

// BenchmarkSearchAfterChange is a search after one tool of 10,000 has changed.
func BenchmarkSearchAfterChange(b *testing.B) {
	r := manyTools(b, manyToSearch)
	found(b, r, toolset.Query{Text: "warm up"})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		mustReplace(b, r, "other", serverTool("other", "count", []string{"counts", "really counts"}[i%2]))
		found(b, r, toolset.Query{Text: "remove invoices"})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
