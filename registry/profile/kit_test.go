package profile_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type node = providercheck.Node

// providers are all that there are.
var providers = []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.Bedrock, profile.Ollama}

// A described tool is a definition, and what a call of it does.
type described struct {
	def  registry.Definition
	call func(ctx context.Context) (*mcp.CallToolResult, error)
}

func (t *described) Definition() *registry.Definition { return &t.def }

func (t *described) Call(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	if t.call == nil {
		return &mcp.CallToolResult{}, nil
	}
	return t.call(ctx)
}

// nativeTool returns a tool without arguments that fails as a server's would.
func nativeTool(name string, call func(ctx context.Context) (*mcp.CallToolResult, error)) *described {
	return &described{registry.Definition{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, call}
}

// says returns a call that answers with a text.
func says(text string) func(context.Context) (*mcp.CallToolResult, error) {
	return func(context.Context) (*mcp.CallToolResult, error) { return textResult(text), nil }
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func tool(name, schema string) registry.Tool { return toolOf(name, "Does "+name, schema) }

func toolOf(name, description, schema string) registry.Tool {
	return &described{def: registry.Definition{Name: name, Description: description, InputSchema: json.RawMessage(schema)}}
}

// compiled compiles one tool.
func compiled(t testing.TB, p profile.Provider, schema string) *profile.Tool {
	t.Helper()
	set := assert.Value(profile.Compile(p, []registry.Tool{tool("t", schema)}, nil))(t)
	assert.Equal(t, len(set.Tools()), 1)
	return set.Tools()[0]
}

// unmap turns arguments for a compiled tool back.
func unmap(t testing.TB, c *profile.Tool, args string) string {
	t.Helper()
	return string(assert.Value(c.Unmap(json.RawMessage(args)))(t))
}

func hasEffect(c *profile.Tool, effect profile.Effect) bool {
	return slices.ContainsFunc(c.Losses, func(l profile.Loss) bool { return l.Effect == effect })
}

// tells reports whether a loss of a tool has some words.
func tells(c *profile.Tool, words string) bool {
	return slices.ContainsFunc(c.Losses, func(l profile.Loss) bool { return strings.Contains(l.Detail, words) })
}

const notStrict = "strict mode is not possible"
