// Tests of supervise.go, tools.go and cache.go: lists whose changes are announced.

package mcp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// Callers that come while the tools are read, and other ones are announced, wait for the end of that
// reading and for one more, all of them for the same.
func TestCallersWaitForOneReading(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server, c := p.withReady(t, legacy(t, mcptest.Script{"tools/list": func(c *mcptest.Call) {
			c.Notify("notifications/tools/list_changed", "")
			pause(time.Second)
			c.Notify("notifications/tools/list_changed", "")
			c.Result(page("", "a"))
		}}), nil)
		began := time.Now()
		list := func() error { return assert.Err(c.Tools(t.Context())) }
		ends := []<-chan error{inBackground(list)}
		pass(500 * time.Millisecond)
		for range 5 {
			ends = append(ends, inBackground(list))
		}
		for _, end := range ends {
			assert.OK(t, <-end)
		}
		assert.Equal(t, time.Since(began), 2*time.Second, "time for all")
		wantCount(t, server, "tools/list", 2)
	})
}

// A server that announces other tools without end costs no more than one change
// every quarter of a second, and the last announcement counts.
func TestAnnouncementsAreGathered(t *testing.T) {
	//report: Transports | browseros-ai/BrowserOS#1005 | a server announces other tools several times a second, without end | announcements are gathered: one change in 250 ms at most, and the last one counts
	const every, storm = 250 * time.Millisecond, time.Second
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server, c := p.withReady(t, legacy(t, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[]}`)}), nil)
		before := c.State().ToolsVersion
		for end := time.Now().Add(storm); time.Now().Before(end); pause(10 * time.Millisecond) {
			server.Notify("notifications/tools/list_changed", `{}`)
		}
		synctest.Wait()
		assert.Between(t, c.State().ToolsVersion-before, 2, uint64(storm/every)+1)
		pass(every)
		assert.Value(c.Tools(t.Context()))(t)
		before = c.State().ToolsVersion
		server.Notify("notifications/tools/list_changed", `{}`)
		pass(every)
		wantOther(t, c.State().ToolsVersion, before, "the last announcement is lost")
		assert.Value(c.Tools(t.Context()))(t)
		wantCount(t, server, "tools/list", 2)
	})
}

// A connection that stands before another has the client know of a change of the
// tools before the next answer, as that would.
func TestToolsChangeBehindConnection(t *testing.T) {
	type front struct{ mcp.Caller }
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": mcptest.Sequence(
			mcptest.Result(page(`"2"`, "old")),
			func(c *mcptest.Call) {
				c.Notify("notifications/tools/list_changed", "")
				c.Result(page("", "other"))
			},
			mcptest.Result(page("", "new")),
		)})
		inner := p.to(server)
		c := newClient(t, wrapped(inner, func(conn mcp.Conn) mcp.Conn { return front{mcp.CallerOf(conn)} }), nil)
		wantTools(t, c, "new")
		wantCount(t, server, "tools/list", 3)
	})
}
