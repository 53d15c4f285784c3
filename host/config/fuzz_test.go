package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func FuzzParse(f *testing.F) {
	files := assert.Value(filepath.Glob(filepath.Join("testdata", "*.json")))(f)
	assert.True(f, len(files) != 0, "there are files")
	for _, file := range files {
		f.Add(assert.Value(os.ReadFile(file))(f))
	}
	for _, entry := range []string{
		`"x": 1`, `"a b": {}, "a.b": {"url": "http://[::1"}, "": {"command": "$A${B:-c}${file:x}"}`,
		`"a": {"command": "x", "comand": "y", "env": {"A": "$secret"}, "tools": {"deny": 1, "x": 2}, "timeout": -1e999}`,
	} {
		f.Add([]byte(`{"mcpServers": {` + entry + `}}`))
	}
	opts := &Options{Lookup: func(name string) (string, bool) { return name + "\n", len(name)%2 == 0 }}
	file := filepath.Join(f.TempDir(), "f.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(t.Context(), file, data, opts)
		CheckParsed(t, c, err)
	})
}

// CheckParsed fails the test unless all that must hold for what Parse returned does.
func CheckParsed(t *testing.T, c *Config, err error) {
	t.Helper()
	if err != nil {
		place(t, err)
		return
	}
	pattern := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	names := map[string]bool{}
	for _, s := range c.Servers {
		assert.True(t, pattern.MatchString(s.Name), "%q is a name", s.Name)
		assert.Lacks(t, s.Name, "__")
		assert.False(t, names[s.Name], "%s is there twice", s.Name)
		names[s.Name] = true
		assert.Equal(t, s.Source.File, c.Path, "%s: its file", s.Name)
		assert.True(t, s.Source.Line >= 1, "%s: it has a line", s.Name)
		_, _ = s.String(), s.Hash()
		for key, value := range s.Extra {
			assert.True(t, json.Valid(value), "%q is JSON: %q", key, value)
		}
		if s.Err != nil {
			for _, err := range s.Err.(interface{ Unwrap() []error }).Unwrap() {
				place(t, err)
			}
			continue
		}
		assert.True(t, (s.Command == "") != (s.URL == "") && s.Transport != "", "%s: it can be started", s.Name)
		assert.Equal(t, s.Source.Format, c.Format, "%s: its format", s.Name)
		for header, value := range s.Headers {
			assert.False(t, strings.ContainsAny(header+value.Reveal(), "\r\n\x00"), "header %q breaks the line", header)
		}
	}
	for _, w := range c.Warnings {
		place(t, w)
	}
}

// place fails the test unless err says where it is.
func place(t *testing.T, err error) {
	t.Helper()
	typed := assert.As[*Error](t, err, "error without a place")
	assert.True(t, typed.File != "", "error without a place")
	assert.True(t, typed.Line >= 1 && typed.Column >= 1, "%v has a place", err)
	assert.Fails(t, typed.Err, "error without a place")
	assert.False(t, strings.ContainsAny(err.Error(), "\r\n\x00\x1b"), "control character in %q", err)
}

// FuzzFormats reads data in each JSON format, and as the file that it looks like.
func FuzzFormats(f *testing.F) {
	for i, format := range Formats() {
		for _, pattern := range []string{"*", "*/*", ".*"} {
			files := assert.Value(filepath.Glob(filepath.Join("testdata", format.Name, filepath.FromSlash(pattern))))(f)
			for _, file := range files {
				if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasSuffix(file, ".golden") {
					continue
				}
				data := assert.Value(os.ReadFile(file))(f)
				f.Add(uint8(i), data)
			}
		}
	}
	for i, text := range []string{
		`{"mcpServers": [{"name": "a"}, {"name": "a"}, 1, null], "projects": {"/p": {"mcpServers": {"a": {}}}}}`,
		`{"servers": {"a": {"command": "${workspaceFolder}${input:x}", "envFile": "x"}}, "inputs": [{"id": "x", "type": "pickString", "options": [1, {}]}]}`,
		`{"context_servers": {"a": {"command": {"path": "x", "command": "y", "args": 1, "timeout": -1}}}}`,
		`{"a": {"command": "x", "isolation": {"kind": "docker", "image": "i", "mounts": [{}, 1]}}}`,
		`{"servers": [{"name": "x", "transport": {"transport": "stdio", "command": "c", "args": null}, "url": ""}]}`,
	} {
		f.Add(uint8(i), []byte(text))
	}
	dir := f.TempDir()
	lookup := func(name string) (string, bool) { return name + "\n", len(name)%2 == 0 }
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		formats := Formats()
		name := formats[int(which)%len(formats)].Name
		for _, opts := range []*Options{
			{Lookup: lookup, Format: name, Project: "/p"},
			{Lookup: lookup, Scope: ScopeProject},
		} {
			c, err := Parse(t.Context(), filepath.Join(dir, ".mcprc"), data, opts)
			CheckParsed(t, c, err)
			if err != nil {
				continue
			}
			merged := Merge(c, c)
			assert.Equal(t, len(merged.Servers)+len(merged.Shadowed), 2*(len(c.Servers)+len(c.Shadowed)))
		}
	})
}
