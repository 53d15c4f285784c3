// Tests of format.go: whatever files of the formats of other packages hold.

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func FuzzOtherFormats(f *testing.F) {
	for _, pattern := range []string{"codex/testdata/*.toml", "goose/testdata/*.y*ml", "goose/testdata/continue/*.yaml"} {
		files := assert.Value(filepath.Glob(filepath.FromSlash(pattern)))(f)
		assert.True(f, len(files) >= 2, "there are files")
		for _, file := range files {
			f.Add(strings.HasSuffix(file, ".toml"), assert.Value(os.ReadFile(file))(f))
		}
	}
	for _, text := range oddTOML() {
		f.Add(true, []byte(text))
	}
	for _, text := range oddYAML() {
		f.Add(false, []byte(text))
	}
	dir := f.TempDir()
	opts := &config.Options{
		Lookup:  func(name string) (string, bool) { return name + "\n", len(name)%2 == 0 },
		Formats: []*config.Format{codex.Format(), goose.Format(), goose.Continue()},
	}
	f.Fuzz(func(t *testing.T, isTOML bool, data []byte) {
		name := map[bool]string{true: "f.toml", false: "f.yaml"}[isTOML]
		c, err := config.Parse(t.Context(), filepath.Join(dir, name), data, opts)
		config.CheckParsed(t, c, err)
	})
}

// oddTOML are texts at the edges of TOML.
func oddTOML() []string {
	return []string{
		"", "\ufeff[mcp_servers.a]\ncommand = 'x'", "a.b.c = 1\n[a.b]", "[a]\nb={}\n[a.b.c]", "[[mcp_servers]]\nname='x'",
		"mcp_servers.a = {command='x', env.A='1', env.B='2'}", "mcp_servers = {}", "mcp_servers = 1", "[mcp_servers]\na = []",
		"[mcp_servers.a]\nurl='https://a'\nhttp_headers={a='1', A='2'}", "[mcp_servers.a]\ncommand='x'\nn = [nan, -inf, 0x1F, 1_0.5e3, 07:32:00]",
		"[mcp_servers.a]\r\ncommand = \"\"\"\r\nx\"\"\"\r\nargs = [ # c\r\n 'a', # d\r\n]\r\n", "a = 9223372036854775808", "a = 'hunter2", "é = 1",
		"[mcp_servers.a]\ncommand='x'\ntools.allow=1\ntools.x.y=2", "[[x.y]]\n[x.y.z]\n[[x.y]]\n[x.y.z]", "[mcp_servers.\"\"]\ncommand='x'",
		"[mcp_servers.a]\ncommand = 'x'\nargs = [[], [[]], [{}]]\n",
	}
}

// oddYAML are texts at the edges of YAML.
func oddYAML() []string {
	return []string{
		"", "extensions:", "extensions: []", "extensions: {}\n---\na: 1", "\ufeffextensions:\n  a: {cmd: x}\n", "extensions:\r\n  a:\r\n    cmd: x\r\n",
		"extensions: &a\n  b: *a", "a: &a {x: 1}\nextensions:\n  b:\n    <<: *a\n    cmd: x", "extensions:\n  a: {<<: [{cmd: x}, {cmd: y}], cmd: z}",
		"extensions:\n  ? [a]\n  : b", "extensions:\n  1: {cmd: x}\n  ~: {cmd: y}", "extensions:\n  a: {cmd: !!str 5, timeout: .inf, x: 0o17, y: .nan, z: 1_0}",
		"extensions:\n  a:\n    cmd: |\n      x\n    envs: {A: \"\\x00\"}", "extensions: {a: {cmd: 'x\u2028y'}}\n", "extensions:\n  a: {<<: 1}", "!!binary aGk=", "%YAML 1.1\n---\nextensions: {}",
		"extensions:\n  a: {type: stdio, cmd: x, env_keys: [A, A], config: {cmd: y}}",
	}
}
