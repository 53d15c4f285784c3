package codex

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
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
	data := assert.Value(os.ReadFile(file))(t)
	here := assert.Value(filepath.Abs(filepath.Dir(file)))(t)
	opts := &config.Options{Lookup: lookup, Formats: []config.Format{Format()}}
	c, err := config.Parse(t.Context(), file, data, opts)
	got := strings.ReplaceAll(configtest.Describe(c, err), here, "HERE")
	want, err := os.ReadFile(file + ".golden")
	if *update {
		assert.OK(t, os.WriteFile(file+".golden", []byte(got), 0o600))
		return
	}
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
	}
}
