// Tests of foreign.go and transport.go: transports and contexts that are none.

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A program's own transport that does not do what it should fails the connection,
// and harms nothing else.
func TestForeignTransportFails(t *testing.T) {
	for name, tr := range map[string]*foreign{
		"no connection":     {},
		"a nil connection":  {conn: (*foreignConn)(nil)},
		"no message":        {conn: &foreignConn{}},
		"a nil request":     {conn: &foreignConn{message: (*jsonrpc.Request)(nil)}},
		"a nil answer":      {conn: &foreignConn{message: (*jsonrpc.Response)(nil)}},
		"an empty answer":   {conn: &foreignConn{message: &jsonrpc.Response{}, ends: true}},
		"an empty request":  {conn: &foreignConn{message: &jsonrpc.Request{}, ends: true}},
		"an unknown answer": {conn: &foreignConn{message: &jsonrpc.Response{Error: (*jsonrpc.Error)(nil)}, ends: true}},
	} {
		c := newClient(t, tr, nil)
		assert.As[*mcp.UnavailableError](t, c.Ready(t.Context()), "%s", name)
		assert.OK(t, c.Close(), "%s", name)
	}
}

// A client cannot be made without a transport.
func TestNewClientWithoutTransport(t *testing.T) {
	for name, tr := range map[string]mcp.Transport{"nil": nil, "a nil pointer": (*transport.HTTP)(nil)} {
		func() {
			defer func() {
				assert.Equal(t, fmt.Sprint(recover()), "mcp: NewClient: transport is nil", "%s: the panic", name)
			}()
			mcp.NewClient("x", tr, nil)
		}()
	}
}

// The zero Client is not usable, and says so.
func TestZeroClient(t *testing.T) {
	var c mcp.Client
	const want = "mcp: the zero Client is not usable: make one with NewClient"
	for name, err := range map[string]error{
		"Ready": c.Ready(t.Context()), "Reconnect": c.Reconnect(t.Context()), "Ping": c.Ping(t.Context()),
		"Tools": assert.Err(c.Tools(t.Context())), "CallTool": assert.Err(call(t, &c, "x")), "Prompts": assert.Err(collect(c.Prompts(t.Context()))),
	} {
		assert.Contains(t, fmt.Sprint(err), want, "%s", name)
		wantOutcome(t, err, mcp.NotSent)
	}
	for name, end := range map[string]func() error{"Close": c.Close, "Shutdown": func() error { return c.Shutdown(t.Context()) }} {
		assert.OK(t, end(), "%s", name)
	}
	defer func() { assert.Equal(t, fmt.Sprint(recover()), want, "Connect: the panic") }()
	c.Connect()
}

// A foreign transport returns conn.
type foreign struct{ conn mcp.Conn }

func (f *foreign) Connect(context.Context) (mcp.Conn, error) { return f.conn, nil }

// A foreignConn reads message, once if ends, and else waits.
type foreignConn struct {
	message jsonrpc.Message
	ends    bool
}

func (f *foreignConn) Read(context.Context) (jsonrpc.Message, error) {
	if m := f.message; m != nil && f.ends {
		f.message = nil
		return m, nil
	} else if f.ends {
		return nil, errors.New("the end")
	}
	return f.message, nil
}

func (f *foreignConn) Write(context.Context, jsonrpc.Message) error { return nil }
func (f *foreignConn) Close() error                                 { return nil }
func (f *foreignConn) SessionID() string                            { return "" }
