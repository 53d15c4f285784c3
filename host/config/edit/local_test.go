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
			assert.OK(t, Change(t.Context(), path, opts, func(f *File) error {
				return f.Add(&record.Record{Name: "a", Command: "local"})
			}))
			if got, scope := command(mergedFor(t, home, project), "a"); got != "local" || scope != config.ScopeLocal {
				t.Errorf("got %q of scope %q, want the one that was added", got, scope)
			}
			global, err := config.Load(t.Context(), path, &config.Options{Scope: config.ScopeUser, Format: "mcpServers"})
			if strings.Contains(before, "global") {
				if got, _ := command(global, "a"); got != "global" {
					t.Errorf("got %q and %v for all projects, want what was there", got, err)
				}
			}
			assert.OK(t, Change(t.Context(), path, opts, func(f *File) error { return f.Remove("a") }))
			if got, scope := command(mergedFor(t, home, project), "a"); scope == config.ScopeLocal {
				t.Errorf("got %q of scope %q, want it gone", got, scope)
			}
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
		err := Change(t.Context(), path, opts, func(f *File) error { return f.Add(&record.Record{Name: "a", Command: "x"}) })
		var wrong *config.Error
		var edit *Error
		if !errors.As(err, &wrong) && !errors.As(err, &edit) {
			t.Errorf("%s: got %v, want an error", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: got a file, want none", name)
		}
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
