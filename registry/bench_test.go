// Tests and benchmarks of what a call costs.

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
		_, listed := s.Lookup("b")
		_, first := r.Call(ctx, "server__c", args)
		_, second := r.Call(ctx, "server__d", args)
		if !listed || first != nil || second != nil {
			t.Error(listed, first, second)
		}
	}), 0, "allocations")
}

// BenchmarkCall is what the registry adds to a call.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"title":"Buy milk","tags":["home","shop"]}`)
	call := func(b *testing.B, r *registry.Registry, name string, args json.RawMessage) {
		b.ReportAllocs()
		ctx := b.Context()
		for b.Loop() {
			assert.Value(r.Call(ctx, name, args))(b)
		}
	}
	b.Run("plain", func(b *testing.B) { call(b, thousandTools(b), "server__some_tool_500", args) })
	b.Run("middleware", func(b *testing.B) {
		r := thousandTools(b)
		r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
			return next(ctx, call)
		}))
		call(b, r, "server__some_tool_500", args)
	})
	b.Run("checked", func(b *testing.B) {
		tool := native("tool")
		tool.def.InputSchema = json.RawMessage(issueSchema)
		call(b, newRegistry(b, tool), "tool", json.RawMessage(`{"title":"Buy milk","state":"open","labels":[{"name":"home"},{"name":"shop"}]}`))
	})
	b.Run("func", func(b *testing.B) {
		r := thousandTools(b)
		mustAdd(b, r, registry.MustFunc("add", "", add))
		call(b, r, "add", json.RawMessage(`{"a":1,"b":2}`))
	})
}
