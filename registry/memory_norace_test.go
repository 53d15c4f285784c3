// Tests of approval_pending.go: a result takes no more memory than it is taken for.

//go:build !race

package registry

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// heapOf returns how many bytes of the heap something takes that is made.
func heapOf(make func() any) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	made := make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

func resultWith(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

// decoded returns a value as a server can send it.
func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	assert.OK(t, json.Unmarshal([]byte(text), &v))
	return v
}

// listOf returns a JSON array of so many elements.
func listOf(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// Whatever a result is made of, it is taken for no less than what it takes in memory:
// 64 MiB are promised to be the most. The race detector allocates as well.
func TestResultsWeighWhatTheyTake(t *testing.T) {
	meta := func(t *testing.T, value string) mcp.Meta { return decoded[mcp.Meta](t, `{"a":`+value+`}`) }
	const n = 20_000
	for name, make := range map[string]func(*testing.T) *mcp.CallToolResult{
		"empty texts": func(*testing.T) *mcp.CallToolResult {
			res := &mcp.CallToolResult{}
			for range n {
				res.Content = append(res.Content, &mcp.TextContent{})
			}
			return res
		},
		"links": func(*testing.T) *mcp.CallToolResult {
			res := &mcp.CallToolResult{}
			for range n {
				res.Content = append(res.Content, &mcp.ResourceLink{URI: strings.Repeat("u", 100), Description: strings.Repeat("d", 100)})
			}
			return res
		},
		"a text in a resource of bytes": func(*testing.T) *mcp.CallToolResult {
			return resultWith(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Text: strings.Repeat("x", 1<<20), Blob: []byte{}}})
		},
		"_meta": func(t *testing.T) *mcp.CallToolResult {
			return &mcp.CallToolResult{Meta: meta(t, listOf(`"word"`, n))}
		},
		"_meta of empty objects": func(t *testing.T) *mcp.CallToolResult {
			return &mcp.CallToolResult{Meta: meta(t, listOf(`{}`, n))}
		},
		"_meta of small objects": func(t *testing.T) *mcp.CallToolResult {
			return &mcp.CallToolResult{Meta: meta(t, listOf(`{"":1}`, n))}
		},
		"_meta of lists": func(t *testing.T) *mcp.CallToolResult {
			return &mcp.CallToolResult{Meta: meta(t, listOf(`[[]]`, n))}
		},
		"_meta of one large object": func(t *testing.T) *mcp.CallToolResult {
			var object strings.Builder
			for i := range n {
				key, _ := json.Marshal(string(rune('a'+i%26)) + strings.Repeat("k", i%9) + string(rune(0x4e00+i)))
				object.WriteString("," + string(key) + ":0")
			}
			return &mcp.CallToolResult{Meta: meta(t, "{"+object.String()[1:]+"}")}
		},
		"_meta of a text": func(t *testing.T) *mcp.CallToolResult {
			return resultWith(&mcp.TextContent{Meta: meta(t, listOf(`1`, n))})
		},
		"_meta of a resource": func(t *testing.T) *mcp.CallToolResult {
			return resultWith(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Meta: meta(t, listOf(`1`, n))}})
		},
		"annotations": func(t *testing.T) *mcp.CallToolResult {
			return resultWith(&mcp.TextContent{Annotations: decoded[*mcp.Annotations](t, `{"audience":`+listOf(`"user"`, n)+`}`)})
		},
		"icons": func(t *testing.T) *mcp.CallToolResult {
			return resultWith(&mcp.ResourceLink{Icons: decoded[[]sdk.Icon](t, listOf(`{"src":"","sizes":["a"]}`, n))})
		},
		"structured content": func(*testing.T) *mcp.CallToolResult {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(listOf("1", n))}
		},
		"structured content of a native tool": func(t *testing.T) *mcp.CallToolResult {
			return &mcp.CallToolResult{StructuredContent: decoded[any](t, listOf(`{"a":1}`, n))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var res *mcp.CallToolResult
			heap := heapOf(func() any { res = make(t); return res })
			heap -= heap / 8 // which the allocator may have rounded up
			assert.False(t, memoryOfResult(res) < heap)
		})
	}
}
