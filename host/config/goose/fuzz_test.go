package goose

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.y*ml"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range odd() {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "f.yaml")
	opts := &config.Options{
		Lookup:  func(name string) (string, bool) { return name + "\n", len(name)%2 == 0 },
		Formats: []config.Format{Format()},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse(file, data, opts)
		if err != nil {
			place(t, err)
			return
		}
		checkConfig(t, c)
	})
}

// checkConfig fails the test unless all that must hold for what was read does.
func checkConfig(t *testing.T, c *config.Config) {
	t.Helper()
	names := map[string]bool{}
	for _, s := range c.Servers {
		if s.Name == "" || names[s.Name] || s.Source.Line < 1 || s.Source.Format != c.Format {
			t.Fatalf("bad or repeated name %q, or no place: %s", s.Name, s.Source)
		}
		names[s.Name] = true
		_, _ = s.Hash(), s.Fingerprint()
		for key, value := range s.Extra {
			if !json.Valid(value) {
				t.Fatalf("%q is not JSON: %q", key, value)
			}
		}
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
		if (s.Command == "") == (s.URL == "") || s.Transport == "" {
			t.Fatalf("a server that cannot be started has no Err: %s", s)
		}
	}
	for _, w := range c.Warnings {
		place(t, w)
	}
}

// place fails the test unless err says where it is.
func place(t *testing.T, err error) {
	t.Helper()
	var typed *config.Error
	if !errors.As(err, &typed) || typed.Line < 1 || typed.Column < 1 || typed.Err == nil {
		t.Fatalf("error without a place: %#v", err)
	}
	if strings.ContainsAny(err.Error(), "\r\n\x00\x1b") {
		t.Fatalf("control character in %q", err)
	}
}
