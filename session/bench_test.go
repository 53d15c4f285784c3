// Tests of handler.go: what a request costs.

package session

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// BenchmarkAuthenticate lets requests of 10,000 users out, and reports what a
// session in memory takes.
func BenchmarkAuthenticate(b *testing.B) {
	const users = 10_000
	config := &auth.Config{Server: "s", URL: "http://127.0.0.1:1/mcp"}
	store := Memory()
	opts := &Options{Config: func(Key) (*auth.Config, error) { return config, nil }}
	m := assert.Value(NewManager(store, opts))(b)
	keys := make([]Key, users)
	for i := range keys {
		keys[i] = Key{User: fmt.Sprintf("user %d", i), Server: "s"}
		assert.OK(b, m.SetToken(b.Context(), keys[i], auth.Secret("token of "+keys[i].User)))
	}
	_ = m.Close()
	m = nil
	before := heap()
	m = assert.Value(NewManager(store, opts))(b)
	defer func() { _ = m.Close() }()
	handlers := make([]*Handler, users)
	for i, key := range keys {
		handlers[i] = m.Handler(key)
		assert.OK(b, handlers[i].Authenticate(b.Context(), http.Header{}, http.MethodPost, config.URL, nil))
	}
	perSession := float64(heap()-before) / users
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		header := http.Header{}
		for i := 0; pb.Next(); i++ {
			assert.OK(b, handlers[i%users].Authenticate(b.Context(), header, http.MethodPost, config.URL, nil))
		}
	})
	b.ReportMetric(perSession, "B/session")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
