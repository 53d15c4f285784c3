package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain ignores the workers that bleve starts when a program begins, and that
// end with it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// TestRun writes the table and the file, with the same figures: there is no chance
// in them, but for times.
func TestRun(t *testing.T) {
	var printed bytes.Buffer
	if err := run(nil, &printed); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "SEARCH.md")
	if err := run([]string{"-out", name}, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file := string(data)
	if !strings.Contains(file, printed.String()) {
		t.Errorf("the file has not the table that was printed:\n%s\n%s", printed.String(), file)
	}
	for _, c := range contenders() {
		if !strings.Contains(printed.String(), "| "+c.name+" | held out | 0.") {
			t.Errorf("there is no row for %s:\n%s", c.name, printed.String())
		}
	}
	for _, bad := range []string{"NaN", "unknown version"} {
		if strings.Contains(file, bad) {
			t.Errorf("the file contains %q:\n%s", bad, file)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range []string{"extra", "-nothing", "-out " + t.TempDir()} {
		if err := run(strings.Fields(args), &bytes.Buffer{}); err == nil {
			t.Errorf("search %s: no error", args)
		}
	}
}

func TestMeasureFails(t *testing.T) {
	opens, breaks, ends := errors.New("opens"), errors.New("breaks"), errors.New("ends")
	_, err := measure([]contender{{"x", func() (func(string) ([]string, error), func() error, error) { return nil, nil, opens }}})
	if !errors.Is(err, opens) || !strings.Contains(err.Error(), "x: ") {
		t.Errorf("error = %v, want that of opening x", err)
	}
	_, err = measure([]contender{{"x", func() (func(string) ([]string, error), func() error, error) {
		return func(string) ([]string, error) { return nil, breaks }, func() error { return ends }, nil
	}}})
	if !errors.Is(err, breaks) || !errors.Is(err, ends) {
		t.Errorf("error = %v, want that of the search and that of the end", err)
	}
}
