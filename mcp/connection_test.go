package mcp_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A call that is meant for a connection goes over no other one.
func TestCallOfOneConnection(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("done")})
		c := newClient(t, p.to(server), nil)
		assert.OK(t, c.Ready(t.Context()))
		call := func(connection int) error {
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Connection: connection})
			return err
		}
		first := c.State().Connections
		assert.OK(t, call(first))
		assert.OK(t, c.Reconnect(t.Context()))
		err := call(first)
		assert.Is(t, err, mcp.ErrOtherConnection, "the connection before")
		wantOutcome(t, err, mcp.NotSent)
		assert.Equal(t, len(server.Received("tools/call")), 1, "calls were sent")
		for _, connection := range []int{c.State().Connections, 0} {
			assert.OK(t, call(connection), "connection %d", connection)
		}
	})
}
