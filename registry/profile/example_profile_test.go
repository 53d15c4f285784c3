package profile_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
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
		fmt.Printf("%s: %s at %s: %s\n", loss.Effect, loss.Kind, loss.Path, loss.Detail)
	}
	// Output:
	// looser: keyword_dropped at /properties/stars/multipleOf: the provider does not take multipleOf (2)
	// unsaid: keyword_dropped at /properties/note/default: the provider does not take default ("none")
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
