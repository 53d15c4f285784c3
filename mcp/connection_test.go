package mcp_test

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A call that is meant for a connection goes over no other one.
func TestCallOfOneConnection(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("done")})
		c := newClient(t, p.to(server), nil)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		call := func(connection int) error {
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Connection: connection})
			return err
		}
		first := c.State().Connections
		if err := call(first); err != nil {
			t.Fatal(err)
		}
		if err := c.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := call(first); !errors.Is(err, mcp.ErrOtherConnection) || mcp.OutcomeOf(err) != mcp.NotSent {
			t.Errorf("the connection before: %v", err)
		}
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("%d calls were sent, want 1", n)
		}
		for _, connection := range []int{c.State().Connections, 0} {
			if err := call(connection); err != nil {
				t.Errorf("connection %d: %v", connection, err)
			}
		}
	})
}
