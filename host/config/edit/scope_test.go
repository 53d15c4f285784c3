package edit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// TestFileStoreKeepsItsScope: of what the store and its reader say, the stricter counts.
func TestFileStoreKeepsItsScope(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"x","trust":true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
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
		c, err := record.Read(t.Context(), store, &config.Options{Scope: test.reader})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Servers[0].Source.Scope; got != test.want {
			t.Errorf("store %q, reader %q: got scope %q, want %q", test.store, test.reader, got, test.want)
		}
		all, err := store.Records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].Record.Trust; !got {
			t.Errorf("store %q: got a record without trust, want it as written", test.store)
		}
	}
}
