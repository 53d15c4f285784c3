package config_test

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

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads every file below testdata/<format> and compares all that was read,
// with places and masked secrets, to the file of the same name that ends in .golden.
func TestGolden(t *testing.T) {
	for _, f := range config.Formats() {
		files := assert.Value(filepath.Glob(filepath.Join("testdata", f.Name(), "*")))(t)
		deeper := assert.Value(filepath.Glob(filepath.Join("testdata", f.Name(), "*", "*")))(t)
		files = append(files, deeper...)
		seen := 0
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasSuffix(file, ".golden") {
				continue
			}
			seen++
			t.Run(filepath.ToSlash(file), func(t *testing.T) { golden(t, file, f.Name()) })
		}
		if seen < 2 {
			t.Errorf("%s: %d files, want some that are right and some that are wrong", f.Name(), seen)
		}
	}
}

// golden reads one file without and with the name of its format.
func golden(t *testing.T, file, format string) {
	t.Helper()
	data := assert.Value(os.ReadFile(file))(t)
	here := assert.Value(filepath.Abs(filepath.Dir(file)))(t)
	opts := &config.Options{Lookup: goldenLookup, Project: "/src/app"}
	if strings.Contains(filepath.Base(file), "ambiguous") {
		opts.Format = ""
	} else {
		opts.Format = format
	}
	c, err := config.Parse(t.Context(), file, data, opts)
	got := strings.ReplaceAll(configtest.Describe(c, err), here, "HERE")
	if opts.Format != "" {
		again, err := config.Parse(t.Context(), file, data, &config.Options{Lookup: goldenLookup, Project: "/src/app"})
		assert.Equal(t, strings.ReplaceAll(configtest.Describe(again, err), here, "HERE"), got, "without the name of the format")
	}
	want, err := os.ReadFile(file + ".golden")
	if *updateGolden {
		assert.OK(t, os.WriteFile(file+".golden", []byte(got), 0o600))
		return
	}
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
	}
}

// goldenLookup is the environment of the golden files.
func goldenLookup(name string) (string, bool) {
	value, ok := map[string]string{"API_TOKEN": "tok-123", "EMPTY": ""}[name]
	return value, ok
}
