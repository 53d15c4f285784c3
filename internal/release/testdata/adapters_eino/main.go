// Eino calls a tool by a tools node.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	config, err := belt.New(newRegistry(), nil).ToolsNode(ctx)
	if err != nil {
		log.Fatal(err)
	}
	node, err := compose.NewToolNode(ctx, &config)
	if err != nil {
		log.Fatal(err)
	}
	results, err := node.Invoke(ctx, schema.AssistantMessage("", []schema.ToolCall{
		{ID: "call_1", Type: "function", Function: schema.FunctionCall{Name: "add", Arguments: `{"A":1,"B":2}`}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", results[0].ToolName, results[0].UserInputMultiContent[0].Text)
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
