// Fantasy runs a tool of a registry as an agent does.
package main

import (
	"context"
	"fmt"
	"log"

	"charm.land/fantasy"

	belt "github.com/mcpbelt/mcpbelt/adapters/fantasy"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := tools[0].Run(ctx, fantasy.ToolCall{ID: "call_1", Name: "add", Input: `{"A":1,"B":2}`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", tools[0].Info().Name, res.Content)
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
