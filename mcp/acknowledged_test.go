package mcp_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// Subscriptions on one connection are told apart by their ids: what the server
// says of an earlier one is not taken for the word about the present one.
func TestSubscriptionsAreToldApart(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			listens := make(chan *mcptest.Call, 2)
			server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`),
				mcptest.Script{"subscriptions/listen": func(c *mcptest.Call) {
					listens <- c
					<-c.Context().Done()
				}})
			c := newClient(t, p.to(server), nil)
			ready(t, c)
			next := func() *mcptest.Call {
				select {
				case listen := <-listens:
					return listen
				case <-time.After(time.Hour):
					t.Fatal("no subscription is made")
					return nil
				}
			}
			lists := next()
			f := follow(t, c, "file:///a")
			resources := next()
			assert.Contains(t, string(resources.Params), "file:///a")
			assert.Lacks(t, string(lists.Params), "file:///a")
			if lists.ID() == resources.ID() {
				t.Errorf("%s asks for %s, and %s for %s", lists.ID(), lists.Params, resources.ID(), resources.Params)
			}
			agree := func(id string) {
				resources.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
					`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":["file:///a"]}}`, id))
			}
			agree(lists.ID())
			agree(`"of nobody"`)
			agree(`7`)
			resources.Notify("notifications/subscriptions/acknowledged", `{"notifications":{"resourceSubscriptions":["file:///a"]}}`)
			f.want(t) // nobody has agreed to it yet
			agree(resources.ID())
			f.want(t, "file:///a")

			// The end of the earlier one is not the end of the present one.
			lists.Result(`{"resultType":"complete"}`)
			time.Sleep(time.Minute)
			wantCount(t, server, "subscriptions/listen", 2)
			version := c.State().ToolsVersion
			resources.Result(`{"resultType":"complete"}`)
			again := next()
			time.Sleep(time.Second)
			if c.State().ToolsVersion == version || again.ID() == resources.ID() {
				t.Error("what changed meanwhile is not looked for")
			}
			updated(server, "file:///a")
			f.want(t, "file:///a")
			wantCount(t, server, "subscriptions/listen", 3)
			f.stop()
			_ = c.Close()
		})
	})
}
