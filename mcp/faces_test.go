package mcp_test

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/faces"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A frontCaller stands before a connection with a data plane.
type frontCaller struct {
	faces.Conn
	mcp.Caller
}

// A connection that stands before another has the client know of a change of the
// tools as that would, whether or not that one counts them by itself.
func TestToolsChangeBehindConnection(t *testing.T) {
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
			front := faces.Conn{Connection: conn}
			if caller, ok := conn.(mcp.Caller); ok {
				return frontCaller{front, caller}, nil
			}
			return front, nil
		}), nil)
		wantTools(t, c, "new")
		wantCount(t, server, "tools/list", 3)
	})
}
