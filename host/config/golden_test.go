package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads every file below testdata/<format> and compares all that was read,
// with places and masked secrets, to the file of the same name that ends in .golden.
func TestGolden(t *testing.T) {
	for _, f := range config.Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", f.Name(), "*"))
		if err != nil {
			t.Fatal(err)
		}
		deeper, err := filepath.Glob(filepath.Join("testdata", f.Name(), "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
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
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
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
		if other := strings.ReplaceAll(configtest.Describe(again, err), here, "HERE"); other != got {
			t.Errorf("without the name of the format:\n%s", other)
		}
	}
	want, err := os.ReadFile(file + ".golden")
	if *updateGolden {
		if err := os.WriteFile(file+".golden", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
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
