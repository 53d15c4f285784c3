package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Secrets that a model puts into arguments do not go out to servers.
func ExampleArgumentOptions_redact() {
	r := registry.New(&registry.Options{
		Arguments: registry.ArgumentOptions{Redact: true},
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
