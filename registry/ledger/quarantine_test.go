package ledger

import (
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// quarantineOf returns why the tool x of a server may not be called; empty if it may.
func quarantineOf(l *Ledger, s *Server) ChangeKind {
	if c := l.Judge(*s, surfacesIn(surfaceTool("x"))[0]); c != nil {
		return c.Kind
	}
	return ""
}

// A quarantine ends by approval and only so, whatever the configuration says later.
func TestQuarantineEndsByApprovalOnly(t *testing.T) {
	for _, mode := range []Mode{Trust, Pin} {
		for _, print := range []string{"one", ""} {
			path := filepath.Join(t.TempDir(), "mcp.lock.json")
			l := openLedger(t, path, mode)
			free := &Server{Name: "github", Fingerprint: print}
			held := &Server{Name: "github", Fingerprint: print, Quarantined: true}
			other := &Server{Name: "github", Fingerprint: "other", Quarantined: true}
			step := func(what string, s *Server, want ChangeKind) {
				t.Helper()
				mustRecord(t, l, s, surfaceTool("x"))
				for i, l := range []*Ledger{l, openLedger(t, path, mode)} { // and what is kept
					assert.Equal(t, quarantineOf(l, s), want, "mode %s, fingerprint %q, %s, ledger %d", mode, print, what, i)
					assert.Equal(t, l.Quarantines(*s), (want == ServerQuarantined), "mode %s, fingerprint %q, %s, ledger %d: got quarantines", mode, print, what, i)
				}
			}
			step("not yet", free, "")
			step("put into quarantine", held, ServerQuarantined)
			step("taken out of the configuration", free, ServerQuarantined)
			pending := l.Pending("github")
			if len(pending) != 1 || pending[0].Kind != ServerQuarantined || pending[0].Tool != "" || pending[0].Since.IsZero() {
				t.Fatalf("got the pending changes %+v, want the server's quarantine", pending)
			}
			mustApprove(t, l, pending...)
			step("approved", held, "")
			step("approved, with another address", other, ServerQuarantined)
			step("back at the former address", held, ServerQuarantined)
			mustApprove(t, l, l.Pending("github")...)
			step("approved, taken out of the configuration", free, "")
			mustApprove(t, l, l.Pending("github")...)
			step("put into quarantine anew", held, ServerQuarantined)
			assert.OK(t, l.Reject(t.Context(), "alice", l.Pending("github")...))
			if print != "" {
				assert.Equal(t, quarantineOf(l, held), ToolRejected, "mode %s, rejected", mode)
			}
		}
	}
}
