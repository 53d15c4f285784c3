package toolcorpus_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServers(t *testing.T) {
	servers := toolcorpus.Servers()
	names := make([]string, 0, len(servers))
	total := 0
	for _, s := range servers {
		names = append(names, s.Name)
		total += len(s.Tools)
		assert.True(t, s.Package != "" && s.Version != "", "%s has the package %q and the version %q", s.Name, s.Package, s.Version)
		assert.True(t, s.Licence == "MIT" || s.Licence == "Apache-2.0", "%s: the licence %q was checked", s.Name, s.Licence)
		seen := map[string]bool{}
		for _, tool := range s.Tools {
			assert.True(t, tool.Name != "" && !seen[tool.Name], "%s: the name %q is there once", s.Name, tool.Name)
			seen[tool.Name] = true
			checkTool(t, s.Name, tool)
		}
	}
	assert.True(t, slices.IsSorted(names), "the names %q are sorted", names)
	assert.Equal(t, len(slices.Compact(slices.Clone(names))), len(names), "names")
	assert.True(t, len(servers) >= 25 && total >= 380, "%d servers with %d tools are enough", len(servers), total)
	t.Logf("%d servers, %d tools", len(servers), total)
}

func checkTool(t *testing.T, server string, tool toolcorpus.Tool) {
	t.Helper()
	var schema struct{ Type string }
	assert.OK(t, json.Unmarshal(tool.InputSchema, &schema), "%s/%s", server, tool.Name)
	assert.Equal(t, schema.Type, "object", "%s/%s: the type", server, tool.Name)
	assert.Lacks(t, string(tool.InputSchema), "\n", "%s/%s: the input schema", server, tool.Name)
	for _, raw := range []json.RawMessage{tool.OutputSchema, tool.Annotations} {
		assert.True(t, len(raw) == 0 || raw[0] == '{', "%s/%s: %.40s is an object", server, tool.Name, raw)
	}
	// A token of o200k_base is hardly ever shorter than a byte or longer, on
	// average, than twelve.
	size := len(tool.Name) + len(tool.Description) + len(tool.InputSchema)
	assert.True(t, tool.Tokens <= size && tool.Tokens >= size/12, "%s/%s: %d tokens fit %d bytes", server, tool.Name, tool.Tokens, size)
}

// TestServerFiles finds a file that servers.json does not name.
func TestServerFiles(t *testing.T) {
	var want []string
	for _, s := range toolcorpus.Servers() {
		want = append(want, s.Name+".json")
	}
	files, err := fs.Glob(os.DirFS("testdata/servers"), "*")
	assert.OK(t, err)
	assert.Equal(t, fmt.Sprintf("%q", files), fmt.Sprintf("%q", want))
}

func TestServersAreFresh(t *testing.T) {
	toolcorpus.Servers()[0].Tools[0].Name = "changed"
	assert.False(t, toolcorpus.Servers()[0].Tools[0].Name == "changed", "a caller's change shows in the next call")
}
