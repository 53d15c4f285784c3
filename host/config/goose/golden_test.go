package goose

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// inputs returns the config files in testdata.
func inputs(tb testing.TB) []string {
	tb.Helper()
	files := assert.Value(filepath.Glob(filepath.Join("testdata", "*.y*ml")))(tb)
	more := assert.Value(filepath.Glob(filepath.Join("testdata", "continue", "*.yaml")))(tb)
	assert.True(tb, len(files) >= 4 && len(more) >= 2, "there are files")
	return append(files, more...)
}

// golden compares a text with a file, or writes it there with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		assert.OK(t, os.WriteFile(file, []byte(got), 0o600))
	}
	assert.Equal(t, got, string(assert.Value(os.ReadFile(file))(t)), "%s", file)
}
