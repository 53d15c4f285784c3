package fantasy_test

import (
	"context"
	"fmt"

	"charm.land/fantasy"

	belt "github.com/mcpbelt/mcpbelt/adapters/fantasy"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// ask lets an agent work until it has an answer, and returns the conversation.
func ask(ctx context.Context, model fantasy.LanguageModel, reg *registry.Registry, messages []fantasy.Message, question string) ([]fantasy.Message, error) {
	opts := &belt.Options{Waiting: show}
	agent := fantasy.NewAgent(model, fantasy.WithPrepareStep(belt.PrepareStep(reg, opts)))
	result, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: question, Messages: messages})
	if err != nil {
		return messages, err
	}
	messages = append(messages, fantasy.NewUserMessage(question))
	for _, step := range result.Steps {
		messages = append(messages, step.Messages...)
	}
	return messages, nil
}

// show tells a person what waits.
func show(_ context.Context, waiting *profile.WaitingError) error {
	for _, a := range waiting.Waiting() {
		if request := a.Approval(); request != nil {
			fmt.Printf("%s wants %s: answer with reg.Approve or reg.Deny, %s\n", request.Tool.DisplayName(), request.Args, request.ID)
		}
		if url, needed := a.Login(); needed {
			fmt.Println("log in at", url)
		}
	}
	return nil
}

// The loop of a program, in a function.
func Example() { _ = ask }

// adding returns a registry with a tool.
func adding() *registry.Registry {
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	return reg
}

func ExampleTools() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, adding(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := tools[0].Run(ctx, fantasy.ToolCall{ID: "call_1", Name: "add", Input: `{"A":1,"B":2}`})
	fmt.Println(tools[0].Info().Description, res.Content, err)
	// Output: Adds two numbers. 3 <nil>
}

// The tools of each step are those that are listed then.
func ExamplePrepareStep() {
	reg := registry.New(nil)
	prepare := belt.PrepareStep(reg, nil)
	_, before, _ := prepare(context.Background(), fantasy.PrepareStepFunctionOptions{})
	_ = reg.Add(registry.MustFunc("now", "The time.", func(context.Context, struct{}) (string, error) { return "late", nil }))
	_, after, _ := prepare(context.Background(), fantasy.PrepareStepFunctionOptions{})
	fmt.Println(len(before.Tools), len(after.Tools))
	// Output: 0 1
}
