package metatools_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A tool is listed as its server wrote it, but for its name.
func TestJSON(t *testing.T) {
	own := registry.Definition{Title: "T", InputSchema: json.RawMessage(`{}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	raw := registry.Definition{Raw: json.RawMessage(`{"name":"a" ,"x":1.0}`), Origin: registry.Origin{Tool: "a"}}
	for _, c := range []struct {
		of         *registry.Definition
		name, want string
	}{
		{&raw, "a", `{"name":"a" ,"x":1.0}`}, {&raw, "s__a", `{"name":"s__a" ,"x":1.0}`},
		{&own, "o", `{"name":"o","title":"T","inputSchema":{},"annotations":{"idempotentHint":false,"readOnlyHint":true}}`},
	} {
		assert.Equal(t, string(metatools.JSON(c.of, c.name)), c.want)
	}
}

func TestAlwaysLoad(t *testing.T) {
	for tool, want := range map[string]string{
		`{}`: `{"_meta":{"anthropic/alwaysLoad":true}}`, `{"_meta":{"anthropic/alwaysLoad":false}}`: `{"_meta":{"anthropic/alwaysLoad":false}}`,
	} {
		assert.Equal(t, string(metatools.AlwaysLoad(json.RawMessage(tool))), want)
	}
}
