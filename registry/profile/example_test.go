package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// The tools of a registry are shaped for a provider, and the calls of the model
// turned back.
func ExampleCompile() {
	ctx := context.Background()
	type mail struct {
		To string   `json:"to" jsonschema:"who gets it"`
		CC []string `json:"cc,omitempty"`
	}
	reg := registry.New(nil)
	_ = reg.Add(registry.MustFunc("mail.send", "Send a mail", func(_ context.Context, m mail) (string, error) {
		return fmt.Sprintf("sent to %s and %d others", m.To, len(m.CC)), nil
	}))

	set, err := profile.Compile(profile.OpenAIStrict, reg.Callable(ctx), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tool := set.Tools()[0]
	fmt.Println(string(tool.Declaration())) // goes with the request

	// What the model answers:
	args := json.RawMessage(`{"to":"you","cc":null}`)
	res, err := set.Call(ctx, reg, tool.Name, args)
	if err != nil {
		fmt.Println(err)
		return
	}
	if text, ok := res.Content[0].(*mcp.TextContent); ok {
		fmt.Println(text.Text)
	}
	// Output:
	// {"type":"function","name":"mail_send_dqwj3jga","description":"Send a mail","parameters":{"type":"object","properties":{"to":{"type":"string","description":"who gets it"},"cc":{"type":["array","null"],"items":{"type":"string"}}},"required":["to","cc"],"additionalProperties":false},"strict":true}
	// sent to you and 0 others
}

// Some of a schema does not reach the model. The losses say what, and what it means.
func ExampleTool_losses() {
	def := registry.Definition{Name: "rate", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"stars":{"type":"integer","multipleOf":2},"note":{"type":"string","default":"none"}}}`)}
	set, _ := profile.Compile(profile.Ollama, []registry.Tool{&described{def: def}}, nil)
	for _, loss := range set.Tools()[0].Losses {
		fmt.Printf("%s at %s: %s\n", loss.Effect, loss.Path, loss.Detail)
	}
	// Output:
	// looser at /properties/stars/multipleOf: the provider does not take multipleOf (2)
}

// Unmap takes what the model wrote for the compiled schema, and what it wrote for the
// tool's own.
func ExampleTool_Unmap() {
	def := registry.Definition{Name: "label", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"id":{"type":"integer"},"labels":{"type":"array","items":{"type":"string"}}},"required":["id"]}`)}
	set, _ := profile.Compile(profile.OpenAIStrict, []registry.Tool{&described{def: def}}, nil)
	for _, args := range []string{
		`{"id":12345678901234567890,"labels":["a"]}`,
		`{"id":1}`,
		`{"id":1,"labels":null}`,
	} {
		back, err := set.Tools()[0].Unmap(json.RawMessage(args))
		fmt.Println(string(back), err)
	}
	// Output:
	// {"id":12345678901234567890,"labels":["a"]} <nil>
	// {"id":1} <nil>
	// {"id":1} <nil>
}

// A tool is declared in the form of another API of OpenAI, and of those who copy it.
func ExampleTool_ChatDeclaration() {
	def := registry.Definition{Name: "now", Description: "The time", InputSchema: json.RawMessage(`{"type":"object"}`)}
	set, _ := profile.Compile(profile.OpenAI, []registry.Tool{&described{def: def}}, nil)
	fmt.Println(string(set.Tools()[0].ChatDeclaration()))
	// Output:
	// {"type":"function","function":{"name":"now","description":"The time","parameters":{"type":"object","properties":{}},"strict":false}}
}

// A provider takes other names than a registry.
func ExampleSet_Lookup() {
	def := registry.Definition{Name: "files:read", InputSchema: json.RawMessage(`{"type":"object"}`)}
	set, _ := profile.Compile(profile.Gemini, []registry.Tool{&described{def: def}}, nil)
	name := set.Tools()[0].Name
	tool, ok := set.Lookup(name)
	fmt.Println(name, ok, tool.Definition.Name)
	back, _, _ := set.Unmap(name, nil)
	fmt.Println(back)
	// Output:
	// files_read_4j6qy4tx true files:read
	// files:read
}

// The error says which tool cannot be told to the provider, and why.
func ExampleSet_Rejected() {
	def := registry.Definition{Name: "sum", InputSchema: json.RawMessage(`{"type":"array"}`)}
	set, _ := profile.Compile(profile.Bedrock, []registry.Tool{&described{def: def}}, nil)
	for _, r := range set.Rejected() {
		fmt.Println(r.Err)
	}
	// Output:
	// registry: tool "sum": InputSchema takes no JSON object, and the arguments of a tool are one
}

// Programs that the model writes may call the tools that only read, and are told what
// they get of them.
func ExampleTool_Programs() {
	stock := registry.Definition{
		Name:         "stock",
		InputSchema:  json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"units":{"type":"integer"}}}`),
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true},
	}
	order := registry.Definition{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}
	set, _ := profile.Compile(profile.OpenAI, []registry.Tool{&described{def: stock}, &described{def: order}}, &profile.Options{
		AllowedCallers: func(d *registry.Definition) []string {
			if d.Annotations != nil && d.Annotations.ReadOnlyHint {
				return []string{"direct", "programmatic"}
			}
			return nil
		},
	})
	for _, tool := range set.Tools() {
		fmt.Println(tool.Name, tool.Programs(), string(tool.OutputSchema))
	}
	// Output:
	// stock true {"type":"object","properties":{"units":{"type":"integer"}}}
	// order false
}

func newExampleRegistry() *registry.Registry {
	reg := registry.New(&registry.Options{Approver: policy.Cautious()})
	add := registry.MustFunc("add", "Adds two numbers", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	})
	add, _ = registry.With(add, func(d *registry.Definition) { d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true} })
	wipe := registry.MustFunc("wipe", "Deletes everything", func(context.Context, struct{}) (string, error) {
		return "all gone", nil
	})
	_ = reg.Add(add, wipe)
	return reg
}

// What a model is told in one request, and what it gets for its calls.
func ExampleTurn_Run() {
	ctx := context.Background()
	turn, err := profile.NewTurn(ctx, newExampleRegistry(), profile.OpenAI, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range turn.Set().Tools() {
		fmt.Println(tool.Name) // tool.Declaration() goes with the request
	}
	answers, err := turn.Run(ctx, []profile.Call{
		{ID: "1", Name: "add", Arguments: json.RawMessage(`{"A":1,"B":2}`)},
		{ID: "2", Name: "add", Arguments: json.RawMessage(`{"A":"one"}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range answers {
		for _, part := range turn.Set().Parts(a.Result) {
			fmt.Println(a.Call.ID, part.Text)
		}
	}
	// Output:
	// add
	// wipe
	// 1 3
	// 2 The tool failed:
	// 2 arguments of tool "add": "A" must be an integer, not a string; "B" is missing; it must be an integer
}

// A call that has to be approved does not hold up the program. A person answers.
func ExampleTurn_Wait() {
	ctx := context.Background()
	reg := newExampleRegistry()
	turn, _ := profile.NewTurn(ctx, reg, profile.Anthropic, nil)
	_, err := turn.Run(ctx, []profile.Call{{ID: "1", Name: "wipe"}, {ID: "2", Name: "add", Arguments: json.RawMessage(`{"A":1,"B":2}`)}})
	var waiting *profile.WaitingError
	if !errors.As(err, &waiting) {
		fmt.Println(err)
		return
	}
	for _, a := range waiting.Waiting() {
		request := a.Approval()
		fmt.Println("the user has to approve", request.Tool.Name)
		_ = reg.Deny(ctx, request.ID, "we still need it") // or Resume, from anywhere
	}
	answers, _ := turn.Wait(ctx, waiting)
	for _, a := range answers {
		fmt.Println(a.Call.ID, result.Text(a.Result))
	}
	// Output:
	// the user has to approve wipe
	// 1 calling tool "wipe" is not allowed: the user refused it: we still need it
	// 2 3
}

// A provider that takes no images as results gets a text, and the image apart.
func ExampleApart() {
	res := &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "The plan:"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///plan.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7")}},
	}}
	text, media := profile.Apart(profile.Parts(profile.OpenAI, res))
	fmt.Println(text)
	fmt.Println(len(media), media[0].Type, media[0].URI)
	// Output:
	// The plan:
	// [binary application/pdf, 8 bytes, attached]
	// 1 application/pdf file:///plan.pdf
}

// A provider without a place for the failure of a tool is told in the text, once.
func ExampleFailed() {
	text := profile.Failed("the disk is full")
	fmt.Println(text)
	fmt.Println(profile.Failed(text) == text)
	// Output:
	// The tool failed:
	// the disk is full
	// true
}

func ExamplePart_DataURL() {
	fmt.Println(profile.Part{Type: "image/png", Data: []byte("png")}.DataURL())
	// Output: data:image/png;base64,cG5n
}
