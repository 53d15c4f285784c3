package transport

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A connection is what all connections made here have in common: the way of messages to requests
// and session, and the end.
type connection struct {
	router
	tasks
	notes    tasks                               // senders of cancellations
	transmit func(context.Context, []byte) error // sends one message, and waits for no answer

	ended     context.Context // its cause says why the connection ended
	end       context.CancelCauseFunc
	closeOnce sync.Once
}

func (c *connection) prepare(transmit func(context.Context, []byte) error) {
	c.transmit = transmit
	c.ended, c.end = context.WithCancelCause(context.Background())
}

// fail ends the connection. Only the first call counts. What was sent may run
// all the same; where more is known, the request's own exchange says so.
func (c *connection) fail(err error) {
	c.end(err)
	err = context.Cause(c.ended)
	c.table.Fail(mcp.WithOutcome(err, mcp.Unknown), err)
	c.mailbox.end(err) // last: who hears of this end gives up the requests in flight
}

// Info implements mcp.Caller.
func (c *connection) Info() mcp.ConnInfo {
	return mcp.ConnInfo{Err: context.Cause(c.ended), Signs: c.signs.Load()}
}

// SessionID implements mcp.Conn: only streamable HTTP has the id of a session.
func (c *connection) SessionID() string { return "" }

// deliver puts a message that the server sent by itself into the mailbox.
func (c *connection) deliver(m jsonrpc.Message) { c.mailbox.deliver(c.ended, m, 0) }

// Write implements mcp.Conn.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	c.keep()
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, controlTimeout)
	defer stop()
	return c.transmit(ctx, frame)
}

// cancel cancels a request at the server, in the background.
func (c *connection) cancel(id int64) {
	c.notes.run(func() {
		ctx, stop := context.WithTimeout(c.ended, cancelTimeout)
		defer stop()
		_ = c.transmit(ctx, cancelledFrame(id))
	})
}

// wait waits for the goroutines of a connection that has ended.
func (c *connection) wait() {
	c.notes.wait()
	c.tasks.wait()
}

// A webConn is a connection over HTTP.
type webConn struct {
	*endpoint
	connection
}

// Info implements mcp.Caller.
func (c *webConn) Info() mcp.ConnInfo {
	info := c.connection.Info()
	info.Origin = c.origin()
	return info
}
