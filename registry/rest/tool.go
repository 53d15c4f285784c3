package rest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// Definition describes the operation as a tool.
func (o *operation) Definition() *registry.Definition { return o.def }

// Call sends the request and returns the answer. A failure of the API, or on the way
// to it, is a result with IsError, whose GetError is the error itself. An error is
// the end of ctx, one that wraps an [*approval.DeniedError] if the tool is switched off, or
// a [*registry.ArgumentsError].
func (o *operation) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(fmt.Errorf("rest: tool %s: %w", plain.Quote(o.Name), err), mcp.NotSent)
	}
	if !o.on.Load() {
		return nil, &callError{o.service.api.Name, o.Name, &approval.DeniedError{Tool: o.Name, Reason: "it is switched off"}, mcp.NotSent}
	}
	req, err := o.build(args)
	if err != nil {
		return nil, err
	}
	got, err := o.service.send(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, mcp.WithOutcome(fmt.Errorf("rest: tool %s: %w", plain.Quote(o.Name), ctx.Err()), mcp.OutcomeOf(err))
		}
		return failed(err), nil
	}
	return o.result(got), nil
}

// failed returns the result of a call that got no answer.
func failed(err error) *mcp.CallToolResult {
	said := "The request failed: " + err.Error() + "."
	switch mcp.OutcomeOf(err) {
	case mcp.NotSent:
		said += " It was not carried out."
	case mcp.Unknown:
		said += " It may have been carried out or not; check before you call again."
	}
	return &mcp.CallToolResult{Content: textContent(said), IsError: true, Err: err}
}

func textContent(text string) []mcp.Content {
	return []mcp.Content{&mcp.TextContent{Text: text}}
}
