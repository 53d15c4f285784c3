// Tests of file_store.go and draft.go: the sections of a project in a file of the user.

package edit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestFileStoreKeepsItsScope: of what the store and its reader say, the stricter counts.
func TestFileStoreKeepsItsScope(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"x","trust":true}}}`), 0o600))
	for _, test := range []struct{ store, reader, want config.Scope }{
		{"", "", config.ScopeProgram},
		{config.ScopeProject, "", config.ScopeProject},
		{config.ScopeProject, config.ScopeProgram, config.ScopeProject},
		{config.ScopeRC, config.ScopeUser, config.ScopeRC},
		{config.ScopeRC, config.ScopeProject, config.ScopeRC},
		{"", config.ScopeProject, config.ScopeProject},
		{config.ScopeProgram, config.ScopeUser, config.ScopeUser},
		{config.ScopeUser, config.ScopeProgram, config.ScopeUser},
	} {
		store := OpenFileStore(path, &config.Options{Scope: test.store})
		c := assert.Value(record.Read(t.Context(), store, &config.Options{Scope: test.reader}))(t)
		assert.Equal(t, c.Servers[0].Source.Scope, test.want, "store %q, reader %q: got scope", test.store, test.reader)
		assert.True(t, assert.Value(store.Records(t.Context()))(t)[0].Record.Trust, "store %q: all[0].Record.Trust", test.store)
	}
}

// The section of a project can be written, and is made if it is not there.
func TestEditOfTheLocalScope(t *testing.T) {
	for name, before := range map[string]string{
		"no section":       `{"numStartups": 7, "mcpServers": {"a": {"command": "global"}}}`,
		"no servers":       `{"numStartups": 7, "mcpServers": {"a": {"command": "global"}}, "projects": {"PROJECT": {"history": []}}}`,
		"a section":        `{"mcpServers": {"a": {"command": "global"}}, "projects": {"PROJECT": {"mcpServers": {}}, "/other": {"mcpServers": {"a": {"command": "other"}}}}}`,
		"nothing of ours":  `{"numStartups": 7}`,
		"a file not there": "",
	} {
		t.Run(name, func(t *testing.T) {
			home, project := localWorld(t, map[string]string{"~/x": ""})
			path := filepath.Join(home, ".claude.json")
			if before != "" {
				assert.OK(t, os.WriteFile(path, []byte(strings.ReplaceAll(before, "PROJECT", filepath.ToSlash(project))), 0o600))
			}
			opts := &config.Options{Scope: config.ScopeLocal, Project: project, Format: "mcpServers"}
			store := OpenFileStore(path, opts)
			assert.Value(record.Add(t.Context(), store, &config.Server{Name: "a", Command: "local"}))(t)
			got, scope := command(mergedFor(t, home, project), "a")
			assert.Equal(t, got, "local")
			assert.Equal(t, scope, config.ScopeLocal)
			global := assert.Value(config.Load(t.Context(), path, &config.Options{Scope: config.ScopeUser, Format: "mcpServers"}))(t)
			if strings.Contains(before, "global") {
				got, _ := command(global, "a")
				assert.Equal(t, got, "global")
			}
			assert.Value(record.Remove(t.Context(), store, "a"))(t)
			got, scope = command(mergedFor(t, home, project), "a")
			assert.True(t, scope != config.ScopeLocal, "%q of scope %q is gone", got, scope)
		})
	}
}

func TestLocalScopeThatCannotBe(t *testing.T) {
	for name, opts := range map[string]*config.Options{
		"no project": {Scope: config.ScopeLocal, Format: "mcpServers"},
		"relative":   {Scope: config.ScopeLocal, Format: "mcpServers", Project: "x"},
		"no place":   {Scope: config.ScopeLocal, Format: "vscode", Project: t.TempDir()},
	} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		_, err := record.Add(t.Context(), OpenFileStore(path, opts), &config.Server{Name: "a", Command: "x"})
		var wrong *config.Error
		var edit *editError
		assert.True(t, errors.As(err, &wrong) || errors.As(err, &edit), "%s: the error %v", name, err)
		assert.Fails(t, assert.Err(os.Stat(path)), "%s", name)
	}
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

func mergedFor(t *testing.T, home, project string) *config.Config {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	configs := assert.Value(config.LoadAll(t.Context(), config.Find(&config.FindOptions{Home: home, Project: project, Lookup: none}), &config.Options{Lookup: none}))(t)
	return config.Merge(configs...)
}

func command(c *config.Config, name string) (string, config.Scope) {
	for _, s := range c.Servers {
		if s.Name == name {
			return s.Command, s.Source.Scope
		}
	}
	return "", ""
}
