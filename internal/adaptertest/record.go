package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A Record is what came of one runtime of an adapter, as it is kept in
// docs/adapters/results.
type Record struct {
	Adapter   string            `json:"adapter"`
	Runtime   string            `json:"runtime"`
	Framework string            `json:"framework"`
	Interrupt string            `json:"interrupt"`
	InOrder   bool              `json:"inOrder"`
	TextOnly  bool              `json:"textOnly"`
	Fixed     bool              `json:"fixed"`
	Checks    map[string]string `json:"checks"` // "yes", "no", or why not
}

// record compares what came of the checks with what is kept, or keeps it if the
// environment says MCPBELT_ADAPTERS=write.
func record(t *testing.T, a Adapter, results map[string]string) {
	t.Helper()
	data, err := json.MarshalIndent(Record{a.Name, a.Runtime, a.Framework, a.Interrupt, a.InOrder, a.TextOnly, a.Fixed, results}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "docs", "adapters", "results", a.Name+"-"+a.Runtime+".json")
	if os.Getenv("MCPBELT_ADAPTERS") == "write" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, data) {
		t.Errorf("%s says something else; run make adapters", filepath.Base(path))
	}
}

// root returns the folder that holds all modules.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "allmodules")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
}
