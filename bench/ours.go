package main

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// ours is this library's client.
type ours struct{ client *mcp.Client }

func dialOursPipe(ctx context.Context, program string, args []string) (session, error) {
	return dialOurs(ctx, &transport.Command{Path: program, Args: args})
}

func dialOursHTTP(ctx context.Context, url string) (session, error) {
	return dialOurs(ctx, &transport.HTTP{URL: url})
}

func dialOurs(ctx context.Context, t mcp.Transport) (session, error) {
	o := ours{mcp.NewClient("neutral", t, nil)}
	if err := o.client.Ready(ctx); err != nil {
		_ = o.client.Close() // it has told what it had to
		return nil, err
	}
	return o, nil
}

// Call implements session.
func (o ours) Call(ctx context.Context, c *call) error {
	result, err := o.client.CallTool(ctx, c.tool, c.args, nil)
	if err != nil {
		return err
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok {
			return c.check(text.Text)
		}
	}
	return fmt.Errorf("%s answered %d blocks", c.tool, len(result.Content))
}

// List implements session.
func (o ours) List(ctx context.Context) (int, error) {
	tools, err := o.client.Tools(ctx)
	return len(tools), err
}

// Close implements session.
func (o ours) Close() error { return o.client.Close() }
