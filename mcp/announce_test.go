// Tests of supervise.go, tools.go and cache.go: lists whose changes are announced.

package mcp_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server that announces other tools all the time, also while they are read, is not
// asked for them all the time, however long it takes to answer.
func TestListsKeepTheirDistanceInAStorm(t *testing.T) {
	const distance = 250 * time.Millisecond
	for _, slow := range []time.Duration{0, 400 * time.Millisecond} {
		everyPlaneInBubble(t, func(t *testing.T, p plane) {
			var asked, answered []time.Time // one list at a time
			c := newReady(t, p.to(legacy(t, mcptest.Script{"tools/list": func(c *mcptest.Call) {
				asked = append(asked, time.Now())
				for range 3 {
					c.Notify("notifications/tools/list_changed", "")
				}
				pause(slow)
				answered = append(answered, time.Now())
				c.Result(`{"tools":[]}`)
			}})), nil)
			ctx := within(t, 5*time.Second)
			began := time.Now()
			for range c.Watch(ctx) {
				if _, err := c.Tools(ctx); err != nil && ctx.Err() == nil {
					t.Fatal(err)
				}
			}
			synctest.Wait() // a list may be under way
			assert.Between(t, len(asked), 5, math.MaxInt, "asked")
			assert.True(t, asked[0].Equal(began), "the first list is asked for at once, not after %v", asked[0].Sub(began))
			for i, at := range asked[1:] {
				assert.Between(t, at.Sub(answered[i]), distance, math.MaxInt, "list %d: after the answer before", i+2)
			}
			pass(slow)
		})
	}
}

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
		assert.Equal(t, time.Since(began), 2250*time.Millisecond, "time for all")
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
