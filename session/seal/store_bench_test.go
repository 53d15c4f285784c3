package seal_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// BenchmarkLoad30000 loads from a store of files with the sessions of 10,000 users
// at 3 servers each. It reports the median and the 99th percentile, and how much
// the heap has grown since before the store was opened. Making the store takes a
// while, as each save is synced.
func BenchmarkLoad30000(b *testing.B) {
	const users, servers = 10_000, 3
	ctx, dir := b.Context(), b.TempDir()
	open := func() *seal.Store {
		return assert.Value(filestore.Open(ctx, dir, &filestore.Options{
			Keys: seal.StaticKey(auth.Secret(strings.Repeat("k", seal.KeySize))),
		}))(b)
	}
	name := func(i int) string { return fmt.Sprintf("user%d.server%d", i/servers, i%servers) }
	data := []byte(strings.Repeat("token", 500))

	s := open()
	var wg sync.WaitGroup
	const hands = 16
	for hand := range hands {
		wg.Go(func() {
			for i := hand; i < users*servers; i += hands {
				if _, err := s.Save(ctx, name(i), data, ""); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	assert.OK(b, s.Close())
	before := heap()
	s = open()
	defer s.Close()
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		i := rand.IntN(users * servers)
		start := time.Now()
		assert.Value(s.Load(ctx, name(i), ""))(b)
		took = append(took, time.Since(start))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(max(0, int64(heap())-int64(before)-int64(cap(took)*8))), "heap-B")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
