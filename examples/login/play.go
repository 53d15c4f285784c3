package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// play runs the program several times at a server of its own.
func play(ctx context.Context) error {
	authorization, err := authtest.New(nil)
	if err != nil {
		return err
	}
	defer authorization.Close()
	url := authorization.Protect(newServer(), nil).URL
	folder, err := os.MkdirTemp("", "login")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()

	// The user logs in wherever their browser is sent. It follows the way back to
	// the program by itself.
	user := &auth.Loopback{Out: io.Discard, Open: func(ctx context.Context, page string) error {
		fmt.Println("  the user logs in")
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		resp, err := authorization.Client().Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}}

	fmt.Println("First run:")
	if err := visit(ctx, folder, url, user, func(p *program) error {
		return errors.Join(p.whoami(ctx), p.printStatus(ctx))
	}); err != nil {
		return err
	}

	fmt.Println("Second run, with the token at its end:")
	authorization.ExpireAll()
	if err := visit(ctx, folder, url, user, func(p *program) error { return p.whoami(ctx) }); err != nil {
		return err
	}

	fmt.Println("Third run:")
	return visit(ctx, folder, url, user, func(p *program) error {
		if err := p.manager.Logout(ctx, p.key); err != nil {
			return err
		}
		if err := p.printStatus(ctx); err != nil {
			return err
		}
		// A user who has logged out is not asked to log in until the program calls Login.
		var required *auth.LoginRequiredError
		if err := p.client.Ready(ctx); !errors.As(err, &required) {
			return fmt.Errorf("let in after the logout: %w", err)
		}
		fmt.Println("  the server wants a login:", required.Reason)
		return nil
	})
}

// newServer returns an MCP server with one tool.
func newServer() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "server", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "whoami", Description: "Tells who is logged in."},
		func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			name := req.Extra.Header.Get("Authtest-User") // who has logged in
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}, nil, nil
		})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// whoami calls the server's tool.
func (p *program) whoami(ctx context.Context) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	res, err := p.client.CallTool(ctx, "whoami", nil, nil)
	if err != nil {
		return err
	}
	fmt.Printf("  whoami -> %s\n", res.Text())
	return nil
}
