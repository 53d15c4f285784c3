package mcpgo

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A call leaves nothing behind: neither its token nor its goroutine.
func TestCallsLeaveNothing(t *testing.T) {
	s := server.NewMCPServer("crew", "1")
	s.AddTool(gomcp.NewTool("echo"), func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("done"), nil
	})
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), gomcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	source := NewSource(c, registry.Server{Name: "crew"}, registry.New(nil))
	for range 3 {
		if _, err := source.call(t.Context(), "echo", json.RawMessage(`{}`), &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) {}}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, end := source.expect()
	if len(source.progress) != 1 || source.stuck.Load() != 0 {
		t.Errorf("%d tokens, %d calls", len(source.progress), source.stuck.Load())
	}
	if end(); len(source.progress) != 0 {
		t.Error("a token stays")
	}
}
