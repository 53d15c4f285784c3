package mcp_test

import (
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server that knows nothing of the probe for the newest revision is reached
// all the same: one that says nothing, and one that ends.
func TestProbeIsNoObstacle(t *testing.T) {
	for name, c := range map[string]struct {
		probed mcptest.Handler
		place  string
	}{
		"silent": {mcptest.Hang, "mcp/handshake.go"},
		"ends":   {mcptest.Disconnect, "mcp/era.go"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := legacy(t, mcptest.Script{"server/discover": c.probed, "tools/call": text("done")})
				assert.Equal(t, textOf(t, mustCall(t, newClient(t, server, nil), "x")), "done", "result")
				ctx := within(t, patience)
				if s, err := bareClient(nil).Connect(ctx, server, nil); err == nil {
					_ = s.Close()
					mended(t, c.place)
				}
			})
		})
	}
}
