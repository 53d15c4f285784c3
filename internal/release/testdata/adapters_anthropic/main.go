// Anthropic makes the calls of a message.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/anthropics/anthropic-sdk-go/v2"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var message anthropic.Message
	if err := json.Unmarshal([]byte(`{"stop_reason":"tool_use","content":[
		{"type":"tool_use","id":"toolu_1","name":"add","input":{"A":1,"B":2}}]}`), &message); err != nil {
		log.Fatal(err)
	}
	results, err := tools.Run(ctx, &message)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", tools.Params()[0].OfTool.Name, results[0].OfUser.Content[0].OfToolResult.Content[0].OfText.Text)
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
