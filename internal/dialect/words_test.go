package dialect_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Words are written otherwise by other programs.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		change   func(string) string
		in, want string
	}{
		{dialect.SnakeCase, "readTimeoutSeconds", "read_timeout_seconds"},
		{dialect.Transport, "Streamable-HTTP", "http"}, {dialect.Transport, "local", "stdio"}, {dialect.Transport, "SSE", "sse"},
		{dialect.Transport, "remote", "auto"}, {dialect.Transport, "Pigeon", "Pigeon"},
		{dialect.Braced, "$A_1 ${B} $$C $d pa$Sword $E", "${A_1} ${B} $$C $d pa$Sword ${E}"},
		{dialect.BaseName, `C:\a\mcp.json`, "mcp.json"}, {dialect.BaseName, "a/b", "b"},
	} {
		assert.Equal(t, c.change(c.in), c.want, "%q", c.in)
	}
	assert.Equal(t, fmt.Sprint(dialect.CutArguments([]string{"run(ls)", "see"})), "[run see]")
	assert.Equal(t, fmt.Sprint(dialect.InOrder(map[string]int{"z": 1, "x": 2, "url": 3, "command": 4})), "[command url x z]")
	assert.Equal(t, fmt.Sprint(dialect.Spelled("a b=c")), "map[a:a b:c]")
}

func TestListsServers(t *testing.T) {
	for in, want := range map[string]string{
		`{"mcp":{"allowed":["b",1,"a"]}}`: "[a b] true", `{"mcp":{"excluded":[]}}`: "[] true", `{"mcp":{"allowed":1}}`: "[] false", `{}`: "[] false",
	} {
		root := &assert.Value(jsonc.Parse([]byte(in)))(t).Root
		assert.Equal(t, fmt.Sprint(dialect.Titles(dialect.ListMember(root, "allowed")), dialect.ListsServers(root)), want, "%s", in)
	}
}
