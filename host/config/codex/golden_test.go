package codex

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads every file in testdata and compares all that was read, with places
// and masked secrets, to the file of the same name that ends in .golden.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.toml"))
	if err != nil || len(files) < 4 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(filepath.ToSlash(file), func(t *testing.T) { golden(t, file) })
	}
}

// lookup is the environment of the tests.
func lookup(name string) (string, bool) {
	value, ok := map[string]string{"API_TOKEN": "tok-123", "EMPTY": ""}[name]
	return value, ok
}

// golden reads one file.
func golden(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	opts := &config.Options{Lookup: lookup, Formats: []config.Format{Format()}}
	c, err := config.Parse(t.Context(), file, data, opts)
	got := strings.ReplaceAll(configtest.Describe(c, err), here, "HERE")
	want, err := os.ReadFile(file + ".golden")
	if *update {
		if err := os.WriteFile(file+".golden", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
	}
}
