package mcp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What is too much for one consumer changes nothing for the others.
func TestResourceUpdatesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := announcer(t, mcp.Revision20251125)
		c := newClient(t, server, nil)
		ready(t, c)
		ctx := t.Context()
		release := make(chan struct{})
		for range 8 {
			go func() {
				for range c.ResourceUpdates(ctx, "a:") {
					<-release
				}
			}()
			synctest.Wait()
		}
		f := follow(t, c, "a:/x")
		f.take()
		for i := range 255 { // with a:/x itself, as many as wait
			updated(server, fmt.Sprintf("a:/%d", i))
		}
		updated(server, "a:/x")
		f.want(t, "a:/x")
		close(release)
		_ = c.Close()
	})
}

// URIs of any length wait for nobody: a server could fill the memory with them.
func TestResourceUpdatesOfLongURIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := announcer(t, mcp.Revision20251125)
		c := newClient(t, server, nil)
		f := follow(t, c, "a:")
		f.take()
		updated(server, "a:/"+strings.Repeat("x", 9000))
		f.want(t, "a:")
		_ = c.Close()
	})
}

// A server that dies while it is asked to announce changes is one of those that
// come and go.
func TestResourceUpdatesSurviveDeath(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server := announcer(t, revision, mcptest.Script{
			"resources/subscribe":  mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{}`)),
			"subscriptions/listen": mcptest.Sequence(mcptest.Disconnect, agreeing()),
		})
		c := newClient(t, p.to(server), nil)
		f := follow(t, c, "a:a")
		time.Sleep(time.Minute) // sleep: on the bubble's clock
		f.want(t, "a:a")
		_ = c.Close()
	})
}

// A server that does not announce changes any more when it comes back says so,
// and nobody waits for it in vain.
func TestResourceUpdatesNoLongerAnnounced(t *testing.T) {
	for _, revision := range eras() {
		for name, later := range map[string]string{"nothing": `{"tools":{}}`, "lists": `{"tools":{"listChanged":true}}`} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					method := "initialize"
					if revision == mcp.Revision20260728 {
						method = "server/discover"
					}
					server := announcer(t, revision, mcptest.Script{method: mcptest.Sequence(
						mcptest.Handshake(revision, announcing)[method], mcptest.Handshake(revision, later)[method])})
					c := newClient(t, server, nil)
					f := follow(t, c, "a:a")
					f.want(t, "a:a")
					server.Disconnect()
					time.Sleep(time.Minute)
					got := f.take()
					wantLen(t, got, 2)
					assert.Contains(t, got[0], "does not announce")
					assert.Equal(t, got[1], "end")
					_ = c.Close()
				})
			})
		}
	}
}
