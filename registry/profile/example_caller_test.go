package profile_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Programs that the model writes may call the tools that only read, and are told what
// they get of them.
func ExampleTool_Programs() {
	stock := registry.Definition{
		Name:         "stock",
		InputSchema:  json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"units":{"type":"integer"}}}`),
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true},
	}
	order := registry.Definition{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}
	set, _ := profile.Compile(profile.OpenAI, []registry.Tool{&described{def: stock}, &described{def: order}}, &profile.Options{
		AllowedCallers: func(d *registry.Definition) []string {
			if d.Annotations != nil && d.Annotations.ReadOnlyHint {
				return []string{"direct", "programmatic"}
			}
			return nil
		},
	})
	for _, tool := range set.Tools() {
		fmt.Println(tool.Name, tool.Programs(), string(tool.OutputSchema))
	}
	// Output:
	// stock true {"type":"object","properties":{"units":{"type":"integer"}}}
	// order false
}
