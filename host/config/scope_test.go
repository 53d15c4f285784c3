// Tests of scope.go and local.go: whose file it is.

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestScopeOfAFileIsThatOfItsName: what Find looks for in a project is the project's,
// but for the user's own file of that name, and unless the program says otherwise.
func TestScopeOfAFileIsThatOfItsName(t *testing.T) {
	home := t.TempDir()
	t.Setenv(homeVariable("linux"), home)
	t.Setenv(homeVariable("windows"), home)
	t.Setenv("XDG_CONFIG_HOME", "")
	dir := t.TempDir()
	t.Chdir(dir)
	assert.OK(t, os.Mkdir(filepath.Join(dir, ".vscode"), 0o700))
	for _, test := range []struct {
		file       string
		said, want Scope
	}{
		{".mcp.json", "", ScopeProject},
		{"./x/../.MCP.json", "", ScopeProject},
		{filepath.Join(home, ".mcp.json"), "", ScopeProject},
		{filepath.Join(dir, ".cursor", "mcp.json"), "", ScopeProject},
		{filepath.Join(home, ".cursor", "mcp.json"), "", ScopeProgram},
		{".vscode/settings.json", "", ScopeProject},
		{".zed/settings.json", "", ScopeProject},
		{".codex/config.toml", "", ScopeProject},
		{".mcprc", "", ScopeRC},
		{"opencode.json", "", ScopeProject},
		{".opencode/opencode.jsonc", "", ScopeProject},
		{filepath.Join(home, ".config", "opencode", "opencode.json"), "", ScopeProgram},
		{"crush.json", "", ScopeProject},
		{".crush.json", "", ScopeProject},
		{".kiro/settings/mcp.json", "", ScopeProject},
		{filepath.Join(home, ".kiro", "settings", "mcp.json"), "", ScopeProgram},
		{".junie/mcp/mcp.json", "", ScopeProject},
		{".roo/mcp.json", "", ScopeProject},
		{".kilocode/mcp.json", "", ScopeProject},
		{".amazonq/mcp.json", "", ScopeProject},
		{".factory/mcp.json", "", ScopeProject},
		{".warp/.mcp.json", "", ScopeProject},
		{".github/mcp.json", "", ScopeProject},
		{".vs/mcp.json", "", ScopeProject},
		{".continue/config.yaml", "", ScopeProject},
		{"mcp.json", "", ScopeProgram},
		{"settings.json", "", ScopeProgram},
		{"my.mcp.json", "", ScopeProgram},
		{"store", "", ScopeProgram},
		{".mcp.json", ScopeProgram, ScopeProgram},
		{".mcp.json", ScopeUser, ScopeUser},
		{"mcp.json", ScopeProject, ScopeProject},
	} {
		assert.Equal(t, (&Options{Scope: test.said}).orDefaults(test.file).Scope, test.want, "%s, said %q: got scope", test.file, test.said)
	}
	t.Chdir(filepath.Join(dir, ".vscode"))
	assert.Equal(t, scopeOfFile("mcp.json"), ScopeProject, "mcp.json in .vscode: got scope")
}

// localWorld has a user's folder with the files of Claude Code and Kode, and a project
// with a file of its own.
func localWorld(t *testing.T, files map[string]string) (home, project string) {
	t.Helper()
	home, project = t.TempDir(), t.TempDir()
	for name, text := range files {
		text = strings.ReplaceAll(text, "PROJECT", filepath.ToSlash(project))
		path := filepath.Join(home, strings.TrimPrefix(name, "~/"))
		if !strings.HasPrefix(name, "~/") {
			path = filepath.Join(project, name)
		}
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return home, project
}

func mergedFor(t *testing.T, home, project string) *Config {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	return Merge(assert.Value(LoadAll(t.Context(), Find(&FindOptions{Home: home, Project: project, Lookup: none}), &Options{Lookup: none}))(t)...)
}

func command(c *Config, name string) (string, Scope) {
	for _, s := range c.Servers {
		if s.Name == name {
			return s.Command, s.Source.Scope
		}
	}
	return "", ""
}

// What the user has chosen for a folder is stronger than what lies in the folder.
func TestLocalScope(t *testing.T) {
	for _, test := range []struct{ program, own, file string }{
		{"Claude Code", "~/.claude.json", ".mcp.json"},
		{"Kode", "~/.kode.json", ".mcprc"},
	} {
		inFile := `{"a":{"command":"of-the-repository"},"b":{"command":"of-the-repository"}}`
		if test.file != ".mcprc" {
			inFile = `{"mcpServers":` + inFile + `}`
		}
		home, project := localWorld(t, map[string]string{
			test.own:  `{"mcpServers":{"a":{"command":"global"},"b":{"command":"global"}},"projects":{"PROJECT":{"mcpServers":{"a":{"command":"local"}}}}}`,
			test.file: inFile,
		})
		c := mergedFor(t, home, project)
		got, scope := command(c, "a")
		assert.Equal(t, got, "local", "%s", test.program)
		assert.Equal(t, scope, ScopeLocal, "%s", test.program)
		assert.False(t, scope.NeedsApproval(), "%s: it needs approval", test.program)
		got, scope = command(c, "b")
		assert.True(t, got == "of-the-repository" && scope.NeedsApproval(), "%s: %q of scope %q needs approval", test.program, got, scope)
		assert.Equal(t, len(c.Shadowed), 3, "%s: hidden servers", test.program)
	}
}

// A file in a project cannot claim to be the user's section for it.
func TestProjectsInAFileOfTheProject(t *testing.T) {
	home, project := localWorld(t, map[string]string{
		".kode.json": `{"projects":{"PROJECT":{"mcpServers":{"a":{"command":"x"}}}}}`,
	})
	_, scope := command(mergedFor(t, home, project), "a")
	assert.Equal(t, scope, ScopeProject)
}
