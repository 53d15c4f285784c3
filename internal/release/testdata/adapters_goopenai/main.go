// Goopenai makes the calls of a choice.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/sashabaranov/go-openai"

	belt "github.com/mcpbelt/mcpbelt/adapters/goopenai"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	results, err := tools.Run(ctx, openai.ChatCompletionChoice{Message: openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleAssistant,
		ToolCalls: []openai.ToolCall{
			{ID: "call_1", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "add", Arguments: `{"A":1,"B":2}`}},
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", tools.Params()[0].Function.Name, results[0].Content)
}

func newRegistry() *registry.Registry {
	reg := registry.New(nil)
	err := reg.Add(registry.MustFunc("add", "Adds two numbers", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	return reg
}

// Output: ok add 3
