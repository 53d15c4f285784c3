// Openai makes the calls of a response.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/openai/openai-go/v3/responses"

	belt "github.com/mcpbelt/mcpbelt/adapters/openai"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.ResponseTools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var response responses.Response
	if err := json.Unmarshal([]byte(`{"id":"resp_1","status":"completed","output":[
		{"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"A\":1,\"B\":2}"}]}`), &response); err != nil {
		log.Fatal(err)
	}
	results, err := tools.Run(ctx, &response)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", tools.Set().Tools()[0].Name, results[0].OfFunctionCallOutput.Output.OfString.Value)
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
