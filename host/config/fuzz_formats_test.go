package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// FuzzFormats reads data in each JSON format, and as the file that it looks like.
func FuzzFormats(f *testing.F) {
	for i, format := range Formats() {
		for _, pattern := range []string{"*", "*/*", ".*"} {
			files := assert.Value(filepath.Glob(filepath.Join("testdata", format.Name(), filepath.FromSlash(pattern))))(f)
			for _, file := range files {
				if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasSuffix(file, ".golden") {
					continue
				}
				data := assert.Value(os.ReadFile(file))(f)
				f.Add(uint8(i), data)
			}
		}
	}
	for i, text := range []string{
		`{"mcpServers": [{"name": "a"}, {"name": "a"}, 1, null], "projects": {"/p": {"mcpServers": {"a": {}}}}}`,
		`{"servers": {"a": {"command": "${workspaceFolder}${input:x}", "envFile": "x"}}, "inputs": [{"id": "x", "type": "pickString", "options": [1, {}]}]}`,
		`{"context_servers": {"a": {"command": {"path": "x", "command": "y", "args": 1, "timeout": -1}}}}`,
		`{"a": {"command": "x", "isolation": {"kind": "docker", "image": "i", "mounts": [{}, 1]}}}`,
		`{"servers": [{"name": "x", "transport": {"transport": "stdio", "command": "c", "args": null}, "url": ""}]}`,
	} {
		f.Add(uint8(i), []byte(text))
	}
	dir := f.TempDir()
	lookup := func(name string) (string, bool) { return name + "\n", len(name)%2 == 0 }
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		formats := Formats()
		name := formats[int(which)%len(formats)].Name()
		for _, opts := range []*Options{
			{Lookup: lookup, Format: name, Project: "/p"},
			{Lookup: lookup, Scope: ScopeProject},
		} {
			c, err := Parse(t.Context(), filepath.Join(dir, ".mcprc"), data, opts)
			if err != nil {
				place(t, err)
				continue
			}
			checkConfig(t, c)
			merged := Merge(c, c)
			if len(merged.Servers)+len(merged.Shadowed) != 2*(len(c.Servers)+len(c.Shadowed)) {
				t.Fatalf("Merge lost some of %d servers: %d and %d", len(c.Servers), len(merged.Servers), len(merged.Shadowed))
			}
		}
	})
}
