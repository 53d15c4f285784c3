package mcp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A subscription that the server ends is made again, wherever it was made.
func TestSubscriptionIsRenewed(t *testing.T) {
	for name, end := range map[string]mcptest.Handler{
		"result": mcptest.Result(`{"resultType":"complete"}`),
		"error":  mcptest.Error(-32603, "restarting"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range planes() {
				t.Run(p.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := modern(t, mcptest.Script{"subscriptions/listen": mcptest.Sequence(end, mcptest.Hang)})
						c := newClient(t, p.to(server), nil)
						ready(t, c)
						before := c.State().ToolsVersion
						time.Sleep(time.Second)
						wantCount(t, server, "subscriptions/listen", 2)
						if c.State().ToolsVersion == before {
							t.Error("what changed meanwhile is not looked for")
						}
					})
				})
			}
		})
	}
}

// A server that refuses is left in peace, at once or after some attempts.
func TestSubscriptionIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		answer mcptest.Handler
		most   int
	}{
		"not found": {mcptest.Error(-32601, "method not found"), 1},
		"for ever":  {mcptest.Result(`{"resultType":"complete"}`), 11},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := modern(t, mcptest.Script{"subscriptions/listen": test.answer})
				c := newClient(t, server, nil)
				ready(t, c)
				time.Sleep(3 * time.Hour)
				assert.Equal(t, len(server.Received("subscriptions/listen")), test.most, "asked times")
			})
		})
	}
}
