package goose

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestEditFile(t *testing.T) {
	start, err := os.ReadFile(filepath.Join("testdata", "config.yaml"))
	assert.OK(t, err)
	path := filepath.Join(t.TempDir(), "config.yaml")
	assert.OK(t, os.WriteFile(path, start, 0o600))
	opts := &config.Options{Formats: []config.Format{Format()}}
	assert.OK(t, edit.Change(t.Context(), path, opts, func(f *edit.File) error {
		r, err := f.Record("github")
		if err != nil {
			return err
		}
		r.Env["MORE"] = "${X}"
		if err := f.Set("github", &record.Patch{
			Env: record.Some(r.Env), Disabled: record.Some(true), ReadTimeout: record.Some(2 * r.ReadTimeout),
			Args: record.Some([]string{"-y", "@modelcontextprotocol/server-github@2"}), Tools: record.Some(config.ToolFilter{Allow: []string{"search"}}),
		}); err != nil {
			return err
		}
		if err := f.Set("nested", &record.Patch{Name: record.Some("was nested"), Command: record.Some("uv")}); err != nil {
			return err
		}
		if err := f.Remove("ours"); err != nil {
			return err
		}
		return f.Add(&record.Record{Name: "new", URL: "https://new.example.com", Transport: config.TransportHTTP,
			Headers: map[string]config.Secret{"X-A": "b c"}, Tools: config.ToolFilter{Allow: []string{"one"}}})
	}))
	got := assert.Value(os.ReadFile(path))(t)
	golden := filepath.Join("testdata", "edited.want")
	if *update {
		assert.OK(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(got) != string(want) {
		t.Errorf("%v, got\n%s", err, got)
	}
}

func TestImportToGoose(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, ".mcp.json"), filepath.Join(dir, "config.yaml")
	text := `{"mcpServers": {"files": {"command": "npx", "env": {"TOKEN": "sk-abcdefghijkl9876"}, "lazy": true},
		"web": {"url": "https://example.com/mcp"}}}`
	assert.OK(t, os.WriteFile(source, []byte(text), 0o600))
	plan := assert.Value(edit.PlanImport(source, target, &edit.ImportOptions{To: &config.Options{Formats: []config.Format{Format()}}}))(t)
	want := "[{files <nil> [lazy: has no place in a file of the format goose]  : 'server files' && TOKEN='sk-****9876' 'npx'}" +
		" {web <nil> [transport: becomes http: the program needs to be told, and knows no auto]  connect server web by http to https://example.com/mcp}]"
	assert.Equal(t, fmt.Sprint(plan.Servers), want, "the servers")
	if !strings.HasSuffix(plan.Diff, `
+extensions:
+  files:
+    type: stdio
+    cmd: npx
+    envs:
+      TOKEN: "sk-****9876"
+    name: files
+  web:
+    type: streamable_http
+    uri: https://example.com/mcp
+    name: web
`) {
		t.Error(plan.Diff)
	}
	if err := plan.Apply(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEditContinue makes a file and changes it.
func TestEditContinue(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".continue", "config.yaml")
	opts := &config.Options{Formats: []config.Format{Format(), Continue()}}
	for _, change := range []func(*edit.File) error{
		func(f *edit.File) error {
			return f.Add(&record.Record{Name: "files", Command: "npx", Args: []string{"-y", "files"}, Env: map[string]config.Secret{"KEY": "${{ secrets.KEY }}"}})
		},
		func(f *edit.File) error {
			return f.Add(&record.Record{Name: "web", URL: "https://web.example.com/mcp", Transport: config.TransportHTTP,
				Headers: map[string]config.Secret{"X-A": "b"}, ConnectTimeout: 9 * time.Second})
		},
		func(f *edit.File) error {
			return f.Set("web", &record.Patch{ConnectTimeout: record.Some(2 * time.Second), Headers: record.Some(map[string]config.Secret{"X-A": "c", "X-B": "d"})})
		},
	} {
		assert.OK(t, edit.Change(t.Context(), path, opts, change))
	}
	got := assert.Value(os.ReadFile(path))(t)
	want := `mcpServers:
  - name: files
    command: npx
    args:
      - "-y"
      - files
    env:
      KEY: "${{ secrets.KEY }}"
  - name: web
    type: streamable-http
    url: https://web.example.com/mcp
    requestOptions:
      headers:
        X-A: c
        X-B: d
    connectionTimeout: 2000
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
