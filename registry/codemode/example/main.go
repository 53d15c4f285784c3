// Example runs a script that calls a tool in a loop.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

func main() {
	codemode.Child()           // first: the sandbox is another process of this program
	tools := registry.New(nil) // or that of a host
	err := tools.Add(registry.MustFunc("add", "Add two numbers.", func(_ context.Context, in numbers) (int, error) {
		return in.A + in.B, nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	scripts, err := codemode.New(tools, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = scripts.Close() }()
	report, err := scripts.Run(context.Background(), &codemode.Script{
		Code: `let sum = 0; for (let i = 1; i <= 10; i++) sum = await tools.add({a: sum, b: i}); return {sum}`,
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(string(report.Value), len(report.Calls), report.Err) // {"sum":55} 10 <nil>
}
