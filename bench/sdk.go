package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// bare is the client of the official SDK, used as its documents show.
type bare struct {
	session *sdk.ClientSession
	http    *http.Transport // nil for stdio
}

func dialSDKPipe(ctx context.Context, program string, args []string) (session, error) {
	return dialSDK(ctx, &sdk.CommandTransport{Command: exec.Command(program, args...)}, nil)
}

func dialSDKHTTP(ctx context.Context, url string) (session, error) {
	t := tuned()
	return dialSDK(ctx, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: t}}, t)
}

func dialSDK(ctx context.Context, t sdk.Transport, h *http.Transport) (session, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	s, err := client.Connect(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	return bare{s, h}, nil
}

// Call implements session.
func (b bare) Call(ctx context.Context, c *call) error {
	result, err := b.session.CallTool(ctx, &sdk.CallToolParams{Name: c.tool, Arguments: c.args})
	if err != nil {
		return err
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*sdk.TextContent); ok {
			return c.check(text.Text)
		}
	}
	return fmt.Errorf("%s answered %d blocks", c.tool, len(result.Content))
}

// List implements session.
func (b bare) List(ctx context.Context) (int, error) {
	result, err := b.session.ListTools(ctx, nil)
	if err != nil {
		return 0, err
	}
	return len(result.Tools), nil
}

// Close implements session.
func (b bare) Close() error {
	err := b.session.Close()
	if b.http != nil {
		b.http.CloseIdleConnections()
	}
	return err
}
