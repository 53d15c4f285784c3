package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A subscription that the server ends is made again, wherever it was made.
func TestSubscriptionIsRenewed(t *testing.T) {
	for name, end := range map[string]mcptest.Handler{
		"result": mcptest.Result(`{"resultType":"complete"}`),
		"error":  mcptest.Error(-32603, "restarting"),
	} {
		t.Run(name, func(t *testing.T) {
			everyPlaneInBubble(t, func(t *testing.T, p plane) {
				server, c := p.withReady(t, modern(t, mcptest.Script{"subscriptions/listen": mcptest.Sequence(end, mcptest.Hang)}), nil)
				before := c.State().ToolsVersion
				pass(time.Second)
				wantCount(t, server, "subscriptions/listen", 2)
				wantOther(t, c.State().ToolsVersion, before, "what changed meanwhile is not looked for")
			})
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
		runInBubble(t, name, func(t *testing.T) {
			server, _ := withReady(t, modern(t, mcptest.Script{"subscriptions/listen": test.answer}), nil)
			pass(3 * time.Hour)
			assert.Equal(t, len(server.Received("subscriptions/listen")), test.most, "asked times")
		})
	}
}

// Subscriptions on one connection are told apart by their ids: what the server
// says of an earlier one is not taken for the word about the present one.
func TestSubscriptionsAreToldApart(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		listens := make(chan *mcptest.Call, 2)
		server, c := p.withReady(t, announcesAll(t, func(c *mcptest.Call) {
			listens <- c
			<-c.Context().Done()
		}), nil)
		lists := <-listens
		f := follow(t, c, "file:///a")
		resources := <-listens
		assert.Contains(t, string(resources.Params), "file:///a")
		assert.Lacks(t, string(lists.Params), "file:///a")
		wantOther(t, lists.ID(), resources.ID(), "ID")
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
		pass(time.Minute)
		wantCount(t, server, "subscriptions/listen", 2)
		version := c.State().ToolsVersion
		resources.Result(`{"resultType":"complete"}`)
		again := <-listens
		pass(time.Second)
		assert.False(t, c.State().ToolsVersion == version || again.ID() == resources.ID(), "what changed meanwhile is not looked for")
		updated(server, "file:///a")
		f.want(t, "file:///a")
		wantCount(t, server, "subscriptions/listen", 3)
		f.stop()
	})
}

// A server that was started again is subscribed to again, for the same, and what
// it announces then is heard.
func TestSubscribesAgainAfterRestart(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server, c := p.withClient(t, modern(t, mcptest.Script{"tools/list": mcptest.Sequence(
			mcptest.Result(page("", "a")), mcptest.Result(page("", "b")), mcptest.Result(page("", "c")))}), nil)
		wantTools(t, c, "a")
		synctest.Wait()
		wantCount(t, server, "subscriptions/listen", 1)

		disconnect(server)
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
}

// In revision 2026-07-28 there is one subscription for everything. Another one is
// made when the one before it has ended, for there are servers that take the end
// of one for the end of all; those that do not tell of the end are not waited for
// long.
func TestListenIsReplaced(t *testing.T) {
	for _, tells := range []bool{true, false} {
		for _, p := range planes() {
			runInBubble(t, fmt.Sprint(p.name, tells), func(t *testing.T) {
				var open atomic.Int64
				server, c := p.withReady(t, announcesAll(t, func(c *mcptest.Call) {
					n := open.Add(1)
					assert.False(t, n != 1 && tells, "%d subscriptions at one time", n)
					agreeing()(c)
					pause(100 * time.Millisecond)
					open.Add(-1)
					if tells {
						c.Error(-32800, "cancelled")
					}
				}), nil)
				want := func(n int, filter string) {
					t.Helper()
					pass(3 * time.Second)
					all := server.Received("subscriptions/listen")
					if len(all) != n || !strings.HasSuffix(string(all[len(all)-1].Params), `"notifications":`+filter+`}`) {
						t.Errorf("%d subscriptions, at last for %s, want %d, %s", len(all), all[len(all)-1].Params, n, filter)
					}
					version := c.State().ToolsVersion
					server.Notify("notifications/tools/list_changed", "")
					pass(time.Second)
					wantOther(t, c.State().ToolsVersion, version, "the announcement of other tools is lost")
				}
				want(1, `{"toolsListChanged":true}`)
				a := follow(t, c, "a:a")
				want(2, `{"toolsListChanged":true,"resourceSubscriptions":["a:a"]}`)
				b := follow(t, c, "b:b")
				want(3, `{"toolsListChanged":true,"resourceSubscriptions":["a:a","b:b"]}`)
				a.stop()
				want(4, `{"toolsListChanged":true,"resourceSubscriptions":["b:b"]}`)
				wantOther(t, len(b.take()), 0, "the server's agreement is not told")
				b.stop()
				want(5, `{"toolsListChanged":true}`)
			})
		}
	}
}

// A server that refuses a subscription because of a resource still announces
// its lists.
func TestListsAreAnnouncedWithoutResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, announcesAll(t, func(c *mcptest.Call) {
			if strings.Contains(string(c.Params), "a:bad") {
				c.Error(-32602, "no such resource")
			} else {
				agreeing()(c)
			}
		}), nil)
		follow(t, c, "a:bad").wantError(t, "no such resource")
		pass(time.Hour)
		all := server.Received("subscriptions/listen")
		assert.Between(t, len(all), 1, 3, "subscriptions")
		assert.Contains(t, string(all[len(all)-1].Params), `"notifications":{"toolsListChanged":true}`)
	})
}

// announcesAll returns a server that announces changes of tools and resources to those
// whose subscriptions it answers.
func announcesAll(t *testing.T, listen mcptest.Handler) *mcptest.Server {
	return mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`),
		mcptest.Script{"subscriptions/listen": listen})
}

// A server that takes a subscription down, as it may, is asked again.
func TestListenTornDown(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server, c := p.withClient(t, announcer(t, mcp.Revision20260728, mcptest.Script{"subscriptions/listen": mcptest.Sequence(
			func(c *mcptest.Call) {
				pause(time.Second)
				c.Notify("notifications/cancelled", `{"requestId":`+c.ID()+`}`)
			}, agreeing())}), nil)
		f := follow(t, c, "a:a")
		pass(time.Minute)
		f.want(t, "a:a")
		wantCount(t, server, "subscriptions/listen", 2)
	})
}
