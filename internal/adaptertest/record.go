package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
	assert.OK(t, err)
	data = append(data, '\n')
	path := filepath.Join("..", "..", "docs", "adapters", "results", a.Name+"-"+a.Runtime+".json")
	if os.Getenv("MCPBELT_ADAPTERS") == "write" {
		assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.OK(t, os.WriteFile(path, data, 0o644))
		return
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, data) {
		t.Errorf("%s says something else; run make adapters", filepath.Base(path))
	}
}
