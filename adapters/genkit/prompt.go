package genkit

import (
	"context"

	"github.com/firebase/genkit/go/ai"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A PromptGetter fills in prompts: a content.Content by their names among those of all
// servers, an [mcp.Client] by those at its server.
type PromptGetter interface {
	// GetPrompt fills in the prompt of a name.
	GetPrompt(ctx context.Context, name string, args map[string]string, opts *mcp.RequestOptions) (*mcp.GetPromptResult, error)
}

// Messages fills in a prompt, and returns its messages for [ai.WithMessages] of a
// Generate. Of the options Provider and Turn.TextOnly count. The error is the getter's.
//
// The words are the server's. Do not give them to an [ai.Prompt]: Genkit takes the
// messages of a prompt as templates, which can speak as the system and read what is in
// the context of the request.
func Messages(ctx context.Context, from PromptGetter, name string, args map[string]string, opts *Options) ([]*ai.Message, error) {
	res, err := from.GetPrompt(ctx, name, args, nil)
	if err != nil {
		return nil, err
	}
	var messages []*ai.Message
	for _, m := range res.Messages {
		if m == nil {
			continue
		}
		role := ai.RoleUser
		if m.Role == "assistant" {
			role = ai.RoleModel
		}
		messages = append(messages, ai.NewMessage(role, nil, contentParts([]mcp.Content{m.Content}, opts, role)...))
	}
	return messages, nil
}
