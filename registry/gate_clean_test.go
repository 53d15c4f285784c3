package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// What honest servers list is let in without a warning, all at once: next to the
// other servers and their tools.
func TestCleanCatalogs(t *testing.T) {
	r := registry.New(nil)
	cases := catalogs(t, "clean")
	for range 2 { // the second time, each server knows all others
		for server, list := range cases {
			var tools []registry.Tool
			for _, raw := range list[0].Tools {
				tools = append(tools, &plainTool{def: definitionOf(t, server, raw)})
			}
			mustReplace(t, r, server)
			diff := mustReplace(t, r, server, tools...)
			for _, rejected := range diff.Rejected {
				t.Errorf("%s: %v", server, rejected.Err)
			}
			for _, name := range diff.Added {
				for _, f := range r.Snapshot().Findings(name) {
					if f.Severity > gate.Note {
						t.Errorf("%s: %v", name, f)
					}
				}
			}
		}
	}
}

// A clean tool costs little.
func BenchmarkGate(b *testing.B) {
	raw := json.RawMessage(`{"name":"search_code","description":"Fast and precise code search across all repositories. Best for finding exact symbols, functions, classes, or specific patterns.",
		"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"Search query, such as language:go or path:docs. Supports exact matching, filters and more."},
		"sort":{"type":"string","enum":["indexed","created"]},"page":{"type":"integer","minimum":1},"per_page":{"type":"integer","minimum":1,"maximum":100}},"required":["query"]}}`)
	tool := &plainTool{def: definitionOf(b, "s", raw)}
	tools := []registry.Tool{tool}
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		r := registry.New(nil)
		if diff := mustReplace(b, r, "s", tools...); len(diff.Added) != 1 {
			b.Fatal(diff)
		}
	}
}
