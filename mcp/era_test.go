package mcp_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const methodNotFound = -32601

// A legacy server that says so is asked once, and never again.
func TestProbeRefused(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		everyPlane(t, func(t *testing.T, p plane) {
			synctest.Test(t, func(t *testing.T) {
				server := mcptest.NewServer(t, mcptest.Handshake(revision, ""))
				c := newClient(t, p.to(server), nil)
				ready(t, c)
				assert.Equal(t, c.State().ProtocolVersion, revision, "protocol version")
				wantCount(t, server, "server/discover", 1)
				server.Disconnect()
				synctest.Wait()
				wantPhase(t, c, mcp.Ready)
				wantCount(t, server, "server/discover", 1)
				wantCount(t, server, "initialize", 2)
			})
		})
	}
}

// A modern server is probed on each connection, and never initialized.
func TestProbeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		c := newClient(t, server, nil)
		ready(t, c)
		server.Disconnect()
		synctest.Wait()
		wantPhase(t, c, mcp.Ready)
		wantCount(t, server, "server/discover", 2)
		wantCount(t, server, "initialize", 0)
	})
}

// A server that does not answer the probe is initialized on the same connection.
func TestProbeUnanswered(t *testing.T) {
	for _, answer := range []mcptest.Handler{
		mcptest.Hang,
		func(c *mcptest.Call) {
			time.Sleep(11 * time.Second) // sleep: on a fake clock
			c.Error(methodNotFound, "late")
		},
	} {
		everyPlane(t, func(t *testing.T, p plane) {
			synctest.Test(t, func(t *testing.T) {
				server := legacy(t, mcptest.Script{"server/discover": answer})
				c := newClient(t, p.to(server), nil)
				start := time.Now()
				ready(t, c)
				assert.Equal(t, time.Since(start), 10*time.Second, "ready after")
				pass(time.Minute)
				s := wantPhase(t, c, mcp.Ready)
				assert.Equal(t, [...]any{s.Connections, s.ProtocolVersion}, [...]any{1, mcp.Revision20251125})
				server.Disconnect()
				synctest.Wait()
				wantPhase(t, c, mcp.Ready)
				wantCount(t, server, "server/discover", 1)
			})
		})
	}
}

// A server that ends because of the probe is tried at once without it.
func TestProbeKills(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := legacy(t, mcptest.Script{"server/discover": mcptest.Disconnect})
			c := newClient(t, p.to(server), nil)
			start := time.Now()
			ready(t, c)
			assert.Equal(t, [...]any{server.Connections(), time.Since(start)}, [...]any{2, time.Duration(0)})
			server.Disconnect()
			synctest.Wait()
			wantPhase(t, c, mcp.Ready)
			wantCount(t, server, "server/discover", 1)
		})
	})
}

// A server that hangs for good because of the probe is tried without it, on a
// new connection.
func TestProbeStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := func(c *mcptest.Call) {
			if c.Connection == 1 {
				mcptest.Hang(c)
			} else {
				mcptest.Handshake(mcp.Revision20251125, "")["initialize"](c)
			}
		}
		server := legacy(t, mcptest.Script{"server/discover": mcptest.Hang, "initialize": stalls})
		c := newClient(t, server, nil)
		assert.Fails(t, c.Ready(t.Context()), "ready")
		ready(t, c)
		wantCount(t, server, "server/discover", 1)
		assert.Equal(t, server.Connections(), 2, "connections")
	})
}

// A modern server that is slow to start gets more time on later connections.
func TestProbeAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		discover := mcptest.Handshake(mcp.Revision20260728, "")["server/discover"]
		server := modern(t, mcptest.Script{
			"server/discover": func(c *mcptest.Call) { time.Sleep(12 * time.Second); discover(c) },
			"initialize":      func(c *mcptest.Call) { time.Sleep(5 * time.Second); c.Error(methodNotFound, "initialize") },
		})
		c := newClient(t, server, nil)
		err := c.Ready(t.Context())
		assert.Contains(t, fmt.Sprint(err), "initialize")
		for range 3 {
			ready(t, c)
			assert.Equal(t, c.State().ProtocolVersion, mcp.Revision20260728, "protocol version")
			time.Sleep(time.Minute)
			server.Disconnect()
			synctest.Wait()
		}
		ready(t, c)
		wantCount(t, server, "initialize", 1)
	})
}

// What was learned is forgotten when a handshake fails, and kept when no
// connection can be made.
func TestEraForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		initialize := mcptest.Handshake(mcp.Revision20251125, "")["initialize"]
		server := legacy(t, mcptest.Script{
			"initialize": mcptest.Sequence(initialize, initialize, mcptest.Error(-32603, "not yet"), initialize),
		})
		c := newClient(t, server, nil)
		ready(t, c)
		server.Down(errDown)
		server.Disconnect()
		synctest.Wait()
		wantPhase(t, c, mcp.Waiting)
		server.Down(nil)
		ready(t, c)
		wantCount(t, server, "server/discover", 1)

		server.Disconnect()
		synctest.Wait()
		err := c.Ready(t.Context())
		assert.Contains(t, fmt.Sprint(err), "not yet")
		wantCount(t, server, "server/discover", 1)
		ready(t, c)
		wantCount(t, server, "server/discover", 2)
	})
}

// TestInitializeFirstIsShared: what one client has learned spares the others the probe,
// until the server turns out to be another one.
func TestInitializeFirstIsShared(t *testing.T) {
	shared := new(atomic.Bool)
	opts := func() *mcp.ClientOptions { return &mcp.ClientOptions{InitializeFirst: shared} }
	a := newAddress(t, newOldSite(t, rpcError(400, -32000, "")))
	wantText(t, newClient(t, &a.HTTP, opts()), "old")
	assert.Equal(t, shared.Load(), true, "got no news of a server that was initialized")
	var probes atomic.Int32
	spared := newOldSite(t, func(v *visit) {
		if v.Method == "server/discover" {
			probes.Add(1)
		}
		rpcError(400, -32000, "")(v)
	})
	a.server.Store(spared)
	wantText(t, newClient(t, &a.HTTP, opts()), "old")
	assert.Equal(t, probes.Load(), 0, "probes of a second client")
	a.server.Store(newNewSite(t, rpcError(404, methodNotFound, "")))
	wantText(t, newClient(t, &a.HTTP, opts()), "new")
	assert.Equal(t, shared.Load(), false, "got no news of a server that was replaced")
}

func TestUnknownRevision(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Handshake("1999-12-31", ""))
	c := newClient(t, server, nil)
	err := c.Ready(t.Context())
	assert.Contains(t, fmt.Sprint(err), "1999-12-31")
}
