package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// STUB: signatures only, being replaced.

type Client struct{}

type CallToolOptions struct {
	Progress    func(*ProgressParams)
	IdleTimeout time.Duration
	Timeout     time.Duration
	Meta        Meta
}

func (c *Client) Tools(ctx context.Context) ([]*Tool, error) { return nil, errors.New("stub") }

func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, opts *CallToolOptions) (*CallToolResult, error) {
	return nil, errors.New("stub")
}
