// Genai makes the calls of a response.
package main

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/genai"

	belt "github.com/mcpbelt/mcpbelt/adapters/genai"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	results, err := tools.Run(ctx, &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{
		Content: genai.NewContentFromFunctionCall("add", map[string]any{"A": 1, "B": 2}, genai.RoleModel),
	}}})
	if err != nil {
		log.Fatal(err)
	}
	response := results[0].Parts[0].FunctionResponse
	fmt.Println("ok", response.Name, response.Response["output"])
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
