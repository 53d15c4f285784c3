package mcp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server that announces other tools all the time, also while they are read, is not
// asked for them all the time.
func TestListsKeepTheirDistanceInAStorm(t *testing.T) {
	const distance = 250 * time.Millisecond
	for _, p := range planes() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []time.Time // one list at a time
				server := legacy(t, mcptest.Script{"tools/list": func(c *mcptest.Call) {
					asked = append(asked, time.Now())
					for range 3 {
						c.Notify("notifications/tools/list_changed", "")
					}
					c.Result(`{"tools":[]}`)
				}})
				c := newClient(t, p.to(server), nil)
				ready(t, c)
				ctx := within(t, 5*time.Second)
				began := time.Now()
				for range c.Watch(ctx) {
					if _, err := c.Tools(ctx); err != nil && ctx.Err() == nil {
						t.Fatal(err)
					}
				}
				synctest.Wait() // a list may be under way
				if len(asked) < 5 {
					t.Fatalf("got %d lists, want more", len(asked))
				}
				if !asked[0].Equal(began) {
					t.Errorf("got the first list after %v, want it at once", asked[0].Sub(began))
				}
				for i, at := range asked[1:] {
					if since := at.Sub(asked[i]); since < distance {
						t.Errorf("list %d: got %v after the one before, want %v", i+2, since, distance)
					}
				}
			})
		})
	}
}

// Announcements of one kind of list do not delay those of another.
func TestAnnouncementsOfEachKindAreTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{"listChanged":true},"resources":{"listChanged":true}}`))
		c := newClient(t, server, nil)
		ready(t, c)
		before := c.State()
		for range 3 {
			server.Notify("notifications/resources/list_changed", "")
			synctest.Wait()
		}
		server.Notify("notifications/tools/list_changed", "")
		synctest.Wait()
		now := c.State()
		assert.Equal(t, now.ToolsVersion, before.ToolsVersion+1, "version of the tools at once")
		assert.Equal(t, now.ResourcesVersion, before.ResourcesVersion+1, "version of the resources at once")
		pass(250 * time.Millisecond)
		assert.Equal(t, c.State().ResourcesVersion, before.ResourcesVersion+2, "version of the resources later")
	})
}
