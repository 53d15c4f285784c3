package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
	configs := assert.Value(LoadAll(t.Context(), Find(&FindOptions{Home: home, Project: project, Lookup: none}), &Options{Lookup: none}))(t)
	return Merge(configs...)
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
		if got != "local" || scope != ScopeLocal {
			t.Errorf("%s: got %q of scope %q, want that of the local scope", test.program, got, scope)
		}
		if scope.NeedsApproval() {
			t.Errorf("%s: got a server of the user's own that needs approval", test.program)
		}
		if got, scope := command(c, "b"); got != "of-the-repository" || !scope.NeedsApproval() {
			t.Errorf("%s: got %q of scope %q, want that of the repository, which needs approval", test.program, got, scope)
		}
		assert.Equal(t, len(c.Shadowed), 3, "%s: hidden servers", test.program)
	}
}

// A file in a project cannot claim to be the user's section for it.
func TestProjectsInAFileOfTheProject(t *testing.T) {
	home, project := localWorld(t, map[string]string{
		".kode.json": `{"projects":{"PROJECT":{"mcpServers":{"a":{"command":"x"}}}}}`,
	})
	if _, scope := command(mergedFor(t, home, project), "a"); scope != ScopeProject {
		t.Errorf("got scope %q, want %q", scope, ScopeProject)
	}
}
