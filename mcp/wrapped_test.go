package mcp_test

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A connection that stands before another has the client know of a change of the
// tools before the next answer, as that would.
func TestToolsChangeBehindConnection(t *testing.T) {
	type front struct{ mcp.Caller }
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": mcptest.Sequence(
			mcptest.Result(page(`"2"`, "old")),
			func(c *mcptest.Call) {
				c.Notify("notifications/tools/list_changed", "")
				c.Result(page("", "other"))
			},
			mcptest.Result(page("", "new")),
		)})
		inner := p.to(server)
		c := newClient(t, transportFunc(func(ctx context.Context) (mcp.Conn, error) {
			conn, err := inner.Connect(ctx)
			if err != nil {
				return nil, err
			}
			return front{mcp.CallerOf(conn)}, nil
		}), nil)
		wantTools(t, c, "new")
		wantCount(t, server, "tools/list", 3)
	})
}
