package registry_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/wildtest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) {
	if wildtest.Begin() {
		return
	}
	goleak.VerifyTestMain(m)
}

// A plainTool is a Tool of which everything can be chosen.
type plainTool struct {
	def    *registry.Definition
	answer *mcp.CallToolResult
}

func (t *plainTool) Definition() *registry.Definition { return t.def }

func (t *plainTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return t.answer, nil
}

func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// servedText is textResult for a server.
func servedText(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// textOf returns the text of a result that is one block of text.
func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if res == nil || len(res.Content) != 1 {
		t.Fatalf("result = %+v, want one block of content", res)
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is a %T, want text", res.Content[0])
	}
	return block.Text
}

// native returns a native tool that answers with its name.
func native(name string) *plainTool { return serverTool("", name, "") }

// serverTool returns a tool of a server, under the name that Remote would give
// it, that answers with its name and description.
func serverTool(server, name, description string) *plainTool {
	def := &registry.Definition{
		Name:        name,
		Description: description,
		InputSchema: json.RawMessage(`{"type":"object"}`),
	}
	if server != "" {
		def.Name = server + "__" + name
		def.Origin = registry.Origin{Server: server, Tool: name}
	}
	return &plainTool{def, textResult(def.Name + description)}
}

func listedNames(s *registry.Snapshot) []string {
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Definition().Name)
	}
	return names
}

func mustAdd(t testing.TB, r *registry.Registry, tools ...registry.Tool) {
	t.Helper()
	assert.OK(t, r.Add(tools...))
}

func mustReplace(t testing.TB, r *registry.Registry, server string, tools ...registry.Tool) registry.Diff {
	t.Helper()
	diff := assert.Value(r.Replace(registry.Server{Name: server}, tools))(t)
	return diff
}

func ptr[T any](v T) *T { return &v }

// A recordedTool is a Tool that calls a function.
type recordedTool struct {
	def  *registry.Definition
	call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
}

func (t *recordedTool) Definition() *registry.Definition { return t.def }

func (t *recordedTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.call(ctx, args)
}
