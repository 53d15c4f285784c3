package openai_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	belt "github.com/mcpbelt/mcpbelt/adapters/openai"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// answer lets a model work until it has an answer. OpenAI keeps the conversation; the
// params have what it has not been told yet, also if there is an error.
func answer(ctx context.Context, client openai.Client, reg *registry.Registry, params *responses.ResponseNewParams) (string, error) {
	for {
		tools, err := belt.ResponseTools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		params.Tools = tools.Params()
		response, err := client.Responses.New(ctx, *params)
		if err != nil {
			return "", err
		}
		results, err := tools.Run(ctx, response)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		if results != nil || response.OutputText() != "" { // else there is nothing to go on from
			params.PreviousResponseID = openai.String(response.ID)
			params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: results}
		}
		if results == nil || err != nil {
			return response.OutputText(), err
		}
	}
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.ResponseTurn, waiting *profile.WaitingError) ([]responses.ResponseInputItemUnionParam, error) {
	show(waiting)
	answers, err := tools.Wait(ctx, waiting)
	return tools.Results(answers...), err
}

// show tells the people what waits for them.
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

// stateless lets a model work in a conversation that OpenAI does not keep, and returns it,
// also if there is an error.
func stateless(ctx context.Context, client openai.Client, reg *registry.Registry, input responses.ResponseInputParam) (responses.ResponseInputParam, error) {
	for {
		tools, err := belt.ResponseTools(ctx, reg, nil)
		if err != nil {
			return input, err
		}
		response, err := client.Responses.New(ctx, responses.ResponseNewParams{
			Model:   openai.ChatModelGPT5_4Mini,
			Store:   openai.Bool(false),
			Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
			Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			Tools:   tools.Params(),
		})
		if err != nil {
			return input, err
		}
		results, err := tools.Run(ctx, response)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		input = belt.AppendInput(belt.AppendInput(input, belt.Input(response)...), results...)
		if results == nil || err != nil {
			return input, err
		}
	}
}

// streamed returns the response that a stream ends with.
func streamed(ctx context.Context, client openai.Client, params responses.ResponseNewParams) (*responses.Response, error) {
	stream := client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		switch event.Type {
		case "response.output_text.delta":
			fmt.Print(event.Delta)
		case "response.completed", "response.incomplete", "response.failed":
			return &event.Response, nil
		}
	}
	return nil, cmp.Or(stream.Err(), io.ErrUnexpectedEOF)
}

// complete lets a model work by Chat Completions, as a stream. The params keep the
// conversation, also if there is an error.
func complete(ctx context.Context, client openai.Client, reg *registry.Registry, params *openai.ChatCompletionNewParams) (string, error) {
	for {
		tools, err := belt.ChatTools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		params.Tools = tools.Params()
		choice, err := belt.Collect(client.Chat.Completions.NewStreaming(ctx, *params), nil)
		if err != nil {
			return "", err
		}
		results, err := tools.Run(ctx, choice)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			show(waiting)
			var answers []profile.Answer
			answers, err = tools.Wait(ctx, waiting)
			results = tools.Results(answers...)
		}
		params.Messages = belt.Append(belt.Append(params.Messages, belt.Message(choice)), results...)
		if results == nil || err != nil {
			return choice.Message.Content, err
		}
	}
}

// adding returns a registry with a tool that adds.
func adding() *registry.Registry {
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	return reg
}

func ExampleResponseTools() {
	tools, err := belt.ResponseTools(context.Background(), adding(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools.Set().Tools() {
		fmt.Println(tool.Name, "-", tool.Description)
	}
	fmt.Println(len(tools.Params()))
	// Output:
	// add - Adds two numbers.
	// 1
}

// OpenAI searches the tools that are too many, and its programs call those that only
// read.
func ExampleOptions() {
	opts := &belt.Options{Turn: profile.TurnOptions{
		ProviderSearch: true,
		Options: profile.Options{AllowedCallers: func(d *registry.Definition) []string {
			if d.Annotations != nil && d.Annotations.ReadOnlyHint {
				return []string{"direct", "programmatic"}
			}
			return nil
		}},
	}}
	tools, err := belt.ResponseTools(context.Background(), adding(), opts)
	fmt.Println(tools.Set().Searching(), tools.Set().Programs(), err)
	// Output: false false <nil>
}

func ExampleResponseTurn_Run() {
	ctx := context.Background()
	tools, _ := belt.ResponseTools(ctx, adding(), nil)
	// The response comes from client.Responses.New.
	var response responses.Response
	_ = json.Unmarshal([]byte(`{"id":"resp_1","status":"completed","output":[
		{"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"A\":1,\"B\":2}"},
		{"type":"function_call","call_id":"call_2","name":"add","arguments":"{\"A\":3,\"B\":4}"}]}`), &response)
	results, err := tools.Run(ctx, &response)
	for _, item := range results {
		fmt.Println(item.OfFunctionCallOutput.CallID.Value, item.OfFunctionCallOutput.Output.OfString.Value, err)
	}
	// Output:
	// call_1 3 <nil>
	// call_2 7 <nil>
}

func ExampleChatTurn_Run() {
	ctx := context.Background()
	tools, _ := belt.ChatTools(ctx, adding(), nil)
	// The completion comes from client.Chat.Completions.New.
	var completion openai.ChatCompletion
	_ = json.Unmarshal([]byte(`{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[
		{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"A\":1,\"B\":2}"}}]}}]}`), &completion)
	results, err := tools.Run(ctx, completion.Choices[0])
	fmt.Println(results[0].OfTool.Content.OfString.Value, err)
	// Output: 3 <nil>
}

func ExampleChatTools() {
	tools, err := belt.ChatTools(context.Background(), adding(), &belt.Options{Strict: true})
	fmt.Println(len(tools.Params()), err)
	// Output: 1 <nil>
}

// The message goes back in a form that the API takes, whatever the model wrote.
func ExampleMessage() {
	var completion openai.ChatCompletion
	_ = json.Unmarshal([]byte(`{"choices":[{"finish_reason":"length","message":{"role":"assistant","tool_calls":[
		{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"A\":1,"}}]}}]}`), &completion)
	data, err := json.Marshal(belt.Message(completion.Choices[0]))
	fmt.Println(string(data), err)
	// Output: {"tool_calls":[{"id":"call_1","function":{"arguments":"{}","name":"add"},"type":"function"}],"role":"assistant"} <nil>
}

// What a response says goes back as input, if OpenAI does not keep the conversation.
func ExampleInput() {
	var response responses.Response
	_ = json.Unmarshal([]byte(`{"output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"add","arguments":"{}"}]}`), &response)
	data, err := json.Marshal(belt.Input(&response))
	fmt.Println(string(data), err)
	// Output: [{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"add","arguments":"{}"}] <nil>
}

// The whole loop, in all ways.
func Example() {
	client, reg := openai.NewClient(option.WithAPIKey("key")), registry.New(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("What is new?", responses.EasyInputMessageRoleUser)}
	params := responses.ResponseNewParams{Model: openai.ChatModelGPT5_4Mini, Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input}}
	_, kept := answer(ctx, client, reg, &params)
	params.Input.OfInputItemList = append(params.Input.OfInputItemList,
		responses.ResponseInputItemParamOfMessage("Never mind. What time is it?", responses.EasyInputMessageRoleUser))
	_, sent := stateless(ctx, client, reg, input)
	_, chat := complete(ctx, client, reg, &openai.ChatCompletionNewParams{
		Model:    openai.ChatModelGPT5_4Mini,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is new?")},
	})
	_, stream := streamed(ctx, client, params)
	for _, err := range []error{kept, sent, stream, chat} {
		fmt.Println(errors.Is(err, context.Canceled))
	}
	// Output:
	// true
	// true
	// true
	// true
}

// A call that a program never answered, since it broke down, is answered before the user goes on.
func ExampleAppend() {
	var kept openai.ChatCompletionMessageParamUnion
	_ = json.Unmarshal([]byte(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]}`), &kept)
	for _, m := range belt.Append([]openai.ChatCompletionMessageParamUnion{openai.UserMessage("What time is it?"), kept}, openai.UserMessage("Are you there?")) {
		fmt.Println(m.OfUser != nil, m.OfAssistant != nil, m.OfTool != nil)
	}
	// Output:
	// true false false
	// false true false
	// false false true
	// true false false
}

func ExampleAppendInput() {
	call := responses.ResponseInputItemParamOfFunctionCall("{}", "a", "now")
	question := responses.ResponseInputItemParamOfMessage("Are you there?", responses.EasyInputMessageRoleUser)
	input := belt.AppendInput([]responses.ResponseInputItemUnionParam{call}, question)
	fmt.Println(len(input), input[1].OfFunctionCallOutput.CallID) // the call got an answer
	// Output: 3 a
}

// The text of a stream is shown as it comes; the choice is what Run and Message take.
func ExampleCollect() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	client := openai.NewClient(option.WithAPIKey("key"))
	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: "gpt-5.4-mini"})
	_, err := belt.Collect(stream, func(chunk openai.ChatCompletionChunk) { fmt.Print(chunk.Choices[0].Delta.Content) })
	fmt.Println(errors.Is(err, context.Canceled))
	// Output: true
}
