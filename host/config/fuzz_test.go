package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json*"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, file := range files {
		data := assert.Value(os.ReadFile(file))(f)
		f.Add(data)
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
		if err != nil {
			place(t, err)
			return
		}
		checkConfig(t, c)
	})
}

// checkConfig fails the test unless all that must hold for what was read does.
func checkConfig(t *testing.T, c *Config) {
	t.Helper()
	pattern := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	names := map[string]bool{}
	for _, s := range c.Servers {
		if !pattern.MatchString(s.Name) || strings.Contains(s.Name, "__") || names[s.Name] {
			t.Fatalf("bad or repeated name %q", s.Name)
		}
		names[s.Name] = true
		if s.Source.File != c.Path || s.Source.Line < 1 {
			t.Fatalf("server without a place: %s", s.Source)
		}
		_, _ = s.String(), s.Hash()
		if s.Err != nil {
			var joined interface{ Unwrap() []error }
			if !errors.As(s.Err, &joined) {
				t.Fatalf("Err is a %T", s.Err)
			}
			for _, err := range joined.Unwrap() {
				place(t, err)
			}
			continue
		}
		if (s.Command == "") == (s.URL == "") || s.Transport == "" || s.Source.Format != c.Format {
			t.Fatalf("a server that cannot be started has no Err: %s", s)
		}
		for header, value := range s.Headers {
			if strings.ContainsAny(header+value.Reveal(), "\r\n\x00") {
				t.Fatalf("header %q breaks the line", header)
			}
		}
	}
	for _, w := range c.Warnings {
		place(t, w)
	}
}

// place fails the test unless err says where it is.
func place(t *testing.T, err error) {
	t.Helper()
	var typed *Error
	if !errors.As(err, &typed) || typed.File == "" || typed.Line < 1 || typed.Column < 1 || typed.Err == nil {
		t.Fatalf("error without a place: %#v", err)
	}
	if strings.ContainsAny(err.Error(), "\r\n\x00\x1b") {
		t.Fatalf("control character in %q", err)
	}
}
