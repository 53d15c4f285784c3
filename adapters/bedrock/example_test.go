package bedrock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// answer lets a model work until it has an answer to the last of the messages, and returns
// the conversation, also with an error.
func answer(ctx context.Context, client *bedrockruntime.Client, reg *registry.Registry, messages []types.Message) ([]types.Message, error) {
	model := "us.anthropic.claude-sonnet-4-6"
	for {
		tools, err := belt.Tools(ctx, reg, &belt.Options{Model: model})
		if err != nil {
			return messages, err
		}
		out, err := client.Converse(ctx, &bedrockruntime.ConverseInput{
			ModelId: &model, Messages: messages, ToolConfig: tools.Config(messages),
		})
		if err != nil {
			return messages, err
		}
		messages = belt.Append(messages, belt.Message(out))
		results, err := tools.Run(ctx, out)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		messages = belt.Append(messages, results...)
		if err != nil || results == nil {
			return messages, err
		}
	}
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.Turn, waiting *profile.WaitingError) ([]types.Message, error) {
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

// The whole loop, with approvals and logins.
func Example() {
	client, reg := bedrockruntime.New(bedrockruntime.Options{Region: "us-east-1"}), registry.New(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	messages, err := answer(ctx, client, reg, []types.Message{user("What is new?")})
	fmt.Println(len(messages), errors.Is(err, context.Canceled))
	// Output: 1 true
}

func user(text string) types.Message {
	return types.Message{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: text}}}
}

// A call was cancelled, and the user goes on.
func ExampleAppend() {
	ctx, cancel := context.WithCancel(context.Background())
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("wait", "Waits.", func(ctx context.Context, _ struct{}) (int, error) {
		cancel() // the user has pressed a key
		<-ctx.Done()
		return 0, ctx.Err()
	}))
	tools, err := belt.Tools(ctx, reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := []types.Message{user("Wait for it.")}
	out := &bedrockruntime.ConverseOutput{Output: &types.ConverseOutputMemberMessage{Value: types.Message{
		Content: []types.ContentBlock{&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String("tooluse_1"), Name: aws.String("wait")}}},
	}}}
	messages = belt.Append(messages, belt.Message(out))
	results, err := tools.Run(ctx, out)
	messages = belt.Append(messages, results...)
	fmt.Println(err)
	messages = belt.Append(messages, user("Never mind. What time is it?"))
	for _, m := range messages {
		fmt.Printf("%s %T\n", m.Role, m.Content[0])
	}
	// Output:
	// context canceled
	// user *types.ContentBlockMemberText
	// assistant *types.ContentBlockMemberToolUse
	// user *types.ContentBlockMemberToolResult
	// assistant *types.ContentBlockMemberText
	// user *types.ContentBlockMemberText
}

func ExampleTools() {
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	tools, err := belt.Tools(context.Background(), reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools.Config(nil).Tools {
		spec := tool.(*types.ToolMemberToolSpec).Value
		fmt.Println(*spec.Name, "-", *spec.Description)
	}
	// Output: add - Adds two numbers.
}

// A stream: text is shown as it comes, calls are made when they are whole.
func ExampleCollect() {
	converse := func(ctx context.Context, client *bedrockruntime.Client, in *bedrockruntime.ConverseStreamInput) (*bedrockruntime.ConverseOutput, error) {
		stream, err := client.ConverseStream(ctx, in)
		if err != nil {
			return nil, err
		}
		return belt.Collect(stream.GetStream(), func(event types.ConverseStreamOutput) {
			if e, ok := event.(*types.ConverseStreamOutputMemberContentBlockDelta); ok {
				if text, ok := e.Value.Delta.(*types.ContentBlockDeltaMemberText); ok {
					fmt.Print(text.Value)
				}
			}
		})
	}
	_ = converse
}

// The message of a model as it can go back into the conversation.
func ExampleMessage() {
	out := &bedrockruntime.ConverseOutput{Output: &types.ConverseOutputMemberMessage{Value: types.Message{
		Role: types.ConversationRoleAssistant,
		Content: []types.ContentBlock{&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: aws.String("tooluse_1"), Name: aws.String("$READ FILE"),
		}}},
	}}}
	use := belt.Message(out).Content[0].(*types.ContentBlockMemberToolUse)
	fmt.Println(*use.Value.Name)
	// Output: _READ_FILE
}

// A program with functions of its own answers their calls itself.
func ExampleTurn_Calls() {
	ctx := context.Background()
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }))
	tools, err := belt.Tools(ctx, reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	use := func(id, name string, input map[string]any) types.ContentBlock {
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String(id), Name: aws.String(name), Input: document.NewLazyDocument(input)}}
	}
	out := &bedrockruntime.ConverseOutput{Output: &types.ConverseOutputMemberMessage{Value: types.Message{
		Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{use("1", "own", nil), use("2", "add", map[string]any{"A": 1, "B": 2})},
	}}}
	var ours []profile.Call
	for _, call := range tools.Calls(out) {
		if call.Name == "own" {
			fmt.Println("the program's:", call.ID)
			continue
		}
		ours = append(ours, call)
	}
	answers, err := tools.Turn.Run(ctx, ours)
	fmt.Println(result.Text(answers[0].Result), err)
	// Output:
	// the program's: 1
	// 3 <nil>
}
