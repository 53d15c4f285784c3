package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/nils"
)

// A guard stands before a connection, whose methods run on goroutines of the client
// and may be those of the program's own transport. What panics there is an error of
// the connection.
type guard struct {
	Caller
	client *Client
}

// A guardConn is a guard of a connection that is no Caller.
type guardConn struct {
	Conn
	client *Client
}

var (
	errNoConn    = errors.New("the transport returned neither a connection nor an error")
	errNoMessage = errors.New("the connection returned neither a message nor an error")
)

func (c *Client) guard(conn Conn) *guard {
	caller, ok := conn.(Caller)
	if !ok {
		caller = newForeignCaller(guardConn{conn, c})
	}
	return &guard{caller, c}
}

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

func (g *guard) receive(message func(jsonrpc.Message, int64), ended func(error)) (err error) {
	defer g.client.caught("Receive", &err)
	g.Caller.Receive(message, ended)
	return nil
}

func (g *guard) Write(ctx context.Context, m jsonrpc.Message) (err error) {
	defer g.client.caught("Write", &err)
	return g.Caller.Write(ctx, m)
}

func (g *guard) Close() (err error) {
	defer g.client.caught("Close", &err)
	return g.Caller.Close()
}

func (g *guard) SessionID() (id string) {
	defer g.client.caught("SessionID", new(error))
	return g.Caller.SessionID()
}

func (g *guard) Info() (info ConnInfo) {
	defer g.client.caught("Info", &info.Err)
	return g.Caller.Info()
}

func (g guardConn) Read(ctx context.Context) (m jsonrpc.Message, err error) {
	defer g.client.caught("Read", &err)
	m, err = g.Conn.Read(ctx)
	if err == nil && nils.Is(m) {
		return nil, errNoMessage
	}
	return m, err
}

func (g guardConn) Write(ctx context.Context, m jsonrpc.Message) (err error) {
	defer g.client.caught("Write", &err)
	return g.Conn.Write(ctx, m)
}

func (g guardConn) Info() (info ConnInfo) {
	defer g.client.caught("Info", &info.Err)
	if known, ok := g.Conn.(interface{ Info() ConnInfo }); ok {
		info = known.Info()
	}
	return info
}
