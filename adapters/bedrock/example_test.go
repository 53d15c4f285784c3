package bedrock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// The loop of an agent: ask the model, make its calls, and again, until it calls nothing.
func ExampleTools() {
	answer := func(ctx context.Context, client *bedrockruntime.Client, reg *registry.Registry, messages []types.Message) (types.Message, error) {
		model := "us.anthropic.claude-sonnet-4-6"
		for {
			turn, err := belt.Tools(ctx, reg, &belt.Options{Model: model})
			if err != nil {
				return types.Message{}, err
			}
			out, err := client.Converse(ctx, &bedrockruntime.ConverseInput{
				ModelId: &model, Messages: messages, ToolConfig: turn.Config(messages),
			})
			if err != nil {
				return types.Message{}, err
			}
			message := belt.Message(out)
			results, err := turn.Run(ctx, out)
			if err != nil {
				return message, err
			}
			if results == nil {
				return message, nil
			}
			messages = append(append(messages, message), results...)
		}
	}
	_ = answer
}

// A call that needs an approval: show it to somebody, and wait until it is answered.
func ExampleTurn_Results() {
	run := func(ctx context.Context, turn *belt.Turn, out *bedrockruntime.ConverseOutput) ([]types.Message, error) {
		results, err := turn.Run(ctx, out)
		var waiting *profile.WaitingError
		if !errors.As(err, &waiting) {
			return results, err
		}
		for _, a := range waiting.Waiting() {
			if asks := a.Approval(); asks != nil {
				fmt.Println("waits for approval:", asks.ID, asks.Tool.Name)
			}
			if url, needed := a.Login(); needed {
				fmt.Println("waits for a login:", url)
			}
		}
		answers, err := turn.Wait(ctx, waiting)
		return turn.Results(answers...), err
	}
	_ = run
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

// What a model called, for programs that make the calls themselves.
func ExampleCalls() {
	for _, call := range belt.Calls(&bedrockruntime.ConverseOutput{}) {
		fmt.Println(call.ID, call.Name, string(call.Arguments))
	}
	// Output:
}
