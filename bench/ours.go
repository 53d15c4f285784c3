package main

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
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
	return checkResult(c, result, err)
}

// checkResult reports that a call failed or has a wrong answer.
func checkResult(c *call, result *mcp.CallToolResult, err error) error {
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

// oursRegistry is this library's client behind a registry.
type oursRegistry struct {
	ours
	registry *registry.Registry
	names    map[string]string // in the registry, by those of the server
}

func dialOursRegistry(ctx context.Context, s session) (session, error) {
	o := s.(ours)
	listed, err := o.client.Tools(ctx)
	if err != nil {
		return nil, err
	}
	r := oursRegistry{ours: o, registry: registry.New(nil), names: map[string]string{}}
	var tools []registry.Tool
	for _, t := range listed {
		tools = append(tools, registry.Remote("neutral", t, o.client.CallTool))
	}
	if _, err := r.registry.Replace(registry.Server{Name: "neutral"}, tools); err != nil {
		return nil, err
	}
	for _, t := range r.registry.Snapshot().Tools() {
		d := t.Definition()
		r.names[d.Origin.Tool] = d.Name
	}
	return r, nil
}

// Call implements session.
func (o oursRegistry) Call(ctx context.Context, c *call) error {
	result, err := o.registry.Call(ctx, o.names[c.tool], c.args)
	return checkResult(c, result, err)
}
