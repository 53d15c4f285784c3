package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

// openCode reads a server of an opencode.json.
func openCode(t *testing.T, entry string, opts Options) *Server {
	t.Helper()
	if opts.Lookup == nil {
		opts.Lookup = lookup
	}
	c, err := Parse(t.Context(), "opencode.json", []byte(`{"mcp": {"a": `+entry+`}}`), &opts)
	assert.OK(t, err, "%s", entry)
	assert.Equal(t, len(c.Servers), 1, "%s", entry)
	return c.Servers[0]
}

// TestOpenCodeReferences: {env:VAR} and {file:path} are replaced, and nothing else is.
func TestOpenCodeReferences(t *testing.T) {
	home := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(home, "key"), []byte("kept\n"), 0o600))
	env := func(name string) (string, bool) {
		if name == homeVariable("linux") || name == homeVariable("windows") {
			return home, true
		}
		return lookup(name)
	}
	for _, test := range []struct{ text, want string }{
		{"{env:API_TOKEN}", "tok-123"},
		{"a{env:API_TOKEN}b{env:API_TOKEN}", "atok-123btok-123"},
		{"{env:NOT_SET}", ""},
		{"{env:DSN}", "postgres://u:p@db/$API_TOKEN"}, // not expanded again
		{"{file:~/key}", "kept"},
		{"$API_TOKEN ${API_TOKEN} ${env:API_TOKEN", "$API_TOKEN ${API_TOKEN} ${env:API_TOKEN"},
		{"${env:API_TOKEN}", "$tok-123"},
		{"{env:}{x}{keyring:y}{", "{env:}{x}{keyring:y}{"},
		{"{env:API_TOKEN", "{env:API_TOKEN"},
	} {
		s := openCode(t, `{"type": "remote", "url": "https://a.example", "headers": {"X-A": "`+test.text+`"}}`, Options{Lookup: env})
		assert.Equal(t, s.Headers["X-A"].Reveal(), test.want, "%s", test.text)
		assert.OK(t, s.Err, "%s", test.text)
		_, headers, _ := s.written()
		assert.Equal(t, headers["X-A"].Reveal(), test.text)
	}
	s := openCode(t, `{"type": "local", "command": ["{env:API_TOKEN}", "{env:B}"], "environment": {"C": "{file:d}"}}`, Options{})
	want := []string{"command[0]: {env:API_TOKEN}", "command[1]: {env:B}", "environment.C: {file:d}"}
	assert.Equal(t, fmt.Sprintf("%q", slices.Sorted(slices.Values(s.references))), fmt.Sprintf("%q", want))
	for text, want := range map[string]string{"Bearer {env:TOKEN}": "Bearer {env:TOKEN}", "{file:/run/key}": "{file:/run/key}", "{env:a b c d e}": "****"} {
		assert.Equal(t, mask.String(text), want, "masked %s", text)
	}
}

// TestCommandLineFingerprint: a list is the same server as a command with arguments.
func TestCommandLineFingerprint(t *testing.T) {
	list := openCode(t, `{"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "1"}}`, Options{}).Fingerprint()
	for entry, same := range map[string]bool{
		`{"command": "npx", "args": ["-y", "x"], "env": {"A": "2"}}`: true,
		`{"command": "npx", "args": ["-y", "y"], "env": {"A": "1"}}`: false,
		`{"command": "npx", "args": ["-y"], "env": {"A": "1"}}`:      false,
	} {
		assert.Equal(t, one(t, entry).Fingerprint() == list, same, "%s: the same", entry)
	}
}

// TestOpenCodeCwd: a relative folder starts at that of the project.
func TestOpenCodeCwd(t *testing.T) {
	dir := t.TempDir()
	data := []byte(`{"mcp": {"a": {"type": "local", "command": ["x"], "cwd": "tools"}}}`)
	for _, file := range []string{"opencode.json", filepath.Join(".opencode", "opencode.json")} {
		c := assert.Value(Parse(t.Context(), filepath.Join(dir, file), data, nil))(t)
		assert.Equal(t, c.Servers[0].Cwd, filepath.Join(dir, "tools"), "%s", file)
	}
}
