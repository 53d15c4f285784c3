package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// handshakeRevisions are the revisions that begin with a handshake.
func handshakeRevisions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", mcp.Revision20251125}
}

// everyHandshake runs a test with each revision that has a handshake, on both
// planes.
func everyHandshake(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	for _, revision := range handshakeRevisions() {
		for _, p := range planes() {
			t.Run(revision+"/"+p.name, func(t *testing.T) { test(t, revision, p) })
		}
	}
}

// After the probe come initialize, which says who asks and for what revision,
// then notifications/initialized, and only then anything else.
func TestHandshakeOrder(t *testing.T) {
	everyHandshake(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			initialize := mcptest.Handshake(revision, "")["initialize"]
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"initialize": func(c *mcptest.Call) { time.Sleep(time.Second); initialize(c) },
				"tools/call": text("done"),
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{Implementation: &mcp.Implementation{Name: "belt", Version: "7"}})
			mustCall(t, c, "x") // it waits for the handshake
			var methods []string
			for _, r := range server.Received("") {
				methods = append(methods, r.Method)
			}
			assert.Equal(t, strings.Join(methods, " "), "server/discover initialize notifications/initialized tools/call", "the server received")
			var params struct {
				ProtocolVersion string          `json:"protocolVersion"`
				Capabilities    json.RawMessage `json:"capabilities"`
				ClientInfo      struct{ Name, Version string }
			}
			assert.OK(t, json.Unmarshal(server.Received("initialize")[0].Params, &params))
			assert.Equal(t, [...]any{params.ProtocolVersion, params.ClientInfo.Name, params.ClientInfo.Version, params.Capabilities == nil},
				[...]any{mcp.Revision20251125, "belt", "7", false})
		})
	})
}

// A server that wants a revision that nobody here knows is left, and hears
// nothing more on that connection.
func TestUnknownRevisionIsLeft(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			left := make(chan struct{}, 8)
			initialize := mcptest.Handshake("1999-01-01", "")["initialize"]
			server := legacy(t, mcptest.Script{"initialize": func(c *mcptest.Call) {
				initialize(c)
				<-c.Context().Done()
				left <- struct{}{}
			}})
			c := newClient(t, p.to(server), nil)
			err := c.Ready(t.Context())
			assert.Contains(t, fmt.Sprint(err), "1999-01-01")
			wantOutcome(t, err, mcp.NotSent)
			select {
			case <-left:
			case <-time.After(time.Hour):
				t.Fatal("the connection lives")
			}
			for _, method := range []string{"notifications/initialized", "notifications/cancelled", "tools/list"} {
				wantCount(t, server, method, 0)
			}
		})
	})
}

// A handshake that takes too long is given up with its connection, however long
// that takes to close. It is never cancelled.
func TestInitializeIsNotCancelled(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := legacy(t, mcptest.Script{"initialize": mcptest.Hang})
			to := transportFunc(func(ctx context.Context) (mcp.Conn, error) {
				conn, err := p.to(server).Connect(ctx)
				return lingeringConn{conn}, err
			})
			c := newClient(t, to, &mcp.ClientOptions{ConnectTimeout: time.Second})
			assert.Fails(t, c.Ready(t.Context()), "ready")
			synctest.Wait()
			wantCount(t, server, "initialize", 1)
			wantCount(t, server, "notifications/cancelled", 0)
			assert.OK(t, c.Close())
			synctest.Wait()
			wantCount(t, server, "notifications/cancelled", 0)
		})
	})
}

// A lingeringConn takes its time to close.
type lingeringConn struct{ mcp.Conn }

func (c lingeringConn) Close() error {
	time.Sleep(time.Second) // sleep: on a fake clock
	return c.Conn.Close()
}

// A server may ask whether the client is there, at any time.
func TestPingIsAnswered(t *testing.T) {
	everyHandshake(t, func(t *testing.T, revision string, p plane) {
		answered := make(chan string, 2)
		ping := func(c *mcptest.Call) {
			answer, err := c.Ask("ping", "")
			assert.Is(t, err, nil, "%s", c.Method)
			assert.Equal(t, string(answer), `{}`, "%s: answer", c.Method)
			answered <- c.Method
		}
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"notifications/initialized": ping,
			"tools/call":                func(c *mcptest.Call) { ping(c); c.Result(`{}`) },
		})
		c := newClient(t, p.to(server), nil)
		mustCall(t, c, "x")
		<-answered
		<-answered
	})
}
