package ledger

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const benchTools = 10_000

func benchLedger(b *testing.B) (path string, l *Ledger, server *Server, entries []*Surface) {
	b.Helper()
	path = ledgerPath(b)
	l = openLedger(b, path, Pin)
	server = &Server{Name: "github", Fingerprint: "one"}
	var defs []*Tool
	for i := range benchTools {
		defs = append(defs, surfaceTool(fmt.Sprint("tool", i)))
	}
	entries = surfacesIn(defs...)
	assert.OK(b, l.Record(context.Background(), *server, entries))
	return path, l, server, entries
}

// BenchmarkLedger is what a ledger of 10,000 tools costs.
func BenchmarkLedger(b *testing.B) {
	ctx := context.Background()
	path, l, server, entries := benchLedger(b)
	info := assert.Value(os.Stat(path))(b)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(info.Size())
		for b.Loop() {
			openLedger(b, path, Pin)
		}
	})
	b.Run("judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, e := range entries {
				if l.Judge(*server, e) != nil {
					b.Fatal("quarantined")
				}
			}
		}
	})
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			assert.OK(b, l.Record(ctx, *server, entries))
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := openLedger(b, ledgerPath(b), Pin)
			assert.OK(b, l.Record(ctx, *server, entries))
		}
	})
	b.Run("judge pending", func(b *testing.B) {
		l := New(&Options{Mode: Review})
		assert.OK(b, l.Record(ctx, *server, entries))
		b.ReportAllocs()
		for b.Loop() {
			for _, e := range entries {
				if l.Judge(*server, e) == nil {
					b.Fatal("not quarantined")
				}
			}
		}
	})
	b.Run("reload", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			assert.OK(b, l.Reload(ctx))
		}
	})
	b.Run("approve", func(b *testing.B) {
		b.ReportAllocs()
		change := Change{Server: "github", Tool: "tool7", Hash: entries[7].Hash}
		for b.Loop() {
			assert.OK(b, l.Reject(ctx, "bench", change))
			assert.OK(b, l.Accept(ctx, "bench", change))
		}
	})
}

func BenchmarkSurface(b *testing.B) {
	def := surfaceTool("a")
	b.ReportAllocs()
	for b.Loop() {
		NewSurface(def)
	}
}
