package transport

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A webConn is what connections over HTTP have in common: the endpoint, the way
// of messages to requests and session, and the end.
type webConn struct {
	*endpoint
	router
	tasks
	notes tasks // senders of cancellations

	ended context.Context // its cause says why the connection ended
	end   context.CancelCauseFunc
}

func newWebConn(kind string, h *HTTP) (*webConn, error) {
	e, err := newEndpoint(kind, h)
	if err != nil {
		return nil, err
	}
	ended, end := context.WithCancelCause(context.Background())
	return &webConn{endpoint: e, ended: ended, end: end}, nil
}

// fail ends the connection. Only the first call counts. What was posted may run
// all the same; where more is known, the request's own exchange says so.
func (c *webConn) fail(err error) {
	c.end(err)
	err = context.Cause(c.ended)
	c.table.Fail(mcp.WithOutcome(err, mcp.Unknown), err)
	c.mailbox.end(err)
}

// Info implements mcp.Caller.
func (c *webConn) Info() mcp.ConnInfo {
	return mcp.ConnInfo{Err: context.Cause(c.ended), Origin: c.origin(), Signs: c.signs.Load()}
}

// deliver puts a message that the server sent by itself into the mailbox.
func (c *webConn) deliver(m jsonrpc.Message) { c.mailbox.deliver(c.ended, m, 0) }
