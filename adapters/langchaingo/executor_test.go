package langchaingo_test

import (
	"context"
	"testing"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
	"github.com/tmc/langchaingo/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/langchaingo"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// history are the messages before that of the user, in langchaingo's form of a prompt.
type history []llms.ChatMessage

func (h history) FormatMessages(map[string]any) ([]llms.ChatMessage, error) { return h, nil }
func (h history) GetInputVariables() []string                               { return nil }

// An employee has the executor of langchaingo work for each message of the user.
type employee struct {
	llm      llms.Model
	registry *registry.Registry
	history  history
	waiting  chan *profile.WaitingError
	over     chan outcome
	end      context.CancelCauseFunc // of the work
}

type outcome struct {
	text string
	err  error
}

func (e *employee) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	turn, err := belt.Tools(ctx, e.registry, &belt.Options{Waiting: func(_ context.Context, w *profile.WaitingError) error {
		e.waiting <- w
		return nil
	}})
	if err != nil {
		return nil, err
	}
	agent := agents.NewOpenAIFunctionsAgent(turn.Model(e.llm), turn.AgentTools(),
		agents.NewOpenAIOption().WithExtraMessages([]prompts.MessageFormatter{e.history}))
	executor := agents.NewExecutor(agent, agents.WithReturnIntermediateSteps())
	e.over = make(chan outcome, 1)
	// The work lives longer than a request that comes back while a person is asked.
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	e.end = end
	go func() {
		defer end(nil)
		result, err := chains.Call(work, executor, map[string]any{"input": message})
		text, _ := result["output"].(string)
		if err == nil {
			e.remember(message, result["intermediateSteps"].([]schema.AgentStep), text)
		}
		e.over <- outcome{text, err}
	}()
	return e.Resume(ctx)
}

// Resume returns when the executor is done, or its tool waits for a person.
func (e *employee) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	defer context.AfterFunc(ctx, func() { e.end(context.Cause(ctx)) })()
	select {
	case w := <-e.waiting:
		return adaptertest.Waiting(w), nil
	case o := <-e.over:
		return &adaptertest.Turn{Text: o.text}, o.err
	}
}

func (e *employee) remember(message string, steps []schema.AgentStep, text string) {
	e.history = append(e.history, llms.HumanChatMessage{Content: message})
	for _, s := range steps {
		call := llms.ToolCall{ID: s.Action.ToolID, Type: "function", FunctionCall: &llms.FunctionCall{Name: s.Action.Tool, Arguments: s.Action.ToolInput}}
		e.history = append(e.history,
			llms.AIChatMessage{ToolCalls: []llms.ToolCall{call}},
			llms.ToolChatMessage{ID: s.Action.ToolID, Content: s.Observation})
	}
	e.history = append(e.history, llms.AIChatMessage{Content: text})
}

func TestExecutor(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "langchaingo", Runtime: "Executor", Framework: "github.com/tmc/langchaingo",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`Options.Waiting` is told, and the tool waits",
		InOrder: true, TextOnly: true,
		Without: map[string]string{"unknown": "the executor itself answers such a call, and names no other", "mended": "the executor itself answers such calls", "thoughts": noThoughts},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &employee{llm: newModel(t, url), registry: r, waiting: make(chan *profile.WaitingError, 1)}
		},
	})
}
