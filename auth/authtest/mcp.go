package authtest

import (
	"context"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewMCP is [Server.Protect] for an MCP server with two tools: echo returns its
// text, and whoami returns the user and the scopes of the token.
func (s *Server) NewMCP(o *ResourceOptions) *Resource {
	server := sdk.NewServer(&sdk.Implementation{Name: "authtest", Version: "1"}, nil)
	type echo struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echo) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "whoami"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		h := r.Extra.Header
		return text(h.Get(userHeader) + " " + h.Get(scopeHeader)), nil, nil
	})
	return s.Protect(sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true},
	), o)
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
