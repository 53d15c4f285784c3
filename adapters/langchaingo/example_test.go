package langchaingo_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"

	belt "github.com/mcpbelt/mcpbelt/adapters/langchaingo"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// answer has a model answer the last of the messages, with the tools of a registry, and
// returns the conversation, also if there is an error.
func answer(ctx context.Context, llm llms.Model, reg *registry.Registry, messages []llms.MessageContent) ([]llms.MessageContent, error) {
	for {
		turn, err := belt.Tools(ctx, reg, nil) // what is listed now
		if err != nil {
			return messages, err
		}
		response, err := llm.GenerateContent(ctx, messages, llms.WithTools(turn.Params(messages...)))
		if err != nil {
			return messages, err
		}
		results, err := turn.Run(ctx, response)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			show(waiting)
			var answers []profile.Answer
			answers, err = turn.Wait(ctx, waiting)
			results = turn.Messages(response, answers...)
		}
		messages = turn.Append(messages, results...)
		if err != nil {
			return messages, err
		}
		if results == nil {
			said := llms.TextParts(llms.ChatMessageTypeAI, response.Choices[0].Content)
			return append(messages, said), nil
		}
	}
}

// show tells a person what waits for them.
func show(waiting *profile.WaitingError) {
	for _, a := range waiting.Waiting() {
		if request := a.Approval(); request != nil {
			fmt.Printf("Approve %s %s?\n", request.Tool.Name, request.Args)
		}
		if url, ok := a.Login(); ok {
			fmt.Println("Log in at", url)
		}
	}
}

func ExampleTurn_Run() {
	ctx := context.Background()
	reg := registry.New(nil)
	if err := reg.Add(weather()); err != nil {
		fmt.Println(err)
		return
	}
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "What is the weather in Bonn?")}
	messages, err := answer(ctx, newParrot(), reg, messages)
	fmt.Println(messages[len(messages)-1].Parts[0], err)
	messages = append(messages, llms.TextParts(llms.ChatMessageTypeHuman, "Never mind. What time is it?"))
	fmt.Println(len(messages), "messages")
	// Output:
	// The tool said: rain in Bonn <nil>
	// 5 messages
}

func ExampleTurn_AgentTools() {
	ctx := context.Background()
	policy, err := policy.New(approval.Ask)
	if err != nil {
		fmt.Println(err)
		return
	}
	reg := registry.New(&registry.Options{Approver: policy})
	if err := reg.Add(weather()); err != nil {
		fmt.Println(err)
		return
	}
	approve := func(_ context.Context, waiting *profile.WaitingError) error {
		show(waiting)
		for _, a := range waiting.Waiting() { // elsewhere, when the person has said yes
			if _, err := reg.Approve(ctx, a.Approval().ID, nil); err != nil {
				return err
			}
		}
		return nil
	}
	llm := newParrot()

	turn, err := belt.Tools(ctx, reg, &belt.Options{Waiting: approve})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := agents.NewOpenAIFunctionsAgent(turn.Model(llm), turn.AgentTools())
	text, err := chains.Run(ctx, agents.NewExecutor(agent), "What is the weather in Bonn?")
	fmt.Println(text, err)
	// Output:
	// Approve weather {"city":"Bonn"}?
	// The tool said: rain in Bonn <nil>
}

type place struct {
	City string `json:"city"`
}

func weather() registry.Tool {
	return registry.MustFunc("weather", "The weather in a city.", func(_ context.Context, p place) (string, error) {
		return "rain in " + p.City, nil
	})
}

// A parrot is a model that calls the tool weather, and then says what came of it.
type parrot struct{}

func newParrot() llms.Model { return parrot{} }

func (parrot) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }

func (parrot) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	choice := &llms.ContentChoice{}
	if r, ok := messages[len(messages)-1].Parts[0].(llms.ToolCallResponse); ok {
		choice.Content = "The tool said: " + r.Content
	} else {
		choice.ToolCalls = []llms.ToolCall{{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "weather", Arguments: `{"city":"Bonn"}`}}}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}
