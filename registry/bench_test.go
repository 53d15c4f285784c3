package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

func thousandTools(b *testing.B) *registry.Registry {
	r := registry.New(nil)
	var tools []registry.Tool
	for i := range 1000 {
		tools = append(tools, serverTool("server", fmt.Sprintf("some_tool_%d", i), ""))
	}
	mustReplace(b, r, "server", tools...)
	return r
}

// TestReadingDoesNotAllocate holds what the benchmarks only show.
func TestReadingDoesNotAllocate(t *testing.T) {
	r := registry.New(&registry.Options{Ledger: ledger.New(nil)})
	mustAdd(t, r, native("a"), native("b"))
	mustReplace(t, r, "server", serverTool("server", "c", ""), &plainTool{&registry.Definition{
		Name: "server__d", Origin: registry.Origin{Server: "server", Tool: "d"},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","minimum":0},"b":{"enum":["x"]}},"required":["a"]}`),
	}, textResult("caf\u00e9")})
	args := json.RawMessage(`{"a":1}`)
	ctx := t.Context()
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		s := r.Snapshot()
		for _, tool := range s.Tools() {
			_ = tool.Definition()
		}
		if _, ok := s.Lookup("b"); !ok {
			t.Error("b is not listed")
		}
		for _, name := range []string{"server__c", "server__d"} {
			if _, err := r.Call(ctx, name, args); err != nil {
				t.Error(err)
			}
		}
	}), 0, "allocations")
}

func BenchmarkSnapshot(b *testing.B) {
	r := thousandTools(b)
	b.ReportAllocs()
	for b.Loop() {
		if len(r.Snapshot().Tools()) != 1000 {
			b.Fatal("tools are missing")
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	r := thousandTools(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := r.Snapshot().Lookup("server__some_tool_500"); !ok {
			b.Fatal("not found")
		}
	}
}

// BenchmarkCall is what the registry adds to a call.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"title":"Buy milk","tags":["home","shop"]}`)
	call := func(b *testing.B, r *registry.Registry, name string, args json.RawMessage) {
		b.ReportAllocs()
		for b.Loop() {
			assert.Value(r.Call(b.Context(), name, args))(b)
		}
	}
	b.Run("plain", func(b *testing.B) {
		call(b, thousandTools(b), "server__some_tool_500", args)
	})
	b.Run("middleware", func(b *testing.B) {
		r := thousandTools(b)
		r.Use(func(next registry.Handler) registry.Handler {
			return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) { return next(ctx, call) }
		})
		call(b, r, "server__some_tool_500", args)
	})
	b.Run("func", func(b *testing.B) {
		r := thousandTools(b)
		type sum struct {
			A, B int
		}
		mustAdd(b, r, registry.MustFunc("add", "", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }))
		call(b, r, "add", json.RawMessage(`{"A":1,"B":2}`))
	})
}

func BenchmarkUnknownTool(b *testing.B) {
	r := thousandTools(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Call(b.Context(), "server__some_tol_5000", nil); err == nil {
			b.Fatal("found")
		}
	}
}

func BenchmarkReplace(b *testing.B) {
	r := thousandTools(b)
	tools := r.Snapshot().Tools()
	b.ReportAllocs()
	for b.Loop() {
		mustReplace(b, r, "server", tools...)
	}
}

// BenchmarkReplaceOne replaces the 20 tools of one server among 10,000 of 500.
func BenchmarkReplaceOne(b *testing.B) {
	r, lists := wide(b, registry.Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		diff := mustReplace(b, r, "server499", lists[i%2]...)
		if i > 0 && len(diff.Changed) != 20 {
			b.Fatalf("%+v", diff)
		}
	}
}

// BenchmarkFillSmallServers fills a registry with servers of ten tools each, whose texts
// mention other words. The time per tool shows whether many servers cost more than few.
func BenchmarkFillSmallServers(b *testing.B) {
	for _, servers := range []int{100, 300, 1_000} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			for b.Loop() {
				r := registry.New(nil)
				for s := range servers {
					name := fmt.Sprintf("server%d", s)
					var tools []registry.Tool
					for i := range 10 {
						tools = append(tools, serverTool(name, fmt.Sprintf("do_thing_%d_%d", s, i), "Do one of many things with `an_object` that has a `name_of_it`."))
					}
					mustReplace(b, r, name, tools...)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*servers*10), "ns/tool")
		})
	}
}
