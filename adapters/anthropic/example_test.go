package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// answer lets a model work until it has an answer to the last of the messages in params,
// which keep the conversation, also if there is an error.
func answer(ctx context.Context, client *anthropic.Client, reg *registry.Registry, params *anthropic.MessageNewParams) (*anthropic.Message, error) {
	for {
		tools, err := belt.Tools(ctx, reg, nil)
		if err != nil {
			return nil, err
		}
		params.Tools = tools.Params(params.Messages...)
		message, err := client.Messages.New(ctx, *params)
		if err != nil {
			return nil, err
		}
		results, err := tools.Run(ctx, message)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		params.Messages = belt.Append(belt.Append(params.Messages, message.ToParam()), results...)
		if err != nil || results == nil && message.StopReason != anthropic.StopReasonPauseTurn {
			return message, err
		}
	}
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.Turn, waiting *profile.WaitingError) ([]anthropic.MessageParam, error) {
	show(waiting)
	answers, err := tools.Wait(ctx, waiting)
	return tools.Results(answers...), err
}

// show tells a person what waits for them.
func show(waiting *profile.WaitingError) {
	for _, a := range waiting.Waiting() {
		if request := a.Approval(); request != nil {
			fmt.Printf("%s wants %s: answer with reg.Approve or reg.Deny, %s\n", request.Tool.DisplayName(), request.Args, request.ID)
		}
		if url, needed := a.Login(); needed {
			fmt.Println("log in at", url)
		}
	}
}

// run lets the SDK's tool runner work until the model has an answer to the last of the
// messages, and returns the conversation, also if there is an error.
func run(ctx context.Context, client *anthropic.Client, reg *registry.Registry, messages []anthropic.BetaMessageParam) ([]anthropic.BetaMessageParam, error) {
	tools, err := belt.NewRunnerTools(ctx, reg, nil)
	if err != nil {
		return messages, err
	}
	runner := client.Beta.Messages.NewToolRunner(tools.List(), anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 4096, Messages: messages,
		},
	})
	for {
		var waiting *profile.WaitingError
		if err := tools.Prepare(ctx, runner); errors.As(err, &waiting) {
			show(waiting)
			continue // Prepare waits for the people now
		} else if err != nil {
			return tools.Messages(runner), err
		}
		message, err := runner.NextMessage(ctx)
		if message == nil {
			return tools.Messages(runner), err // the model has an answer, if err is nil
		}
	}
}

func adder() *registry.Registry {
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	return reg
}

func ExampleTools() {
	tools, err := belt.Tools(context.Background(), adder(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools.Params() {
		fmt.Println(tool.OfTool.Name, "-", tool.OfTool.Description.Value)
	}
	// Output: add - Adds two numbers.
}

func ExampleTurn_Run() {
	ctx := context.Background()
	tools, _ := belt.Tools(ctx, adder(), nil)
	// The message comes from client.Messages.New.
	var message anthropic.Message
	_ = json.Unmarshal([]byte(`{"stop_reason":"tool_use","content":[
		{"type":"tool_use","id":"toolu_1","name":"add","input":{"A":1,"B":2}},
		{"type":"tool_use","id":"toolu_2","name":"add","input":{"A":3,"B":4}}]}`), &message)
	results, err := tools.Run(ctx, &message)
	for _, block := range results[0].OfUser.Content {
		fmt.Println(block.OfToolResult.ToolUseID, block.OfToolResult.Content[0].OfText.Text)
	}
	fmt.Println(err)
	// Output:
	// toolu_1 3
	// toolu_2 7
	// <nil>
}

// The API searches where the model has too many tools to be told of all.
func ExampleOptions() {
	ctx := context.Background()
	tools, _ := belt.Tools(ctx, adder(), &belt.Options{
		Turn:  profile.TurnOptions{ProviderSearch: true, Toolset: &toolset.SetOptions{MaxTools: 50}},
		Cache: anthropic.CacheControlEphemeralTTLTTL1h,
	})
	fmt.Println(len(tools.Params()), tools.Set().Searching())
	// Output: 1 false
}

func ExampleNewRunnerTools() {
	tools, err := belt.NewRunnerTools(context.Background(), adder(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools.List() {
		fmt.Println(tool.Name(), "-", tool.Description())
	}
	// Output: add - Adds two numbers.
}

// The whole loop with the tool runner of the SDK.
func ExampleRunnerTools_Prepare() {
	client := anthropic.NewClient(option.WithAPIKey("key"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	messages := []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("What is 1 + 2?"))}
	messages, err := run(ctx, &client, adder(), messages)
	fmt.Println(len(messages), errors.Is(err, context.Canceled))
	// Output: 1 true
}

// The program broke down amid a call, and the user goes on with what was kept.
func ExampleRunnerTools_Messages() {
	client := anthropic.NewClient(option.WithAPIKey("key"))
	tools, err := belt.NewRunnerTools(context.Background(), adder(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := client.Beta.Messages.NewToolRunner(tools.List(), anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Messages: []anthropic.BetaMessageParam{
			anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("What is 1 + 2?")),
			{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{
				anthropic.NewBetaToolUseBlock("toolu_1", map[string]any{"A": 1, "B": 2}, "add"),
			}}},
		}},
	})
	messages := tools.Messages(runner)
	messages = append(messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Never mind.")))
	for _, m := range messages {
		content := *m.GetContent().AsAny().(*[]anthropic.BetaContentBlockParamUnion)
		fmt.Println(*m.GetRole(), *content[0].GetType())
	}
	// Output:
	// user text
	// assistant tool_use
	// user tool_result
	// user text
}

// The whole loop, with approvals and logins.
func Example() {
	client := anthropic.NewClient(option.WithAPIKey("key"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	params := anthropic.MessageNewParams{
		Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 4096,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is 1 + 2?"))},
	}
	_, err := answer(ctx, &client, adder(), &params)
	fmt.Println(errors.Is(err, context.Canceled))

	// The user goes on.
	params.Messages = belt.Append(params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock("And 2 + 3?")))
	// Output: true
}

// What the model wrote goes into the conversation as the API takes it back, and the user
// can go on without the result of a call.
func ExampleAppend() {
	var message anthropic.Message
	_ = json.Unmarshal([]byte(`{"role":"assistant","stop_reason":"refusal","content":[
		{"type":"text","text":" "},{"type":"tool_use","id":"a","name":"add","input":{}}]}`), &message)
	conversation := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("1 + 2?"))}
	conversation = belt.Append(conversation, message.ToParam())
	conversation = belt.Append(conversation, anthropic.NewUserMessage(anthropic.NewTextBlock("And 2 + 3?")))
	for _, m := range conversation {
		for _, block := range *m.GetContent().AsAny().(*[]anthropic.ContentBlockParamUnion) {
			fmt.Println(*m.GetRole(), *block.GetType())
		}
	}
	// Output:
	// user text
	// assistant tool_use
	// user tool_result
	// user text
}

func ExampleBetaAppend() {
	var message anthropic.BetaMessage // in which the model has said nothing
	conversation := []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("1 + 2?"))}
	message.Role = "assistant"
	conversation = belt.BetaAppend(conversation, message.ToParam())
	fmt.Println(len(conversation))
	// Output: 1
}
