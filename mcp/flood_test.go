package mcp_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A storm of announcements makes one new version every quarter of a second.
func TestAnnouncementsCoalesce(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""))
			c := newClient(t, p.to(server), nil)
			ready(t, c)
			before := c.State().ToolsVersion
			for range 1_000 {
				server.Notify("notifications/tools/list_changed", "")
			}
			synctest.Wait()
			assert.Equal(t, c.State().ToolsVersion-before, 1, "new versions at once")
		})
	})
}

// A server that asks without end and reads no answers makes the client hold a
// bounded number of them, and is still of use.
func TestServerAsksTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": text("fine")})
		asking := &asker{to: server, asks: 5_000}
		c := newClient(t, asking, nil)
		ready(t, c)
		synctest.Wait()
		assert.Equal(t, asking.answers.Load(), 64, "answers wait to be read")
		mustCall(t, c, "still")
	})
}

// An asker connects to a server that sends requests before anything else, once
// the handshake is done, and does not read the answers.
type asker struct {
	to      mcp.Transport
	asks    int64
	answers atomic.Int64 // that wait to be read
}

func (a *asker) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := a.to.Connect(ctx)
	return &askerConn{Conn: conn, asker: a, closed: make(chan struct{})}, err
}

type askerConn struct {
	mcp.Conn
	asker  *asker
	reads  int64
	once   sync.Once
	closed chan struct{}
}

func (c *askerConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *askerConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	const handshake = 2 // answers: to the probe and to initialize
	if c.reads++; c.reads > handshake && c.reads <= handshake+c.asker.asks {
		id, err := jsonrpc.MakeID(fmt.Sprint(c.reads))
		return &jsonrpc.Request{ID: id, Method: "ping"}, err
	}
	return c.Conn.Read(ctx)
}

func (c *askerConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, answers := m.(*jsonrpc.Response); !answers {
		return c.Conn.Write(ctx, m)
	}
	c.asker.answers.Add(1)
	<-c.closed
	return io.ErrClosedPipe
}
