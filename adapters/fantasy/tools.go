package fantasy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"charm.land/fantasy"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [PrepareStep] and [Tools]. Nil and the zero value mean the
// defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch,
	// Deferred, AllowedCallers and MaxParallel have no effect: agents know no such tools,
	// and run the calls of a message themselves.
	Turn profile.TurnOptions
	// Waiting is called for each call that waits for a person, from several goroutines at
	// the same time if the agent streams. If it returns nil, the tool waits until a
	// person has answered, see [profile.Turn.Wait]; if it returns an error, the agent
	// stops after this step, and the result of the tool says that the call waits. Nil:
	// the model is told that the call waits, and the agent goes on.
	Waiting func(context.Context, *profile.WaitingError) error
}

// PrepareStep returns the function for fantasy.WithPrepareStep that gives each step of an
// agent the tools of the moment, for the user of its context. They take the place of those
// that the agent was made with.
func PrepareStep(r *registry.Registry, opts *Options) fantasy.PrepareStepFunction {
	return func(ctx context.Context, _ fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
		tools, err := Tools(ctx, r, opts)
		return ctx, fantasy.PrepareStepResult{Tools: tools}, err
	}
}

// Tools returns the tools of a registry that the user of ctx may call, at this moment; an
// empty slice, and not nil, if there are none. Agents that stream run them at the same time.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) ([]fantasy.AgentTool, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	// Whatever the model, a schema has to be of Bedrock's form: the agent keeps the
	// properties of the root, and what is required, and nothing else of it.
	turn, err := profile.NewTurn(ctx, r, profile.Bedrock, &o.Turn)
	if err != nil {
		return nil, err
	}
	tools := []fantasy.AgentTool{} // for nil the agent would keep what it had
	for _, t := range turn.Set().Tools() {
		root := struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}{map[string]any{}, []string{}}
		if err := json.Unmarshal(t.Schema, &root); err != nil {
			return nil, err
		}
		tools = append(tools, &tool{turn: turn, waiting: o.Waiting, info: fantasy.ToolInfo{
			Name: t.Name, Description: t.Description, Parameters: root.Properties, Required: root.Required, Parallel: true,
		}})
	}
	return tools, nil
}

type tool struct {
	turn    *profile.Turn
	waiting func(context.Context, *profile.WaitingError) error
	info    fantasy.ToolInfo
	options fantasy.ProviderOptions
}

func (t *tool) Info() fantasy.ToolInfo                          { return t.info }
func (t *tool) ProviderOptions() fantasy.ProviderOptions        { return t.options }
func (t *tool) SetProviderOptions(opts fantasy.ProviderOptions) { t.options = opts }

// Run makes a call. The error is always nil.
func (t *tool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	answers, err := t.turn.Run(ctx, []profile.Call{{ID: call.ID, Name: call.Name, Arguments: json.RawMessage(call.Input)}})
	stop := false
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		answers = waiting.Answers
		if t.waiting != nil {
			if stop = t.waiting(ctx, waiting) != nil; !stop {
				answers, _ = t.turn.Wait(ctx, waiting)
			}
		}
	}
	res := t.response(answers[0])
	res.StopTurn = stop
	return res, nil
}

// response returns an answer with one image, if it has any and the tool did not fail.
func (t *tool) response(a profile.Answer) fantasy.ToolResponse {
	res := fantasy.ToolResponse{Type: "text", IsError: a.Result.IsError}
	parts := t.turn.Parts(a.Result)
	for i, p := range parts {
		if res.Data == nil && !res.IsError && strings.HasPrefix(p.Type, "image/") {
			res.Type, res.Data, res.MediaType = "image", p.Data, p.Type
			continue
		}
		parts[i].Data = nil
	}
	res.Content, _ = profile.Apart(parts)
	if res.IsError { // which some of fantasy's providers do not say
		res.Content = profile.Failed(res.Content)
	}
	return res
}
