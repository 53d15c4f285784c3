package mcp_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server that was started again is subscribed to again, for the same, and what
// it announces then is heard.
func TestSubscribesAgainAfterRestart(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := modern(t, mcptest.Script{"tools/list": mcptest.Sequence(
				mcptest.Result(page("", "a")), mcptest.Result(page("", "b")), mcptest.Result(page("", "c")))})
			c := newClient(t, p.to(server), nil)
			wantTools(t, c, "a")
			synctest.Wait()
			wantCount(t, server, "subscriptions/listen", 1)

			server.Disconnect()
			synctest.Wait()
			wantTools(t, c, "b")
			wantCount(t, server, "subscriptions/listen", 2)
			for _, r := range server.Received("subscriptions/listen") {
				var params struct{ Notifications json.RawMessage }
				assert.OK(t, json.Unmarshal(r.Params, &params), "connection %d", r.Connection)
				assert.Contains(t, string(params.Notifications), `"toolsListChanged":true`, "connection %d", r.Connection)
			}
			server.Notify("notifications/tools/list_changed", "")
			synctest.Wait()
			wantTools(t, c, "c")
		})
	})
}
