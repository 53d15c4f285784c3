package registry_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// pinned returns options with a ledger in a file.
func pinned(b *testing.B, path string) registry.Options {
	b.Helper()
	accepted := assert.Value(ledger.Open(path, nil))(b)
	return registry.Options{Ledger: accepted}
}

// wide returns a registry with 10,000 tools of 500 servers, and two lists of the
// last of them.
func wide(b *testing.B, opts registry.Options) (*registry.Registry, [2][]registry.Tool) {
	b.Helper()
	r := registry.New(&opts)
	var lists [2][]registry.Tool
	for server := range 500 {
		name := fmt.Sprintf("server%d", server)
		for list := range lists {
			lists[list] = nil
			for i := range 20 {
				lists[list] = append(lists[list], serverTool(name, fmt.Sprintf("some_tool_%d", i), fmt.Sprint("list ", list)))
			}
		}
		mustReplace(b, r, name, lists[0]...)
	}
	if n := len(r.Snapshot().Tools()); n != 10_000 {
		b.Fatal(n, "tools")
	}
	return r, lists
}

// BenchmarkReplaceOneWithLedger replaces the 20 tools of one server among 10,000 of
// 500: as they are, and with changes that are approved or wait.
func BenchmarkReplaceOneWithLedger(b *testing.B) {
	r, lists := wide(b, pinned(b, filepath.Join(b.TempDir(), "mcp.lock.json")))
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustReplace(b, r, "server499", lists[0]...)
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			mustReplace(b, r, "server499", lists[i%2]...)
		}
	})
}

// BenchmarkOpenWithLedger is how 500 servers with 10,000 tools come up for the
// first time.
func BenchmarkOpenWithLedger(b *testing.B) {
	for b.Loop() {
		wide(b, pinned(b, filepath.Join(b.TempDir(), fmt.Sprint(b.N), "mcp.lock.json")))
	}
}

// BenchmarkCallEverything is a call with all that a registry can do with it: 1,000
// tools in a ledger, a policy, checks of arguments and results, and results that
// are redacted, bounded and wrapped.
func BenchmarkCallEverything(b *testing.B) {
	accepted := assert.Value(ledger.Open(filepath.Join(b.TempDir(), "mcp.lock.json"), nil))(b)
	r := registry.New(&registry.Options{
		Ledger:   accepted,
		Approver: policy.Cautious(),
		Results:  &result.Options{Wrap: true, Redact: true, Secrets: map[string]*regexp.Regexp{"badge": regexp.MustCompile(`badge (\d+)`)}},
		Middleware: []registry.Middleware{
			func(next registry.Handler) registry.Handler { return next },
		},
	})
	var tools []registry.Tool
	for i := range 1000 {
		tool := serverTool("server", fmt.Sprintf("some_tool_%d", i), "")
		tool.def.InputSchema = json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["title"]}`)
		tool.def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)
		tool.def.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
		tool.answer = textResult("It is on the list, which has 3 others.")
		tool.answer.StructuredContent = json.RawMessage(`{"id":"17"}`)
		tools = append(tools, tool)
	}
	assert.Value(r.Replace(registry.Server{Name: "server", Trusted: true, Fingerprint: "one"}, tools))(b)
	args := json.RawMessage(`{"title":"Buy milk","tags":["home","shop"]}`)
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(r.Call(b.Context(), "server__some_tool_500", args))(b)
	}
}
