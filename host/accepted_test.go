//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestCommittedLedgerIsSeenOnce: whoever is asked whether a server of a project may start
// sees whose decisions about its tools the ledger of the project has, and is asked once.
func TestCommittedLedgerIsSeenOnce(t *testing.T) {
	p := newProject(t)
	file, ledger := filepath.Join(p.dir, ".mcp.json"), filepath.Join(p.dir, "mcp.lock.json")
	p.write(file, projectFile)
	author := assert.Value(host.Open(t.Context(), file, &host.Options{
		StateDir: t.TempDir(), Ledger: ledger, OpenWait: -1, Config: &config.Options{Scope: config.ScopeProgram},
	}))(t)
	assert.OK(t, author.Close())
	text := assert.Value(os.ReadFile(ledger))(t)
	p.write(ledger, strings.ReplaceAll(string(text), `"first use"`, `"mallory"`))

	opts := &host.Options{StateDir: t.TempDir(), Ledger: ledger, OpenWait: -1}
	user := assert.Value(host.Open(t.Context(), file, opts))(t)
	p.opened(user, nil)
	pending := user.PendingLaunches()
	if len(pending) != 1 {
		t.Fatalf("got %d servers that wait, want 1", len(pending))
	}
	shown := pending[0].String()
	for _, want := range []string{"1 by \"mallory\" until 2", ledger} {
		if !strings.Contains(shown, want) {
			t.Errorf("got the launch %s, want %s in it", shown, want)
		}
	}
	bare := *pending[0]
	bare.Accepted = ""
	assert.Equal(t, bare.Fingerprint(), pending[0].Fingerprint(), "the fingerprint without what is accepted")
	assert.OK(t, user.AllowLaunch(t.Context(), "ann", pending[0].Fingerprint()))
	again := assert.Value(host.Open(t.Context(), file, opts))(t)
	p.opened(again, nil)
	if got := again.PendingLaunches(); len(got) != 0 {
		t.Errorf("got %v that wait the next time, want none", got)
	}
}

// TestNoLedgerIsSeenWhereThereIsNone: without decisions nothing is said.
func TestNoLedgerIsSeenWhereThereIsNone(t *testing.T) {
	p := newProject(t)
	file := filepath.Join(p.dir, ".mcp.json")
	p.write(file, projectFile)
	for _, ledger := range []string{"", filepath.Join(p.dir, "mcp.lock.json")} {
		h, err := host.Open(t.Context(), file, &host.Options{StateDir: host.NoState, Consents: consent.New(), Ledger: ledger})
		p.opened(h, err)
		if pending := h.PendingLaunches(); len(pending) != 1 || pending[0].Accepted != "" {
			t.Errorf("with the ledger %q: got %v, want a launch of which nothing is accepted", ledger, pending)
		}
	}
}
