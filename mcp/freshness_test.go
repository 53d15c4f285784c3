// Tests of cache.go: how long tools are used.

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

// counting has one tool, whose name is the number of the answer.
func counting(more string) mcptest.Script {
	return mcptest.Script{"tools/list": func(c *mcptest.Call) {
		c.Result(fmt.Sprintf(`{"tools":[{"name":"%d","inputSchema":{"type":"object"}}]%s}`, c.Number, more))
	}}
}

// wantAnswers asks for the tools again and again.
func wantAnswers(t *testing.T, c *mcp.Client, numbers ...int) {
	t.Helper()
	for i, n := range numbers {
		assert.Equal(t, names(assert.Value(c.Tools(t.Context()))(t)), fmt.Sprint(n), "answer to question %d", i)
	}
}

func TestToolsTTL(t *testing.T) {
	for _, p := range planes() {
		for _, capabilities := range []string{quiet, allFeatures} {
			synctest.Test(t, func(t *testing.T) {
				server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, capabilities), counting(`,"ttlMs":1500,"cacheScope":"public"`))
				c := newReady(t, p.to(server), nil)
				wantAnswers(t, c, 1)
				pass(1500*time.Millisecond - time.Nanosecond)
				wantAnswers(t, c, 1)
				pass(time.Nanosecond)
				wantAnswers(t, c, 2, 2)
				wantCount(t, server, "tools/list", 2)
			})
		}
	}
}

// What says nothing of its time, or nonsense, is stale at once; only the tools
// of a server that announces changes are good until it does.
func TestToolsStale(t *testing.T) {
	for hint, second := range map[string]int{
		"": 1, `,"ttlMs":0`: 2, `,"ttlMs":-5`: 2, `,"ttlMs":"1000"`: 1, `,"ttlMs":null`: 1, `,"TTLMS":1000`: 1,
	} {
		runInBubble(t, hint, func(t *testing.T) {
			silent := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), counting(hint+`,"cacheScope":"public"`))
			wantAnswers(t, newClient(t, silent, nil), 1, 2, 3)
			wantAnswers(t, newClient(t, featured(t, mcp.Revision20260728, counting(hint)), nil), 1, second)
		})
	}
}

func TestToolsLongTTL(t *testing.T) {
	for _, ttl := range []string{"86400001", "1e300", "9223372036854775808", "1e999"} {
		runInBubble(t, ttl, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), counting(`,"ttlMs":`+ttl))
			c := newClient(t, server, &mcp.ClientOptions{HealthInterval: -1})
			wantAnswers(t, c, 1)
			pass(24*time.Hour - time.Nanosecond)
			wantAnswers(t, c, 1)
			pass(time.Nanosecond)
			wantAnswers(t, c, 2)
		})
	}
}

// Older revisions know no such hints.
func TestToolsLegacyTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, quiet), counting(`,"ttlMs":1500,"cacheScope":"public"`)), nil)
		wantAnswers(t, c, 1, 1)
		pass(time.Hour)
		wantAnswers(t, c, 1)
	})
}

// Announcements count at once, whatever the time that was given; those of other lists do not.
func TestToolsForgotten(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		server := featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000,"cacheScope":"public"`))
		c := newClient(t, p.to(server), nil)
		wantAnswers(t, c, 1)
		for i, name := range []string{"prompts/list_changed", "resources/list_changed", "tools/list_changed"} {
			server.Notify("notifications/"+name, "{}")
			synctest.Wait()
			wantAnswers(t, c, 1+i/2)
		}
	})
}

// A new connection may be that of another user.
func TestToolsForgottenWithConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000`)), nil)
		wantAnswers(t, c, 1)
		assert.OK(t, c.Reconnect(t.Context()))
		wantAnswers(t, c, 2)
	})
}
