package genkit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// unlisted is the name of the tool that answers calls of tools that the model was not
// told of. No provider takes the colon, so no other tool has the name, and no model
// is told of it.
const unlisted = "mcpbelt:unlisted"

// A tool is a tool of a registry as a tool of Genkit.
//
// Those that ai.NewTool makes hold arguments against the schema themselves, end the
// whole request if they do not fit, follow references of the schema into the web
// for it, and cannot be used by two requests at the same time. So this is one of our
// own. It never fails but to interrupt: Genkit would leave the goroutines of the
// other calls behind.
type tool struct {
	turn        *Turn
	name        string
	description string
	schema      json.RawMessage // nil: none
	whole       bool            // all of a result goes into the output, for the middleware
}

// Name implements [ai.ToolRef].
func (t *tool) Name() string { return t.name }

// Definition implements [ai.Tool]. The schema is another copy each time, for plugins
// write to it.
func (t *tool) Definition() *ai.ToolDefinition {
	return &ai.ToolDefinition{
		Name: t.name, Description: t.description, InputSchema: t.inputSchema(),
		Metadata: map[string]any{"multipart": true},
	}
}

// Register implements [ai.Tool]. It is called for each request, with a registry that
// lives as long as that.
func (t *tool) Register(r api.Registry) { (&action{t}).Register(r) }

// RunRaw implements [ai.Tool].
func (t *tool) RunRaw(ctx context.Context, input any) (any, error) {
	res, err := t.RunRawMultipart(ctx, input)
	if err != nil {
		return nil, err
	}
	return res.Output, nil
}

// RunRawMultipart implements [ai.Tool].
func (t *tool) RunRawMultipart(ctx context.Context, input any) (*ai.MultipartToolResponse, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("genkit: the input of the tool %q is no JSON: %w", t.name, err)
	}
	return t.run(ctx, raw)
}

// run makes a call. Genkit's own tool around it is what writes traces, and what knows
// whether the call is run again after an interrupt.
func (t *tool) run(ctx context.Context, input json.RawMessage) (*ai.MultipartToolResponse, error) {
	res := &ai.MultipartToolResponse{}
	_, err := ai.NewTool(t.name, t.description, func(tc *ai.ToolContext, _ any) (any, error) {
		answer, err := t.answer(tc, input)
		if err != nil {
			return nil, err
		}
		res = t.turn.response(answer, t.whole)
		return nil, nil
	}).RunRaw(ctx, input)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// answer makes the call of an input.
func (t *tool) answer(tc *ai.ToolContext, input json.RawMessage) (profile.Answer, error) {
	if tc.IsResumed() {
		return profile.Answer{}, errRestart
	}
	answer := t.turn.placed(tc, t.call(input))
	if answer.Waits() && tc.Err() == nil {
		return answer, ai.InterruptWith(tc, profile.WaitOf(&answer))
	}
	return answer, nil
}

// placed makes a call when there is a place for it.
func (t *Turn) placed(ctx context.Context, call profile.Call) profile.Answer {
	select {
	case t.places <- struct{}{}:
		defer func() { <-t.places }()
		return t.Call(ctx, call)
	case <-ctx.Done():
		return t.Answer(ctx, call, nil, mcp.WithOutcome(context.Cause(ctx), mcp.NotSent))
	}
}

// An unlistedCall is the input of the tool that answers calls of others.
type unlistedCall struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"`
}

// call returns the call that an input stands for.
func (t *tool) call(input json.RawMessage) profile.Call {
	c := profile.Call{Name: t.name, Arguments: input}
	if t.name == unlisted {
		var other unlistedCall
		if json.Unmarshal(input, &other) == nil {
			c.Name, c.Arguments = other.Name, other.Input
		}
	}
	return c
}

// Respond implements [ai.Tool].
func (t *tool) Respond(request *ai.Part, output any, opts *ai.RespondOptions) *ai.Part {
	if request == nil || !request.IsToolRequest() {
		return nil
	}
	part := ai.NewResponseForToolRequest(request, output)
	part.Metadata = map[string]any{"interruptResponse": true}
	if opts != nil && opts.Metadata != nil {
		part.Metadata["interruptResponse"] = opts.Metadata
	}
	return part
}

// Restart implements [ai.Tool]. It returns nil: [Turn.Responses] goes on with a call.
func (t *tool) Restart(*ai.Part, *ai.RestartOptions) *ai.Part { return nil }

// An action is a tool in one of Genkit's registries.
type action struct{ tool *tool }

// Name implements [api.Action].
func (a *action) Name() string { return a.tool.name }

// Register implements [api.Registerable].
func (a *action) Register(r api.Registry) { r.RegisterAction(a.Desc().Key, a) }

// Desc implements [api.Action].
func (a *action) Desc() api.ActionDesc {
	return api.ActionDesc{
		Type: api.ActionTypeToolV2, Key: api.KeyFromName(api.ActionTypeToolV2, a.tool.name),
		Name: a.tool.name, Description: a.tool.description, InputSchema: a.tool.inputSchema(),
		Metadata: map[string]any{
			"type": api.ActionTypeToolV2, "name": a.tool.name, "description": a.tool.description,
			"tool": map[string]any{"multipart": true}, "dynamic": true,
		},
	}
}

// RunJSON implements [api.Action].
func (a *action) RunJSON(ctx context.Context, input json.RawMessage, _ func(context.Context, json.RawMessage) error) (json.RawMessage, error) {
	res, err := a.tool.run(ctx, input)
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

// RunJSONWithTelemetry implements [api.Action].
func (a *action) RunJSONWithTelemetry(ctx context.Context, input json.RawMessage, cb func(context.Context, json.RawMessage) error) (*api.ActionRunResult[json.RawMessage], error) {
	raw, err := a.RunJSON(ctx, input, cb)
	return &api.ActionRunResult[json.RawMessage]{Result: raw}, err
}
