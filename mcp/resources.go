package mcp

import (
	"context"
	"iter"
)

// Resources yields the server's resources, page by page as they are needed.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] { panic("later") }

// ResourceTemplates yields the server's resource templates.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	panic("later")
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string, opts *RequestOptions) (*ReadResourceResult, error) {
	panic("later")
}
