package fantasy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
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
// that the agent was made with. The messages of the step are as APIs take them, see
// [profile.Repairer].
func PrepareStep(r *registry.Registry, opts *Options) fantasy.PrepareStepFunction {
	return func(ctx context.Context, step fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
		provider := ""
		if step.Model != nil {
			provider = step.Model.Provider()
		}
		tools, err := toolsFor(ctx, r, opts, provider)
		messages := repaired(step.Messages)
		called := slices.ContainsFunc(messages, func(m fantasy.Message) bool { return m.Role == fantasy.MessageRoleTool })
		if called && err == nil && len(tools) == 0 { // some APIs refuse a conversation with calls and no tools
			tools = []fantasy.AgentTool{fantasy.NewAgentTool("no_tools", "There are no tools now. Do not call this.",
				func(context.Context, struct{}, fantasy.ToolCall) (fantasy.ToolResponse, error) {
					return fantasy.NewTextErrorResponse("There are no tools now."), nil
				})}
		}
		return ctx, fantasy.PrepareStepResult{Tools: tools, Messages: messages}, err
	}
}

// Tools returns the tools of a registry that the user of ctx may call, at this moment; an
// empty slice, and not nil, if there are none. Agents that stream run them at the same time.
// For models of Google's use [PrepareStep], which tells them schemas as fantasy's
// converter takes them.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) ([]fantasy.AgentTool, error) {
	return toolsFor(ctx, r, opts, "")
}

// toolsFor is Tools for a provider, by fantasy's name of it, which may take no more than some
// tools. For google, whose converter drops what has no single type, each value has one.
func toolsFor(ctx context.Context, r *registry.Registry, opts *Options, provider string) ([]fantasy.AgentTool, error) {
	o := *cmp.Or(opts, &Options{})
	// Whatever the model, a schema has to be of Bedrock's form: the agent keeps the
	// properties of the root, and what is required, and nothing else of it.
	turn, err := profile.NewTurn(ctx, r, profile.Bedrock, &o.Turn)
	if err != nil {
		return nil, err
	}
	if p, ok := map[string]profile.Provider{"google": profile.Gemini, "openai": profile.OpenAI, "azure": profile.OpenAI}[provider]; ok {
		if _, err := profile.NewTurn(ctx, r, p, &o.Turn); err != nil { // there are too many
			return nil, err
		}
	}
	tools := []fantasy.AgentTool{} // for nil the agent would keep what it had
	for _, t := range turn.Set().Tools() {
		schema := t.Schema
		if provider == "google" {
			schema, _ = json.Marshal(profile.OneType(schema)) // it was JSON
		}
		root := struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}{map[string]any{}, []string{}}
		if err := json.Unmarshal(schema, &root); err != nil {
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
	if waiting, ok := errors.AsType[*profile.WaitingError](err); ok {
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
	parts := t.turn.Set().Parts(a.Result)
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

// repaired returns a conversation as APIs take it: fantasy sends ids and names as the model
// wrote them.
func repaired(messages []fantasy.Message) []fantasy.Message {
	var pieces []fantasy.Message
	for _, m := range messages {
		if m.Role == fantasy.MessageRoleAssistant {
			m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(p fantasy.MessagePart) bool {
				text, ok := fantasy.AsMessagePart[fantasy.TextPart](p)
				return ok && strings.TrimSpace(text.Text) == ""
			})
		}
		if m.Role != fantasy.MessageRoleTool {
			pieces = append(pieces, m)
			continue
		}
		for _, p := range m.Content {
			pieces = append(pieces, fantasy.Message{Role: m.Role, Content: []fantasy.MessagePart{p}, ProviderOptions: m.ProviderOptions})
		}
	}
	var all []fantasy.Message
	for _, m := range repairer().Repair(pieces) {
		if last := len(all) - 1; m.Role == fantasy.MessageRoleTool && last >= 0 && all[last].Role == m.Role {
			all[last].Content = append(all[last].Content, m.Content...)
		} else {
			all = append(all, m)
		}
	}
	return all
}

func repairer() *profile.Repairer[fantasy.Message] {
	return &profile.Repairer[fantasy.Message]{
		Provider: profile.Bedrock, // whose names and ids all others take
		Each: func(m fantasy.Message, call, result func(profile.Call) profile.Call) fantasy.Message {
			m.Content = slices.Clone(m.Content)
			for i, p := range m.Content {
				if c, ok := fantasy.AsMessagePart[fantasy.ToolCallPart](p); ok && !c.ProviderExecuted {
					back := call(profile.Call{ID: c.ToolCallID, Name: c.ToolName, Arguments: json.RawMessage(c.Input)})
					c.ToolCallID, c.ToolName, c.Input = back.ID, back.Name, string(back.Arguments)
					m.Content[i] = c
				} else if r, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](p); ok && m.Role == fantasy.MessageRoleTool {
					r.ToolCallID = result(profile.Call{ID: r.ToolCallID}).ID
					m.Content[i] = r
				}
			}
			return m
		},
		Lost: func(c profile.Call, text string) fantasy.Message {
			return fantasy.Message{Role: fantasy.MessageRoleTool, Content: []fantasy.MessagePart{fantasy.ToolResultPart{
				ToolCallID: c.ID, Output: fantasy.ToolResultOutputContentText{Text: profile.Failed(text)},
			}}}
		},
	}
}
