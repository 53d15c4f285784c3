package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/adaptertest/results"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// record compares what came of the checks with what is kept, or keeps it if the
// environment says MCPBELT_ADAPTERS=write.
func record(t *testing.T, a Adapter, came map[string]string) {
	t.Helper()
	data, err := json.MarshalIndent(results.Record{
		Adapter: a.Name, Runtime: a.Runtime, Framework: a.Framework, Interrupt: a.Interrupt,
		InOrder: a.InOrder, TextOnly: a.TextOnly, Fixed: a.Fixed, Checks: came,
	}, "", "\t")
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
