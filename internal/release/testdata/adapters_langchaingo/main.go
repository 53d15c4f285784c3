// Langchaingo makes the calls of a response.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/llms"

	belt "github.com/mcpbelt/mcpbelt/adapters/langchaingo"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	results, err := tools.Run(ctx, &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{
		{ID: "call_1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "add", Arguments: `{"A":1,"B":2}`}},
	}}}})
	if err != nil {
		log.Fatal(err)
	}
	result := results[len(results)-1].Parts[0].(llms.ToolCallResponse)
	fmt.Println("ok", result.Name, result.Content)
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
