package result

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// wantBetween reports an error unless least <= got <= most.
func wantBetween[T cmp.Ordered](t testing.TB, got, least, most T, what ...any) {
	t.Helper()
	if got < least || got > most {
		assert.Equal(t, fmt.Sprint(got), fmt.Sprintf("between %v and %v", least, most), what...)
	}
}

// stranger returns a tool of a server that is not trusted.
func stranger() From { return From{Server: "web", Tool: "get"} }

// callReader reads what is kept, with arguments as a model writes them.
func callReader(t testing.TB, ctx context.Context, r *Shaper, args json.RawMessage) *mcp.CallToolResult {
	t.Helper()
	var in ReadArgs
	assert.OK(t, json.Unmarshal(args, &in))
	return r.Read(ctx, in)
}

func resultOf(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func textBlock(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	data := assert.Value(json.Marshal(v))(t)
	return string(data)
}
