package registry_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A registry whose tools have their own names.
func ExampleOptions_names() {
	r := registry.New(&registry.Options{Names: names.Names{Scheme: names.BareTool}})
	for server, tools := range map[string][]string{
		"github": {"create_issue", "search"},
		"docs":   {"find", "fetch"},
	} {
		var listed []registry.Tool
		for _, tool := range tools {
			listed = append(listed, &plainTool{def: &registry.Definition{
				InputSchema: json.RawMessage(`{"type":"object"}`),
				Origin:      registry.Origin{Server: server, Tool: tool},
			}, answer: textResult("found")})
		}
		if _, err := r.Replace(registry.Server{Name: server}, listed); err != nil {
			fmt.Println(err)
		}
	}
	for _, t := range r.Snapshot().Tools() {
		fmt.Println(t.Definition().Name)
	}

	// Models do not always write names as they are listed.
	_, err := r.Call(context.Background(), "GitHub.createIssue", nil)
	fmt.Println(err)
	// Output:
	// create_issue
	// fetch
	// find
	// search
	// <nil>
}

// What a tool would be called can be told before it is there.
func ExampleRegistry_Names() {
	r := registry.New(&registry.Options{Names: names.Names{Scheme: names.MCPServerTool}})
	name, _ := r.Names().Name("github", "create_issue")
	fmt.Println(name)
	// Output: mcp__github__create_issue
}

func ExampleDefinition_DisplayName() {
	d := &registry.Definition{Name: "github__create_issue", Origin: registry.Origin{Server: "github", Tool: "create_issue"}}
	fmt.Println(d.DisplayName())
	// Output: github:create_issue (MCP)
}
