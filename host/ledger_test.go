package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A server that is seen for the first time while the ledger is damaged is held
// back, the status says why, and it comes by itself once the ledger is sound.
func TestDamagedLedgerIsTriedAgain(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "mcp.lock.json")
	accepted := assert.Value(ledger.Open(lock, nil))(t)
	assert.OK(t, os.WriteFile(lock, []byte("<<<<<<< HEAD\n"), 0o600))
	s := newServer("s")
	opts := inProcess(s)
	opts.Registry = registry.New(&registry.Options{Ledger: accepted})
	h := open(t, write(t, "s", `{"command": "x"}`), opts)
	now := status(t, h, "s")
	if now.Tools != 0 || now.Quarantined != 1 || !errors.As(now.Err, new(*ledger.Error)) {
		t.Errorf("with a damaged ledger: %d tools, %d held back, %v", now.Tools, now.Quarantined, now.Err)
	}
	assert.OK(t, os.Remove(lock))
	until(t, h, "s", "pinned", func(s host.Status) bool { return s.Tools == 1 && s.Err == nil })
	s.AddTool(&sdk.Tool{Name: "late", InputSchema: map[string]any{"type": "object"}}, nil)
	until(t, h, "s", "holding one tool back", func(s host.Status) bool { return s.Tools == 1 && s.Quarantined == 1 })
}
