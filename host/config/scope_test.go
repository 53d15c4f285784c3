package config

import (
	"os"
	"path/filepath"
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
		assert.Equal(t, (&Options{Scope: test.said}).scope(test.file), test.want, "%s, said %q: got scope", test.file, test.said)
	}
	t.Chdir(filepath.Join(dir, ".vscode"))
	assert.Equal(t, scopeOfFile("mcp.json"), ScopeProject, "mcp.json in .vscode: got scope")
}
