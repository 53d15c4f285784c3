// Mcpgo calls a tool of a server through a client of mcp-go.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func count(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
	return gomcp.NewToolResultText("3 notes"), nil
}

func main() {
	ctx := context.Background()
	s := server.NewMCPServer("notes", "1.0.0")
	s.AddTool(gomcp.NewTool("count"), count)
	c, err := client.NewInProcessClient(s)
	if err == nil {
		err = c.Start(ctx)
	}
	if err == nil {
		_, err = c.Initialize(ctx, gomcp.InitializeRequest{})
	}
	if err != nil {
		log.Fatal(err)
	}
	reg := registry.New(nil)
	if _, err := belt.NewSource(c, registry.Server{Name: "notes"}, reg).Refresh(ctx); err != nil {
		log.Fatal(err)
	}
	res, err := reg.Call(ctx, "notes__count", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", result.Text(res))
}

// Output: ok 3 notes
