package config

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestWhichFormat: a format is told from the name and the content, and a doubt is an error.
func TestWhichFormat(t *testing.T) {
	const entry = `{"a": {"command": "x"}}`
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
		{"config.toml", `x = 1`, "f: no format reads .toml files: give Options.Formats codex.Format() for the config.toml of Codex, goose.Format() for the config.yaml of Goose, goose.Continue() for that of Continue; these are read: mcpServers, vscode, zed, kode, ironclaw, opencode, crush"},
		{"config.YAML", `x: 1`, "f: no format reads .yaml files: give Options.Formats codex.Format() for the config.toml of Codex, goose.Format() for the config.yaml of Goose, goose.Continue() for that of Continue; these are read: mcpServers, vscode, zed, kode, ironclaw, opencode, crush"},
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
			if len(c.Servers) == 1 && c.Servers[0].Source.Format != got {
				t.Errorf("%s: server of %s in a file of %s", test.file, c.Servers[0].Source.Format, got)
			}
		}
		assert.Equal(t, got, test.want, "%s %s", test.file, test.in)
	}
	// What is named is not doubted.
	for format, servers := range map[string]int{"vscode": 1, "ironclaw": 1, "kode": 1} {
		c, err := Parse(t.Context(), "any.json", []byte(`{"servers": `+entry+`}`), &Options{Format: format})
		if err != nil || c.Format != format || len(c.Servers) != servers {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := Parse(t.Context(), "f", []byte(`{}`), &Options{Format: "codex"}); err == nil || !strings.Contains(err.Error(), `no format is called "codex": Options.Format may be mcpServers, `) {
		t.Errorf("an unknown format: %v", err)
	}
}

// TestUserFilesHaveNoProject: the folder of a user's file is not that of a project.
func TestUserFilesHaveNoProject(t *testing.T) {
	const in = `{"mcpServers": {"a": {"command": "${workspaceFolder}/x"}}}`
	for scope, fails := range map[Scope]bool{ScopeUser: true, ScopeProgram: false, ScopeProject: false} {
		c := assert.Value(Parse(t.Context(), "/home/ann/.cursor/mcp.json", []byte(in), &Options{Scope: scope, Lookup: lookup}))(t)
		if s := c.Servers[0]; (s.Err != nil) != fails || !fails && s.Command != "/home/ann/x" {
			t.Errorf("%q: %q, %v", scope, s.Command, s.Err)
		}
	}
}
