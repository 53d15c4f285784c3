package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
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

// TestOldSchemas: a schema of draft 4 is listed with the keywords of today, and arguments are
// checked by it; the ledger has what the server said.
func TestOldSchemas(t *testing.T) {
	const old = `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`
	accepted := ledger.New(nil)
	r := registry.New(&registry.Options{Ledger: accepted})
	tool := &plainTool{def: &registry.Definition{InputSchema: json.RawMessage(old), Origin: registry.Origin{Server: "s", Tool: "count"}}, answer: textResult("counted")}
	if diff := mustReplace(t, r, "s", tool); len(diff.Rejected) > 0 {
		t.Fatal(diff.Rejected[0].Err)
	}
	listed, ok := r.Snapshot().Lookup("s__count")
	if !ok {
		t.Fatal("the tool is not listed")
	}
	assert.Equal(t, string(listed.Definition().InputSchema), `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}}`)
	for args, refused := range map[string]bool{`{"n":0}`: true, `{"n":1}`: false} {
		if _, err := r.Call(t.Context(), "s__count", json.RawMessage(args)); (err != nil) != refused {
			t.Errorf("%s: got %v, refused %v", args, err, refused)
		}
	}
	// The same again changes nothing.
	version := r.Snapshot().Version()
	mustReplace(t, r, "s", &plainTool{def: &registry.Definition{InputSchema: json.RawMessage(old), Origin: registry.Origin{Server: "s", Tool: "count"}}, answer: textResult("counted")})
	assert.Equal(t, r.Snapshot().Version(), version, "version")
	if pending := accepted.Pending(); len(pending) > 0 {
		t.Errorf("got %v pending, want none", pending)
	}
}
