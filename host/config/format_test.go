// Tests of format.go, program.go and document.go: which program a file is of.

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestWhichFormat: a format is told from the name and the content, and a doubt is an error.
func TestWhichFormat(t *testing.T) {
	const entry = `{"a": {"command": "x"}}`
	known := strings.Join(formatNames(Formats()), ", ")
	for _, test := range []struct{ file, in, want string }{
		{"any.json", `{"mcpServers": ` + entry + `}`, "mcpServers"},
		{"any", `{"mcpServers": ` + entry + `}`, "mcpServers"},
		{".mcprc", `{"mcpServers": ` + entry + `}`, "mcpServers"},
		{".mcprc", entry, "kode"},
		{".mcprc", `{}`, "kode"},
		{".mcprc", `{"servers": ` + entry + `}`, "kode"},
		{"other", entry, `f: a: looks like a server, but the file has no "mcpServers" object: put the servers in it, or set Options.Format to "kode" if the file is a .mcprc`},
		{`C:\app\.vscode\mcp.json`, `{"servers": ` + entry + `}`, "vscode"},
		{".mcp.json", `{"servers": ` + entry + `}`, "vscode"},
		{"any.json", `{"servers": ` + entry + `, "inputs": []}`, "vscode"},
		{"any.json", `{"mcp": {"servers": ` + entry + `}}`, "vscode"},
		{"any.json", `{"servers": ` + entry + `}`, "vscode"},
		{".mcp.json", entry, "kode"},
		{"mcp.json", `{"a": {"url": "https://a.example"}}`, "kode"},
		{".mcp.json", `{"a": {"command": "x"}, "b": 1}`, `f: a: looks like a server, but the file has no "mcpServers" object: put the servers in it, or set Options.Format to "kode" if the file is a .mcprc`},
		{"mcp-servers.json", `{"servers": ` + entry + `}`, "ironclaw"},
		{"any.json", `{"servers": [{"name": "a", "command": "x"}]}`, "ironclaw"},
		{"any.json", `{"servers": ` + entry + `, "schema_version": 1}`, "ironclaw"},
		{"any.json", `{"servers": ` + entry + `, "schema_version": 1, "inputs": []}`, "f: the file may be of the formats vscode and ironclaw: say which one with Options.Format"},
		{"any.json", `{"context_servers": ` + entry + `}`, "zed"},
		{"any.json", `{"context_servers": {}, "mcpServers": {}}`, "f: the file may be of the formats mcpServers and zed: say which one with Options.Format"},
		{"any.json", `{"mcp": {"servers": {}}, "mcpServers": {}}`, "f: the file may be of the formats mcpServers and vscode: say which one with Options.Format"},
		{"config.toml", `x = 1`, "f: no format reads .toml files, these are read: " + known + "; Options.Formats may add codex.Format() of the package host/config/codex, or goose.Format() or goose.Continue() of host/config/goose"},
		{"config.YAML", `x: 1`, "f: no format reads .yaml files, these are read: " + known + "; Options.Formats may add codex.Format() of the package host/config/codex, or goose.Format() or goose.Continue() of host/config/goose"},
		{"opencode.json", `{"mcp": {"servers": {"r": {"url": "https://x.example/mcp"}}}}`, "opencode"},
		{"OpenCode.jsonc", `{"mcp": ` + entry + `}`, "opencode"},
		{"opencode.json", `{"mcp": {}}`, "opencode"},
		{"opencode.json", `{"theme": "x"}`, `f: the file has no "mcp" object: put the servers in {"mcp": {}}`},
		{"opencode.json", `{"mcpServers": ` + entry + `}`, "mcpServers"},
		{"any.json", `{"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}}}`, "opencode"},
		{"settings.json", `{"mcp": {"servers": {"a": {"type": "remote", "url": "https://x.example"}}}}`, "opencode"},
		{"settings.json", `{"mcp": {"servers": {"a": {"type": "http", "url": "https://x.example"}}}}`, "vscode"},
		{"any.json", `{"$schema": "https://opencode.ai/config.json", "mcp": ` + entry + `}`, "opencode"},
		{"any.json", `{"mcp": {"a": {"command": ["x"]}}}`, "opencode"},
		{"crush.json", `{"mcp": {"a": {"type": "local", "command": ["x"]}}}`, "crush"},
		{".crush.json", `{"mcp": ` + entry + `}`, "crush"},
		{"crush.json", `{"lsp": {}}`, `f: the file has no "mcp" object: put the servers in {"mcp": {}}`},
		{"any.json", `{"$schema": "https://charm.land/crush.json", "mcp": ` + entry + `}`, "crush"},
		{"any.json", `{"mcp": {"a": {"type": "stdio", "command": "x"}}}`, "crush"},
		{"settings.json", `{"mcpServers": ` + entry + `, "mcp": {"allowed": ["a"]}}`, "mcpServers"},
		{"any.json", `{"servers": 5}`, `f: the file has no "mcpServers" object: put the servers in {"mcpServers": {}}`},
	} {
		c, err := Parse(t.Context(), test.file, []byte(test.in), nil)
		got := ""
		if err != nil {
			_, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), test.file), ": ")
			got = "f: " + text
		} else {
			got = c.Format
			for _, s := range c.Servers[:min(len(c.Servers), 1)] {
				assert.Equal(t, s.Source.Format, got, "%s: server", test.file)
			}
		}
		assert.Equal(t, got, test.want, "%s %s", test.file, test.in)
	}
	// What is named is not doubted.
	for format, servers := range map[string]int{"vscode": 1, "ironclaw": 1, "kode": 1} {
		c := assert.Value(Parse(t.Context(), "any.json", []byte(`{"servers": `+entry+`}`), &Options{Format: format}))(t)
		assert.Equal(t, [...]any{c.Format, len(c.Servers)}, [...]any{format, servers})
	}
	_, err := Parse(t.Context(), "f", []byte(`{}`), &Options{Format: "codex"})
	assert.Contains(t, fmt.Sprint(err), `no format is called "codex": Options.Format may be mcpServers, `, "an unknown format")
}

// TestUserFilesHaveNoProject: the folder of a user's file is not that of a project.
func TestUserFilesHaveNoProject(t *testing.T) {
	const in = `{"mcpServers": {"a": {"command": "${workspaceFolder}/x"}}}`
	for scope, fails := range map[Scope]bool{ScopeUser: true, ScopeProgram: false, ScopeProject: false} {
		s := assert.Value(Parse(t.Context(), "/home/ann/.cursor/mcp.json", []byte(in), &Options{Scope: scope, Lookup: lookup}))(t).Servers[0]
		assert.True(t, (s.Err != nil) == fails && (fails || s.Command == "/home/ann/x"), "%q: %q, %v", scope, s.Command, s.Err)
	}
}

// TestLoadAllPrefersTheFormatOfThePlace and reads what is there all the same.
func TestLoadAllPrefersTheFormatOfThePlace(t *testing.T) {
	for _, test := range []struct{ place, text, format string }{
		{".mcp.json", `{"servers": {"gh": {"url": "https://gh.example.com"}}}`, "vscode"},
		{".mcp.json", `{"gh": {"url": "https://gh.example.com"}}`, "kode"},
		{".vscode/mcp.json", `{"mcpServers": {"gh": {"command": "x"}}}`, "mcpServers"},
		{".vscode/mcp.json", `{"servers": [{"name": "gh", "command": "x"}]}`, "ironclaw"},
		{".mcprc", `{"mcpServers": {"gh": {"command": "x"}}}`, "mcpServers"},
		{".mcprc", `{"gh": {"command": "x"}}`, "kode"},
		{".vscode/settings.json", `{"mcp": {"servers": {"gh": {"command": "x"}}}, "mcpServers": {"other": {"command": "y"}}}`, "vscode"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(test.place))
		assert.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(test.text), 0o600)))
		list, err := LoadAll(t.Context(), Find(&FindOptions{Home: filepath.Join(dir, "home"), Project: dir}), nil)
		if err != nil || len(list) != 1 || len(list[0].Servers) != 1 {
			t.Errorf("%s %s: got %d files, %v, want one server", test.place, test.text, len(list), err)
			continue
		}
		s := list[0].Servers[0]
		assert.Equal(t, s.Name, "gh", "%s", test.place)
		assert.OK(t, s.Err, "%s", test.place)
		assert.Equal(t, list[0].Format, test.format, "%s", test.place)
	}
}

// TestSkippedHideNobody: what is no server takes no name and no place of one.
func TestSkippedHideNobody(t *testing.T) {
	const text = `{"context_servers": {"db": {"source": "extension", "settings": {}}, "x": {"command": "x"}}}`
	c := assert.Value(Parse(t.Context(), "settings.json", []byte(text), &Options{Scope: ScopeProject}))(t)
	assert.Equal(t, [...]int{len(c.Servers), len(c.Skipped)}, [...]int{1, 1})
	assert.Equal(t, [...]any{c.Skipped[0].Title, c.Skipped[0].Source.Line}, [...]any{"db", 1})
	merged := Merge(c, assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"db": {"command": "mine"}}}`), nil))(t))
	assert.Equal(t, [...]int{len(merged.Servers), len(merged.Shadowed), len(merged.Skipped)}, [...]int{2, 0, 1})
}

// TestFilesOfOthers: an error is in the words of the program whose place it is.
func TestFilesOfOthers(t *testing.T) {
	for path, want := range map[string]string{
		".vscode/mcp.json":   `has no "servers" object`,
		".zed/settings.json": `has no "context_servers" object`,
	} {
		assert.Contains(t, fmt.Sprint(assert.Err(Parse(t.Context(), path, []byte(`{"other": 1}`), nil))), want, "%s", path)
	}
}

// TestEachPlaceHasAProgram: each place of Find is known by its path alone.
func TestEachPlaceHasAProgram(t *testing.T) {
	for _, l := range Find(&FindOptions{GOOS: "linux", Home: "/home/ann", Project: "/src", Lookup: func(string) (string, bool) { return "", false }}) {
		c := clientOf(l.Path)
		assert.Equal(t, [...]string{c.name, c.format}, [...]string{l.Client, l.Format}, "%s", l.Path)
	}
}
