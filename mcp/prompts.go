package mcp

import (
	"context"
	"iter"
)

// Prompts yields the server's prompts.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] { panic("later") }

// GetPrompt fills in a prompt.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string, opts *RequestOptions) (*GetPromptResult, error) {
	panic("later")
}
