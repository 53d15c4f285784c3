package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/faces"
	"github.com/mcpbelt/mcpbelt/internal/nils"
)

// A guard stands before a connection, whose methods run on goroutines of the client
// and may be those of the program's own transport. What panics there is an error of
// the connection.
type guard struct {
	faces.Conn
	client *Client
}

var (
	errNoConn    = errors.New("the transport returned neither a connection nor an error")
	errNoMessage = errors.New("the connection returned neither a message nor an error")
)

func (c *Client) guard(conn Conn) *guard { return &guard{faces.Conn{Connection: conn}, c} }

// open has the transport connect.
func (c *Client) open(ctx context.Context) (conn Conn, err error) {
	defer c.caught("Connect", &err)
	conn, err = c.transport.Connect(ctx)
	if err == nil && nils.Is(conn) {
		return nil, errNoConn
	}
	return conn, err
}

// caught turns a panic in a method of the transport or its connection into an error.
func (c *Client) caught(method string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the transport panicked in %s: %v", method, v)
		c.opts.Logger.Error("mcp: the transport panicked", "server", c.name, "method", method, "panic", v, "stack", string(debug.Stack()))
	}
}

func (g *guard) Read(ctx context.Context) (m jsonrpc.Message, err error) {
	defer g.client.caught("Read", &err)
	m, err = g.Conn.Read(ctx)
	if err == nil && nils.Is(m) {
		return nil, errNoMessage
	}
	return m, err
}

func (g *guard) Write(ctx context.Context, m jsonrpc.Message) (err error) {
	defer g.client.caught("Write", &err)
	return g.Conn.Write(ctx, m)
}

func (g *guard) Close() (err error) {
	defer g.client.caught("Close", &err)
	return g.Conn.Close()
}

func (g *guard) SessionID() (id string) {
	defer g.client.caught("SessionID", new(error))
	return g.Conn.SessionID()
}

func (g *guard) Err() (err error) {
	defer g.client.caught("Err", &err)
	return g.Conn.Err()
}

func (g *guard) PID() (pid int) {
	defer g.client.caught("PID", new(error))
	return g.Conn.PID()
}

func (g *guard) Degraded() (err error) {
	defer g.client.caught("Degraded", &err)
	return g.Conn.Degraded()
}

func (g *guard) Working() (working bool) {
	defer g.client.caught("Working", new(error))
	return g.Conn.Working()
}

func (g *guard) Stateless() (stateless bool) {
	defer g.client.caught("Stateless", new(error))
	return g.Conn.Stateless()
}

func (g *guard) Announced() (n int64) {
	defer g.client.caught("Announced", new(error))
	return g.Conn.Announced()
}

func (g *guard) LateProgress() (n int64) {
	defer g.client.caught("LateProgress", new(error))
	return g.Conn.LateProgress()
}

func (g *guard) Origin() (origin string) {
	defer g.client.caught("Origin", new(error))
	return g.Conn.Origin()
}
