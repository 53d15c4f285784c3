package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
		if s := list[0].Servers[0]; s.Name != "gh" || s.Err != nil || list[0].Format != test.format {
			t.Errorf("%s: got %s of the format %s, %v, want gh of %s", test.place, s.Name, list[0].Format, s.Err, test.format)
		}
	}
}

// TestSkippedHideNobody: what is no server takes no name and no place of one.
func TestSkippedHideNobody(t *testing.T) {
	const text = `{"context_servers": {"db": {"source": "extension", "settings": {}}, "x": {"command": "x"}}}`
	c := assert.Value(Parse(t.Context(), "settings.json", []byte(text), &Options{Scope: ScopeProject}))(t)
	if len(c.Servers) != 1 || len(c.Skipped) != 1 || c.Skipped[0].Title != "db" || c.Skipped[0].Source.Line != 1 {
		t.Errorf("got %v, %+v, want one server and db skipped", c.Servers, c.Skipped)
	}
	other := assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": {"db": {"command": "mine"}}}`), nil))(t)
	merged := Merge(c, other)
	if len(merged.Servers) != 2 || len(merged.Shadowed) != 0 || len(merged.Skipped) != 1 {
		t.Errorf("got %v, %v, %v, want two servers and one skipped", merged.Servers, merged.Shadowed, merged.Skipped)
	}
}

// TestFilesOfOthers: an error names the program and gives no advice that would break its
// file.
func TestFilesOfOthers(t *testing.T) {
	for path, want := range map[string]string{
		"librechat.yaml":              "the file is that of LibreChat, which is not read: leave it as it is",
		".continue/config.yaml":       "the file is that of Continue: give Options.Formats goose.Continue()",
		".continue/mcpServers/a.yaml": "the file is that of Continue: give Options.Formats goose.Continue()",
	} {
		if _, err := Parse(t.Context(), path, []byte(`{"other": 1}`), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	for path, want := range map[string]string{
		".vscode/mcp.json":   `has no "servers" object`,
		".zed/settings.json": `has no "context_servers" object`,
	} {
		if _, err := Parse(t.Context(), path, []byte(`{"other": 1}`), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// TestEachPlaceHasAProgram: no client of Find is without its words.
func TestEachPlaceHasAProgram(t *testing.T) {
	for _, l := range Find(&FindOptions{GOOS: "linux", Home: "/home/ann", Project: "/src", Lookup: func(string) (string, bool) { return "", false }}) {
		p, format := programOf(l.Path)
		if p.client != l.Client || format != l.Format {
			t.Errorf("%s: got %s, %s, want %s, %s", l.Path, p.client, format, l.Client, l.Format)
		}
		found := false
		for _, p := range programs() {
			found = found || p.client == l.Client
		}
		if !found {
			t.Errorf("got no program for %s, want one", l.Client)
		}
	}
}

// TestUnclosed: VS Code reads a file whose last brace is missing.
func TestUnclosed(t *testing.T) {
	const text = "{\"servers\": {\"a\": {\"command\": \"x\"}} // end"
	c, err := Parse(t.Context(), ".vscode/mcp.json", []byte(text), nil)
	if err != nil || len(c.Servers) != 1 || len(c.Warnings) != 1 {
		t.Fatalf("got %v, %v, want one server and a warning", c, err)
	}
	for _, text := range []string{"{\"servers\": {\"a\": {\"command\": \"x\"}", "{\"servers\": {\"a\": }", ""} {
		if _, err := Parse(t.Context(), ".vscode/mcp.json", []byte(text), nil); err == nil {
			t.Errorf("%q: got no error, want one", text)
		}
	}
	if _, err := Parse(t.Context(), "any.json", []byte(text), nil); err == nil {
		t.Errorf("got no error for a file of another program, want one")
	}
}
