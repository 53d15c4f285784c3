package main

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// The handlers below answer what a user and a model would. A server is not to be
// trusted with more: show its questions to people, and its name with them.

// fillIn fills in a form. What it leaves out gets the defaults of the schema.
func fillIn(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	content := map[string]any{"name": "Ada"}
	if strings.Contains(req.Params.Message, "title") {
		content = map[string]any{"title": "Ada's days"}
	}
	fmt.Printf("  %s asks: %s %v\n", req.Server, req.Params.Message, content)
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// visit plays the user and their browser: it presses the button of the page. A
// program for people shows them the URL instead, and fetches nothing.
func visit(ctx context.Context, req *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
	fmt.Printf("  %s wants you to visit %s: %s\n", req.Server, req.Host, req.Message)
	button, err := http.NewRequestWithContext(ctx, http.MethodPost, req.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(button)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: "accept"}, res.Body.Close()
}

// complete plays the model.
func complete(_ context.Context, req *mcp.SampleRequest) (*mcp.SampleResult, error) {
	fmt.Printf("  %s asks the model: %s\n", req.Server, req.Params.SystemPrompt)
	return &mcp.SampleResult{
		Role: "assistant", Model: "canned", StopReason: "endTurn",
		Content: []mcp.Content{&mcp.TextContent{Text: "Nothing to speak of."}},
	}, nil
}
