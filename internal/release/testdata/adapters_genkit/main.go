// Genkit calls a tool for a model.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/registry"
)

// answer is a model that adds 1 and 2, and says what came of it.
func answer(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	part := ai.NewToolRequestPart(&ai.ToolRequest{Name: "add", Input: map[string]any{"A": 1, "B": 2}})
	if last := req.Messages[len(req.Messages)-1]; last.Role == ai.RoleTool {
		part = ai.NewTextPart(fmt.Sprint("the sum is ", last.Content[0].ToolResponse.Output))
	}
	return &ai.ModelResponse{Request: req, Message: ai.NewModelMessage(part)}, nil
}

func main() {
	ctx := context.Background()
	g := genkit.Init(ctx, genkit.WithDefaultModel("stranger/model"))
	genkit.DefineModel(g, "stranger/model", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true}}, answer)
	turn, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := genkit.Generate(ctx, g, turn.Options(ai.WithPrompt("What is 1 + 2?"))...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", resp.Text())
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

// Output: ok the sum is 3
