package langchaingo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// AgentTools returns the tools for langchaingo's agents. An agent knows no schemas, so
// the description of a tool ends with its own.
//
// The input of a tool is a JSON object, as text. If its only argument is a string, the
// input may be that string alone.
//
// A tool fails, and ends the executor's work, only if the context ends, with its cause;
// or with a [*profile.WaitingError], see [Options].Waiting. All else the model is told.
//
// The executor does not see the difference between names that differ in case alone:
// only the first of such tools is there.
func (t *Turn) AgentTools() []tools.Tool {
	var all []tools.Tool
	seen := map[string]bool{}
	for _, tool := range t.Set().Tools() {
		if name := strings.ToUpper(tool.Name); !seen[name] {
			seen[name] = true
			all = append(all, &agentTool{t, tool})
		}
	}
	return all
}

type agentTool struct {
	turn *Turn
	tool *profile.Tool
}

func (a *agentTool) Name() string { return a.tool.Name }

// Description returns what the tool does, and its schema.
func (a *agentTool) Description() string {
	var lines []string
	if text := strings.TrimSpace(a.tool.Description); text != "" {
		lines = append(lines, text)
	}
	if len(properties(a.tool.Schema)) > 0 {
		lines = append(lines, "The input is a JSON object of this schema: "+string(a.tool.Schema))
	}
	return strings.Join(lines, "\n")
}

// Call makes the call.
func (a *agentTool) Call(ctx context.Context, input string) (string, error) {
	args, ok := a.arguments(input)
	if !ok {
		return profile.Failure + "\nThe input of " + a.tool.Name + " has to be a JSON object of this schema: " + string(a.tool.Schema), nil
	}
	answers, err := a.turn.Turn.Run(ctx, []profile.Call{{Name: a.tool.Name, Arguments: args}})
	if waiting, ok := errors.AsType[*profile.WaitingError](err); ok && a.turn.opts.Waiting != nil {
		if err := a.turn.opts.Waiting(ctx, waiting); err != nil {
			return "", err
		}
		answers, err = a.turn.Wait(ctx, waiting)
	}
	if err != nil {
		return "", err
	}
	text, _ := a.turn.parts(answers[0], false)
	return text, nil
}

// Model returns a model that tells an agent's model the true names, descriptions and
// schemas of those functions that are tools of the turn, and the conversation as
// [Turn.Append] has it. All else passes as it is, but for calls that were cut off, or that a stream left in pieces. It is for
// agents.NewOpenAIFunctionsAgent, in whose own schema every tool has one string.
func (t *Turn) Model(llm llms.Model) llms.Model {
	offered := map[string]llms.FunctionDefinition{}
	for _, tool := range t.Set().Tools() {
		offered[tool.Name] = t.function(tool)
	}
	return &model{llm, t, func(o *llms.CallOptions) {
		o.Functions = slices.Clone(o.Functions)
		for i, f := range o.Functions {
			if truth, ok := offered[f.Name]; ok {
				o.Functions[i] = truth
			}
		}
	}}
}

type model struct {
	llms.Model
	turn    *Turn
	schemas llms.CallOption
}

func (m *model) GenerateContent(ctx context.Context, messages []llms.MessageContent, opts ...llms.CallOption) (*llms.ContentResponse, error) {
	response, err := m.Model.GenerateContent(ctx, m.turn.Append(messages), append(slices.Clone(opts), m.schemas)...)
	if err == nil && response != nil {
		for _, choice := range response.Choices {
			if choice != nil {
				choice.ToolCalls = whole(choice.ToolCalls)
				markCutOff(choice)
			}
		}
	}
	return response, err
}

// markCutOff sees to it that a call which was cut off before its arguments began is not
// taken for one without arguments: an agent does not look why the model has stopped.
func markCutOff(choice *llms.ContentChoice) {
	if len(choice.ToolCalls) == 0 || !cutOff(choice) && choice.StopReason != "" {
		return
	}
	last := choice.ToolCalls[len(choice.ToolCalls)-1].FunctionCall
	if last != nil && strings.TrimSpace(last.Arguments) == "" {
		last.Arguments = "{"
	}
}
