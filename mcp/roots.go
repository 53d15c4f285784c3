package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// SetRoots replaces the roots that the server may know of, and tells it so.
func (c *Client) SetRoots(ctx context.Context, roots []*Root) error { panic("later") }

// listRoots answers roots/list.
func (c *Client) listRoots() (json.RawMessage, error) {
	return nil, &JSONRPCError{Code: jsonrpc.CodeMethodNotFound, Message: "later"}
}
