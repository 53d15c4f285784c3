package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func ExampleErrorResult() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))

	// What the model is given, whatever comes of the call.
	answer := func(name string, args string) *mcp.CallToolResult {
		res, err := r.Call(context.Background(), name, json.RawMessage(args))
		if err != nil {
			return registry.ErrorResult(err)
		}
		return res
	}
	fmt.Println(result.Text(answer("add", `{"a":1,"b":2}`)))
	fmt.Println(result.Text(answer("sum", `{}`)))
	fmt.Println(result.Text(registry.ErrorResult(&mcp.UnavailableError{Server: "notes", Err: errors.New("dial 10.0.0.7: refused")})))
	// Output:
	// 3
	// unknown tool "sum"
	// The tool is on a server that cannot be reached now; try again later. It did not run.
}
