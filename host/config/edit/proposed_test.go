package edit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// That a record was proposed is in the file, whatever its format, or the record is not kept.
func TestProposedIsWritten(t *testing.T) {
	for name, text := range map[string]string{
		"mcp.json":      `{"mcpServers":{}}`,
		"servers.json":  `{"servers":{}}`,
		"settings.json": `{"context_servers":{}}`,
		"opencode.json": `{"mcp":{}}`,
	} {
		path := filepath.Join(t.TempDir(), name)
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
		opts := &config.Options{Scope: config.ScopeUser}
		store := edit.OpenFileStore(path, opts)
		if _, err := record.Add(t.Context(), store, &record.Record{Name: "new", Command: "x", Proposed: true}); err != nil {
			t.Logf("%s: %v", name, err)
			if all, readErr := store.Records(t.Context()); readErr != nil || len(all) > 0 {
				t.Errorf("%s: got %d records and %v after %v, want none", name, len(all), readErr, err)
			}
			continue
		}
		s := assert.Value(record.ReadServer(t.Context(), store, "new", opts))(t)
		assert.Equal(t, s.Source.Scope, config.ScopeProposed, "%s: the scope", name)
	}
}
