package mcpgo_test

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// A server of mcp-go, and a client of it, which a registry takes tools from.
func ExampleNewSource() {
	s := server.NewMCPServer("notes", "1.0.0")
	s.AddTool(gomcp.NewTool("count"), func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("3 notes"), nil
	})
	ctx := context.Background()
	c, err := client.NewInProcessClient(s)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		panic(err)
	}
	if _, err := c.Initialize(ctx, gomcp.InitializeRequest{}); err != nil {
		panic(err)
	}

	reg := registry.New(nil)
	source := belt.NewSource(c, registry.Server{Name: "notes"}, reg)
	diff, err := source.Refresh(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(diff.Added)
	res, err := reg.Call(ctx, "notes__count", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Text(res))
	// Output:
	// [notes__count]
	// 3 notes
}

// The tools stay up to date while ctx lives.
func ExampleSource_Watch() {
	watch := func(ctx context.Context, source *belt.Source) {
		go func() {
			if err := source.Watch(ctx); ctx.Err() == nil {
				fmt.Println("the tools stay as they are:", err)
			}
		}()
	}
	_ = watch
}

// The tools of a registry on a server of mcp-go, for the user that a request names.
func ExampleNewExport() {
	type userKey struct{}
	serve := func(ctx context.Context, reg *registry.Registry) error {
		opts := &belt.ExportOptions{
			// server.WithHTTPContextFunc, or what stands before the server, has put them there.
			Context: func(ctx context.Context) context.Context {
				user, _ := ctx.Value(userKey{}).(string)
				return session.WithUser(ctx, user)
			},
			Login: true,
		}
		s := server.NewMCPServer("belt", "1.0.0",
			server.WithToolCapabilities(true),
			server.WithToolFilter(belt.Filter(reg, opts)),
		)
		export := belt.NewExport(s, reg, opts)
		for _, r := range export.Refresh() {
			fmt.Println("left out:", r.Name, r.Err)
		}
		go func() { _ = export.Watch(ctx) }()
		return server.NewStreamableHTTPServer(s).Start(":8080")
	}
	_ = serve
}
