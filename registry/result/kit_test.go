package result

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

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
	return string(assert.Value(json.Marshal(v))(t))
}
