package edit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestFileStoreKeepsItsScope: of what the store and its reader say, the stricter counts.
func TestFileStoreKeepsItsScope(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"x","trust":true}}}`), 0o600))
	for _, test := range []struct{ store, reader, want config.Scope }{
		{"", "", config.ScopeProgram},
		{config.ScopeProject, "", config.ScopeProject},
		{config.ScopeProject, config.ScopeProgram, config.ScopeProject},
		{config.ScopeRC, config.ScopeUser, config.ScopeRC},
		{config.ScopeRC, config.ScopeProject, config.ScopeRC},
		{"", config.ScopeProject, config.ScopeProject},
		{config.ScopeProgram, config.ScopeUser, config.ScopeUser},
		{config.ScopeUser, config.ScopeProgram, config.ScopeUser},
	} {
		store := OpenFileStore(path, &config.Options{Scope: test.store})
		c := assert.Value(record.Read(t.Context(), store, &config.Options{Scope: test.reader}))(t)
		assert.Equal(t, c.Servers[0].Source.Scope, test.want, "store %q, reader %q: got scope", test.store, test.reader)
		all := assert.Value(store.Records(t.Context()))(t)
		if got := all[0].Record.Trust; !got {
			t.Errorf("store %q: got a record without trust, want it as written", test.store)
		}
	}
}
