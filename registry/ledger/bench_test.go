package ledger

import (
	"context"
	"fmt"
	"os"
	"testing"
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
	if err := l.Record(context.Background(), *server, entries); err != nil {
		b.Fatal(err)
	}
	return path, l, server, entries
}

// BenchmarkLedger is what a ledger of 10,000 tools costs.
func BenchmarkLedger(b *testing.B) {
	ctx := context.Background()
	path, l, server, entries := benchLedger(b)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
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
			if err := l.Record(ctx, *server, entries); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := openLedger(b, ledgerPath(b), Pin)
			if err := l.Record(ctx, *server, entries); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("judge pending", func(b *testing.B) {
		l := New(&Options{Mode: Review})
		if err := l.Record(ctx, *server, entries); err != nil {
			b.Fatal(err)
		}
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
			if err := l.Reload(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("approve", func(b *testing.B) {
		b.ReportAllocs()
		change := Change{Server: "github", Tool: "tool7", Hash: entries[7].Hash}
		for b.Loop() {
			if err := l.Reject(ctx, "bench", change); err != nil {
				b.Fatal(err)
			}
			if err := l.Accept(ctx, "bench", change); err != nil {
				b.Fatal(err)
			}
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
