package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A model that wrote wrong arguments reads all that is wrong with them, and can
// put it right in one go.
func ExampleArgumentsError() {
	r := registry.New(nil)
	_ = r.Add(newSchemaTool(issueSchema, "", nil))

	_, err := r.Call(context.Background(), "tool", json.RawMessage(`{"titel":"Buy milk","priority":"high","labels":[{}]}`))
	var wrong *registry.ArgumentsError
	if errors.As(err, &wrong) {
		for _, problem := range wrong.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// "labels[0].name" is missing; it must be a string
	// "priority" must be an integer from 1 to 5, not a string
	// "titel" is not known; did you mean "title"? known are "due", "extra", "labels", "priority", "state", "title"
	// "title" is missing; it must be a string of at least 1 character; "one line"
}

// Secrets that a model puts into arguments do not go out to servers.
func ExampleOptions_redactArguments() {
	r := registry.New(&registry.Options{
		RedactArguments: true,
		Results: &result.Options{Secrets: map[string]*regexp.Regexp{
			"staff number": regexp.MustCompile(`staff-\d{6}`), // beside the forms that are known
		}},
	})
	tool := &recordedTool{
		def: &registry.Definition{InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "notes", Tool: "add"}},
		call: func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			fmt.Println(string(args))
			return &mcp.CallToolResult{}, nil
		},
	}
	if _, err := r.Replace(registry.Server{Name: "notes"}, []registry.Tool{tool}); err != nil {
		fmt.Println(err)
	}
	_, err := r.Call(context.Background(), "notes__add", json.RawMessage(`{"text":"ask staff-123456"}`))
	fmt.Println(err)
	// Output:
	// {"text":"ask [redacted: staff number]"}
	// <nil>
}

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
