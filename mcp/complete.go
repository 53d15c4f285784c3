package mcp

import "context"

// Complete asks the server how an argument may go on.
func (c *Client) Complete(ctx context.Context, params *CompleteParams, opts *RequestOptions) (*CompleteResult, error) {
	panic("later")
}
