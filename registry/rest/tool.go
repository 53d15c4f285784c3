package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A DisabledError reports a call of a tool that is switched off, see
// [Service.SetEnabled].
type DisabledError struct {
	API  string // name of the API
	Tool string // name of the endpoint
}

func (e *DisabledError) Error() string {
	return fmt.Sprintf("rest: tool %s of API %s is disabled", plain.Quote(e.Tool), plain.Quote(e.API))
}

// Unwrap returns a [*approval.DeniedError], which a model can read.
func (e *DisabledError) Unwrap() error {
	return &approval.DeniedError{Tool: e.Tool, Reason: "it is switched off"}
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *DisabledError) Outcome() mcp.Outcome { return mcp.NotSent }

// An UnknownToolError reports the name of a tool that an API does not have.
type UnknownToolError struct {
	API  string // name of the API
	Tool string // the name
}

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("rest: API %s has no endpoint %s", plain.Quote(e.API), plain.Quote(e.Tool))
}

// A tool is an operation as a registry has it.
type tool struct {
	service *Service
	op      *operation
	def     *registry.Definition
}

func newTool(s *Service, o *operation) *tool {
	return &tool{s, o, &registry.Definition{
		Title:       o.endpoint.Title,
		Description: o.endpoint.Description,
		InputSchema: o.schema,
		Annotations: o.annotations(),
		Origin:      registry.Origin{Server: o.api, Tool: o.name},
	}}
}

func (t *tool) Definition() *registry.Definition { return t.def }

func (t *tool) enabled() bool { return t.op.on.Load() && !t.service.api.Disabled }

// Call sends the request and returns the answer. A failure of the API, or on the way
// to it, is a result with IsError, whose GetError is the error itself. An error is
// the end of ctx, a [*DisabledError], or a [*registry.ArgumentsError].
func (t *tool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(fmt.Errorf("rest: tool %s: %w", plain.Quote(t.op.name), err), mcp.NotSent)
	}
	if !t.enabled() {
		return nil, &DisabledError{t.op.api, t.op.name}
	}
	req, err := t.op.build(args)
	if err != nil {
		return nil, err
	}
	got, err := t.service.send(ctx, req)
	if err != nil {
		if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
			return nil, mcp.WithOutcome(fmt.Errorf("rest: tool %s: %w", plain.Quote(t.op.name), err), mcp.OutcomeOf(err))
		}
		return failed(err), nil
	}
	return t.op.result(got), nil
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
