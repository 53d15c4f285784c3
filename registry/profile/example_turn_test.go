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
		for _, part := range turn.Parts(a.Result) {
			fmt.Println(a.Call.ID, part.Text)
		}
	}
	// Output:
	// add
	// wipe
	// 1 3
	// 2 The tool failed:
	// 2 arguments of tool "add": "B" is missing; it must be an integer; "A" must be an integer, not a string
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
