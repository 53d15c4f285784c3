package goopenai_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sashabaranov/go-openai"

	belt "github.com/mcpbelt/mcpbelt/adapters/goopenai"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// answer lets a model work until it has an answer. The request keeps the conversation,
// also if there is an error.
func answer(ctx context.Context, client *openai.Client, reg *registry.Registry, request *openai.ChatCompletionRequest) (string, error) {
	for {
		tools, err := belt.Tools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		request.Tools = tools.Params()
		response, err := client.CreateChatCompletion(ctx, *request)
		if err != nil {
			return "", err
		}
		choice := response.Choices[0]
		results, err := tools.Run(ctx, choice)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		request.Messages = belt.Append(belt.Append(request.Messages, belt.Message(choice)), results...)
		if results == nil || err != nil {
			return choice.Message.Content, err
		}
	}
}

// streamed puts the answer of a stream together.
func streamed(ctx context.Context, client *openai.Client, request openai.ChatCompletionRequest) (openai.ChatCompletionChoice, error) {
	stream, err := client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return openai.ChatCompletionChoice{}, err
	}
	return belt.Collect(stream, nil)
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.Turn, waiting *profile.WaitingError) ([]openai.ChatCompletionMessage, error) {
	for _, a := range waiting.Waiting() {
		if request := a.Approval(); request != nil {
			fmt.Printf("%s wants %s: answer with reg.Approve or reg.Deny, %s\n", request.Tool.DisplayName(), request.Args, request.ID)
		}
		if url, needed := a.Login(); needed {
			fmt.Println("log in at", url)
		}
	}
	answers, err := tools.Wait(ctx, waiting)
	return tools.Results(answers...), err
}

func ExampleTools() {
	ctx := context.Background()
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	tools, err := belt.Tools(ctx, reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools.Params() {
		fmt.Println(tool.Function.Name, "-", tool.Function.Description)
	}
	// Output: add - Adds two numbers.
}

// The message goes back in a form that the API takes, whatever the model wrote.
func ExampleMessage() {
	message := belt.Message(openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{
		Role:      openai.ChatMessageRoleAssistant,
		ToolCalls: []openai.ToolCall{{ID: "call_1", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "now"}}},
	}})
	fmt.Println(message.ToolCalls[0].Function.Arguments)
	// Output: {}
}

func ExampleTurn_Run() {
	ctx := context.Background()
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	tools, _ := belt.Tools(ctx, reg, nil)
	// The choice comes from client.CreateChatCompletion.
	results, err := tools.Run(ctx, openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleAssistant,
		ToolCalls: []openai.ToolCall{
			{ID: "call_1", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "add", Arguments: `{"A":1,"B":2}`}},
			{ID: "call_2", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "add", Arguments: `{"A":3,"B":4}`}},
		},
	}})
	fmt.Println(results[0].Content, results[1].Content, err)
	// Output: 3 7 <nil>
}

// The whole loop, with approvals and logins.
func Example() {
	client, reg := openai.NewClient("key"), registry.New(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	request := openai.ChatCompletionRequest{
		Model:    "gpt-5.4-mini",
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "What is new?"}},
	}
	_, err := answer(ctx, client, reg, &request)
	request.Messages = belt.Append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: "Never mind. What time is it?"})
	_, stream := streamed(ctx, client, request)
	fmt.Println(errors.Is(err, context.Canceled), errors.Is(stream, context.Canceled))
	// Output: true true
}

// The text of a stream is shown as it comes; the choice is what Run and Message take.
func ExampleCollect() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	stream, err := openai.NewClient("key").CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{Model: "gpt-5.4-mini"})
	if err != nil {
		fmt.Println(errors.Is(err, context.Canceled))
		return
	}
	choice, err := belt.Collect(stream, func(chunk openai.ChatCompletionStreamResponse) { fmt.Print(chunk.Choices[0].Delta.Content) })
	fmt.Println(len(choice.Message.ToolCalls), err)
	// Output: true
}
