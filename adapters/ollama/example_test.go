package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ollama/ollama/api"

	belt "github.com/mcpbelt/mcpbelt/adapters/ollama"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// answer lets a model work until it has an answer. The request keeps the conversation,
// also if there is an error.
func answer(ctx context.Context, client *api.Client, reg *registry.Registry, request *api.ChatRequest) (string, error) {
	for {
		tools, err := belt.Tools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		request.Tools = tools.Params()
		var message api.Message
		if err := client.Chat(ctx, request, belt.Collect(&message)); err != nil {
			return "", err
		}
		results, err := tools.Run(ctx, message)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		if results == nil && err != nil {
			return "", err // there is nothing to keep
		}
		request.Messages = belt.Append(belt.Append(request.Messages, message), results...)
		if results == nil || err != nil {
			return message.Content, err
		}
	}
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.Turn, waiting *profile.WaitingError) ([]api.Message, error) {
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

// printed is Collect for programs that show the answer as it comes.
func printed(message *api.Message) api.ChatResponseFunc {
	collect := belt.Collect(message)
	return func(piece api.ChatResponse) error {
		fmt.Print(piece.Message.Content)
		return collect(piece)
	}
}

// blind returns tools for a model that cannot see.
func blind(ctx context.Context, reg *registry.Registry) (*belt.Turn, error) {
	return belt.Tools(ctx, reg, &belt.Options{Turn: profile.TurnOptions{TextOnly: true}})
}

func newRegistry() *registry.Registry {
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	return reg
}

func ExampleTools() {
	tools, err := belt.Tools(context.Background(), newRegistry(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools.Params() {
		fmt.Println(tool.Function.Name, "-", tool.Function.Description)
	}
	// Output: add - Adds two numbers.
}

func ExampleTurn_Run() {
	ctx := context.Background()
	tools, _ := belt.Tools(ctx, newRegistry(), nil)
	// The message comes from client.Chat.
	var message api.Message
	_ = json.Unmarshal([]byte(`{"role":"assistant","tool_calls":[
		{"id":"call_1","function":{"name":"add","arguments":{"A":1,"B":2}}},
		{"id":"call_2","function":{"name":"add","arguments":{"A":3,"B":4}}}]}`), &message)
	results, err := tools.Run(ctx, message)
	for _, m := range results {
		fmt.Println(m.Role, m.ToolName, m.ToolCallID, m.Content)
	}
	fmt.Println(err)
	// Output:
	// tool add call_1 3
	// tool add call_2 7
	// <nil>
}

// The model may be told at once of calls that no person answers.
func ExampleTurn_Results() {
	ctx := context.Background()
	reg := registry.New(&registry.Options{Approver: policy.Cautious()})
	_ = reg.Add(registry.MustFunc("wipe", "Deletes everything.", func(context.Context, struct{}) (string, error) { return "all gone", nil }))
	tools, _ := belt.Tools(ctx, reg, nil)
	_, err := tools.Run(ctx, api.Message{ToolCalls: []api.ToolCall{{Function: api.ToolCallFunction{Name: "wipe"}}}})
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		fmt.Println(len(tools.Results(waiting.Answers...)), "message")
	}
	// Output: 1 message
}

func ExampleCollect() {
	var message api.Message
	collect := belt.Collect(&message) // goes to client.Chat
	for i, text := range []string{"It is ", "late."} {
		_ = collect(api.ChatResponse{Message: api.Message{Role: "assistant", Content: text}, Done: i == 1})
	}
	fmt.Println(message.Role, message.Content)
	// Output: assistant It is late.
}

// The whole loop, with approvals and logins.
func Example() {
	client := api.NewClient(&url.URL{Scheme: "http", Host: "127.0.0.1:11434"}, http.DefaultClient)
	reg := newRegistry()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	request := &api.ChatRequest{Model: "qwen3", Messages: []api.Message{{Role: "user", Content: "What is new?"}}}
	_, err := answer(ctx, client, reg, request)
	fmt.Println(errors.Is(err, context.Canceled))
	request.Messages = append(request.Messages, api.Message{Role: "user", Content: "Never mind. What time is it?"})
	var message api.Message
	_ = printed(&message)(api.ChatResponse{Message: api.Message{Content: "Not much.\n"}, Done: true})
	tools, _ := blind(ctx, reg)
	fmt.Println(len(tools.Params()))
	// Output:
	// true
	// Not much.
	// 1
}

// A call that a program never answered, since it broke down, is answered before the user goes on.
func ExampleAppend() {
	kept := api.Message{Role: "assistant", ToolCalls: []api.ToolCall{{Function: api.ToolCallFunction{Name: "now"}}}}
	for _, m := range belt.Append([]api.Message{{Role: "user", Content: "What time is it?"}, kept}, api.Message{Role: "user", Content: "Are you there?"}) {
		fmt.Println(m.Role)
	}
	// Output:
	// user
	// assistant
	// tool
	// user
}
