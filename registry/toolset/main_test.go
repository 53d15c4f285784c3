package toolset_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A belt is a registry with its Finder.
type belt struct {
	*registry.Registry
	*toolset.Finder
}

// newBelt returns a registry with its Finder.
func newBelt(t testing.TB, of *registry.Options, opts *toolset.Options) *belt {
	t.Helper()
	r := registry.New(of)
	f := assert.Value(toolset.New(r, opts))(t)
	return &belt{r, f}
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

func mustAdd(t testing.TB, r *belt, tools ...registry.Tool) {
	t.Helper()
	assert.OK(t, r.Add(tools...))
}

func mustReplace(t testing.TB, r *belt, server string, tools ...registry.Tool) registry.Diff {
	t.Helper()
	return assert.Value(r.Replace(registry.Server{Name: server}, tools))(t)
}

func mustPolicy(t testing.TB, byDefault approval.Verdict, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	return assert.Value(policy.New(byDefault, rules...))(t)
}

func ptr[T any](v T) *T { return &v }
