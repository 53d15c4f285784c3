package genai_test

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"

	belt "github.com/mcpbelt/mcpbelt/adapters/genai"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

const model = "gemini-3-flash-preview"

// answer lets a model work until it has an answer to the last of the contents, and returns
// the conversation, also if there is an error.
func answer(ctx context.Context, client *genai.Client, reg *registry.Registry, contents []*genai.Content) ([]*genai.Content, error) {
	for {
		tools, err := belt.Tools(ctx, reg, nil)
		if err != nil {
			return contents, err
		}
		config := &genai.GenerateContentConfig{Tools: tools.Params()}
		response, err := client.Models.GenerateContent(ctx, model, contents, config)
		if err != nil {
			return contents, err
		}
		results, err := tools.Run(ctx, response)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		content := belt.Content(response)
		if results == nil && (content == nil || err != nil) {
			return contents, err // there is nothing to keep
		}
		contents = belt.Append(belt.Append(contents, content), results...)
		if results == nil || err != nil {
			return contents, err
		}
	}
}

// ask shows what waits, and waits for the people.
func ask(ctx context.Context, tools *belt.Turn, waiting *profile.WaitingError) ([]*genai.Content, error) {
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

// stream sends a request, prints the answer as it comes, and returns the chunks, which are
// one answer.
func stream(ctx context.Context, client *genai.Client, config *genai.GenerateContentConfig, contents []*genai.Content) ([]*genai.GenerateContentResponse, error) {
	var chunks []*genai.GenerateContentResponse
	for chunk, err := range client.Models.GenerateContentStream(ctx, model, contents, config) {
		if err != nil {
			return nil, err
		}
		fmt.Print(chunk.Text())
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

// A chatting program lets genai keep the conversation.
type chatting struct {
	client *genai.Client
	chat   *genai.Chat // at first a new one, of client.Chats.Create
	config genai.GenerateContentConfig
	unsent []*genai.Content // what the model is told next
}

// send sends what is unsent. A chat takes one content with each message, so what stands in
// front of the last goes into the history of another chat, as the API takes it.
func (c *chatting) send(ctx context.Context) (*genai.GenerateContentResponse, error) {
	all := belt.Append(c.chat.History(false), c.unsent...)
	chat, err := c.client.Chats.Create(ctx, model, &c.config, all[:len(all)-1])
	if err != nil {
		return nil, err
	}
	response, err := chat.Send(ctx, all[len(all)-1].Parts...)
	if err != nil {
		return nil, err
	}
	c.chat, c.unsent = chat, nil
	return response, nil
}

// ask lets the model work until it has an answer.
func (c *chatting) ask(ctx context.Context, reg *registry.Registry, question string) (string, error) {
	c.unsent = append(c.unsent, genai.NewContentFromText(question, genai.RoleUser))
	for {
		tools, err := belt.Tools(ctx, reg, nil)
		if err != nil {
			return "", err
		}
		c.config.Tools = tools.Params()
		response, err := c.send(ctx)
		if err != nil {
			return "", err
		}
		results, err := tools.Run(ctx, response)
		var waiting *profile.WaitingError
		if errors.As(err, &waiting) {
			results, err = ask(ctx, tools, waiting)
		}
		c.unsent = results // also if there is an error
		if err != nil || results == nil {
			return response.Text(), err
		}
	}
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
		for _, f := range tool.FunctionDeclarations {
			fmt.Println(f.Name, "-", f.Description)
		}
	}
	// Output: add - Adds two numbers.
}

func ExampleTurn_Run() {
	ctx := context.Background()
	tools, _ := belt.Tools(ctx, newRegistry(), nil)
	// The response comes from client.Models.GenerateContent.
	response := &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{FunctionCall: &genai.FunctionCall{ID: "1", Name: "add", Args: map[string]any{"A": 1, "B": 2}}, ThoughtSignature: []byte("signature")},
		{FunctionCall: &genai.FunctionCall{ID: "2", Name: "add", Args: map[string]any{"A": 3, "B": 4}}},
	}}}}}
	results, err := tools.Run(ctx, response)
	for _, p := range results[0].Parts {
		fmt.Println(p.FunctionResponse.ID, p.FunctionResponse.Response)
	}
	fmt.Println(len(results), err)
	// Output:
	// 1 map[output:3]
	// 2 map[output:7]
	// 1 <nil>
}

// The model may be told at once of calls that no person answers.
func ExampleTurn_Results() {
	ctx := context.Background()
	reg := registry.New(&registry.Options{Approver: policy.Cautious()})
	_ = reg.Add(registry.MustFunc("wipe", "Deletes everything.", func(context.Context, struct{}) (string, error) { return "all gone", nil }))
	tools, _ := belt.Tools(ctx, reg, nil)
	_, err := tools.Run(ctx, &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: genai.NewContentFromFunctionCall("wipe", nil, genai.RoleModel)}}})
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		contents := tools.Results(waiting.Answers...)
		_, failed := contents[0].Parts[0].FunctionResponse.Response["error"]
		fmt.Println("the model is told that it failed:", failed)
	}
	// Output: the model is told that it failed: true
}

// The chunks of a stream are one content for the next request.
func ExampleContent() {
	chunk := func(parts ...*genai.Part) *genai.GenerateContentResponse {
		return &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}}}
	}
	content := belt.Content(
		chunk(&genai.Part{Text: "I look"}), chunk(&genai.Part{Text: " it up."}),
		chunk(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "find"}, ThoughtSignature: []byte("signature")}),
		chunk(&genai.Part{}), // many streams end so, and the API does not take it back
	)
	fmt.Println(content.Role, len(content.Parts), string(content.Parts[2].ThoughtSignature))
	// Output: model 3 signature
}

// The whole loop, with approvals and logins, for streams, and for a chat.
func Example() {
	reg := newRegistry()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is sent here
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI})
	if err != nil {
		fmt.Println(err)
		return
	}
	contents, err := answer(ctx, client, reg, genai.Text("What is new?"))
	fmt.Println(errors.Is(err, context.Canceled))

	// The user goes on.
	contents = append(contents, genai.NewContentFromText("Never mind. What time is it?", genai.RoleUser))

	_, err = stream(ctx, client, &genai.GenerateContentConfig{}, contents)
	fmt.Println(errors.Is(err, context.Canceled))
	chat, _ := client.Chats.Create(ctx, model, nil, nil)
	c := &chatting{client: client, chat: chat}
	_, err = c.ask(ctx, reg, "What is new?")
	fmt.Println(errors.Is(err, context.Canceled), len(c.unsent))
	// Output:
	// true
	// true
	// true 1
}

// A call that a program never answered, since it broke down, is answered before the user goes on.
func ExampleAppend() {
	kept := genai.NewContentFromFunctionCall("now", map[string]any{}, genai.RoleModel)
	question := genai.NewContentFromText("What time is it?", genai.RoleUser)
	for _, c := range belt.Append([]*genai.Content{question, kept}, genai.NewContentFromText("Are you there?", genai.RoleUser)) {
		fmt.Println(c.Role, len(c.Parts))
	}
	// Output:
	// user 1
	// model 1
	// user 1
	// user 1
}
