package gate_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serverTool returns a tool of a server that answers nothing.
func serverTool(server, name, description string) registry.Tool {
	return registry.Remote(server, &mcp.Tool{Name: name, Description: description},
		func(context.Context, string, json.RawMessage, *mcp.RequestOptions) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
}
