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

// answer lets a model work until it has an answer to a question. OpenAI keeps the
// conversation.
func answer(ctx context.Context, client openai.Client, reg *registry.Registry, question string) (string, error) {
	params := responses.ResponseNewParams{Model: openai.ChatModelGPT5_4Mini}
	params.Input.OfString = openai.String(question)
	for {
		tools, err := belt.ResponseTools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		params.Tools = tools.Params()
		response, err := client.Responses.New(ctx, params)
		if err != nil {
			return "", err
		}
		results, err := tools.Run(ctx, response)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		if err != nil {
			return "", err
		}
		if results == nil {
			return response.OutputText(), nil
		}
		params.PreviousResponseID = openai.String(response.ID)
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: results}
	}
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.ResponseTurn, waiting *profile.WaitingError) ([]responses.ResponseInputItemUnionParam, error) {
	for _, a := range waiting.Waiting() {
		if request := a.Approval(); request != nil {
			fmt.Printf("%s wants %s: answer with reg.Resume or reg.Refuse, %s\n", request.Tool.DisplayName(), request.Args, request.ID)
		}
		if url, needed := a.Login(); needed {
			fmt.Println("log in at", url)
		}
	}
	answers, err := tools.Wait(ctx, waiting)
	if err != nil {
		return nil, err
	}
	return tools.Results(answers...), nil
}

// stateless lets a model work in a conversation that OpenAI does not keep.
func stateless(ctx context.Context, client openai.Client, reg *registry.Registry, input responses.ResponseInputParam) (string, error) {
	for {
		tools, err := belt.ResponseTools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		response, err := client.Responses.New(ctx, responses.ResponseNewParams{
			Model:   openai.ChatModelGPT5_4Mini,
			Store:   openai.Bool(false),
			Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
			Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			Tools:   tools.Params(),
		})
		if err != nil {
			return "", err
		}
		results, err := tools.Run(ctx, response)
		if err != nil {
			return "", err
		}
		if results == nil {
			return response.OutputText(), nil
		}
		input = append(append(input, belt.Input(response)...), results...)
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

// complete lets a model work by Chat Completions, as a stream.
func complete(ctx context.Context, client openai.Client, reg *registry.Registry, question string) (string, error) {
	params := openai.ChatCompletionNewParams{
		Model:    openai.ChatModelGPT5_4Mini,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
	}
	for {
		tools, err := belt.ChatTools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		params.Tools = tools.Params()
		stream := client.Chat.Completions.NewStreaming(ctx, params)
		var whole openai.ChatCompletionAccumulator
		fits := true
		for fits && stream.Next() {
			fits = whole.AddChunk(stream.Current())
		}
		if err := errors.Join(stream.Err(), stream.Close()); err != nil {
			return "", err
		}
		if !fits || len(whole.Choices) == 0 {
			return "", errors.New("the stream is no answer")
		}
		choice := whole.Choices[0]
		results, err := tools.Run(ctx, choice)
		if err != nil {
			return "", err
		}
		if results == nil {
			return choice.Message.Content, nil
		}
		params.Messages = append(append(params.Messages, belt.Message(choice)), results...)
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
	fmt.Println(tools.Searching(), tools.Programs(), err)
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
	_, kept := answer(ctx, client, reg, "What is new?")
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("What is new?", responses.EasyInputMessageRoleUser)}
	_, sent := stateless(ctx, client, reg, input)
	_, chat := complete(ctx, client, reg, "What is new?")
	_, stream := streamed(ctx, client, responses.ResponseNewParams{Model: openai.ChatModelGPT5_4Mini})
	for _, err := range []error{kept, sent, stream, chat} {
		fmt.Println(errors.Is(err, context.Canceled))
	}
	// Output:
	// true
	// true
	// true
	// true
}
