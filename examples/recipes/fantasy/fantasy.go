// Package fantasy is a recipe: the tools of a registry for an agent of
// charm.land/fantasy. Copy this file, and import that package in place of the one that
// stands in for it here.
package fantasy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcpbelt/mcpbelt/examples/recipes/fantasy/standin/fantasy"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// PrepareStep gives each step of an agent the tools of the moment, see WithPrepareStep.
// The options may be nil.
func PrepareStep(r *registry.Registry, opts *profile.TurnOptions) fantasy.PrepareStepFunction {
	return func(ctx context.Context, _ fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
		tools, err := Tools(ctx, r, opts)
		return ctx, fantasy.PrepareStepResult{Tools: tools}, err
	}
}

// Tools returns the tools of the moment, for the user of ctx. The options may be nil.
func Tools(ctx context.Context, r *registry.Registry, opts *profile.TurnOptions) ([]fantasy.AgentTool, error) {
	// Whatever the model, a schema has to be of Bedrock's form: the agent keeps the
	// properties of the root, and what is required, and nothing else of it.
	turn, err := profile.NewTurn(ctx, r, profile.Bedrock, opts)
	if err != nil {
		return nil, err
	}
	tools := []fantasy.AgentTool{} // none is not nil: the agent would keep what it had
	for _, t := range turn.Set().Tools() {
		var root struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}
		if err := json.Unmarshal(t.Schema, &root); err != nil {
			return nil, err
		}
		if root.Properties == nil {
			root.Properties = map[string]any{}
		}
		if root.Required == nil {
			root.Required = []string{}
		}
		tools = append(tools, &beltTool{turn: turn, info: fantasy.ToolInfo{
			Name: t.Name, Description: t.Description, Parameters: root.Properties, Required: root.Required, Parallel: true,
		}})
	}
	return tools, nil
}

type beltTool struct {
	turn    *profile.Turn
	info    fantasy.ToolInfo
	options fantasy.ProviderOptions
}

func (t *beltTool) Info() fantasy.ToolInfo                          { return t.info }
func (t *beltTool) ProviderOptions() fantasy.ProviderOptions        { return t.options }
func (t *beltTool) SetProviderOptions(opts fantasy.ProviderOptions) { t.options = opts }

// Run makes a call. If it waits for a person, the turn of the agent ends, and the error
// in the result of the step is a *WaitingError.
func (t *beltTool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	answers, err := t.turn.Run(ctx, []profile.Call{{ID: call.ID, Name: call.Name, Arguments: json.RawMessage(call.Input)}})
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		return fantasy.ToolResponse{StopTurn: true}, &WaitingError{waiting, t.turn}
	}
	if err != nil {
		return fantasy.ToolResponse{}, err
	}
	return response(t.turn, answers[0]), nil
}

// A WaitingError is the result of a call that waits for a person.
type WaitingError struct {
	*profile.WaitingError
	turn *profile.Turn
}

// Unwrap returns the error that it is.
func (e *WaitingError) Unwrap() error { return e.WaitingError }

// Wait waits for the person, and returns the result that goes into the conversation in
// place of this error. Then the agent can go on with the messages. If ctx ends, Wait may
// be called again, but not at the same time.
func (e *WaitingError) Wait(ctx context.Context) (fantasy.ToolResponse, error) {
	answers, err := e.turn.Wait(ctx, e.WaitingError)
	if err != nil {
		e.WaitingError = &profile.WaitingError{Answers: answers} // what has been made is not made again
		return fantasy.ToolResponse{}, err
	}
	return response(e.turn, answers[0]), nil
}

// response returns an answer as fantasy takes it: with one image, if it has any and did
// not fail. Of others there is a line of text.
func response(turn *profile.Turn, a profile.Answer) fantasy.ToolResponse {
	res := fantasy.ToolResponse{Type: "text", IsError: a.Result.IsError}
	parts := turn.Parts(a.Result)
	for i, p := range parts {
		if res.Data == nil && !res.IsError && strings.HasPrefix(p.Type, "image/") {
			res.Type, res.Data, res.MediaType = "image", p.Data, p.Type
			continue
		}
		parts[i].Data = nil
	}
	res.Content, _ = profile.Apart(parts)
	return res
}
