// Ollama makes the calls of a message.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/ollama/ollama/api"

	belt "github.com/mcpbelt/mcpbelt/adapters/ollama"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var message api.Message
	if err := json.Unmarshal([]byte(`{"role":"assistant","tool_calls":[
		{"id":"call_1","function":{"name":"add","arguments":{"A":1,"B":2}}}]}`), &message); err != nil {
		log.Fatal(err)
	}
	results, err := tools.Run(ctx, message)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", results[0].ToolName, results[0].Content)
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
