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

func newWebConn(o endpointOptions, in *inbox) (*webConn, error) {
	e, err := newEndpoint(o)
	if err != nil {
		return nil, err
	}
	ended, end := context.WithCancelCause(context.Background())
	return &webConn{endpoint: e, router: router{inbox: in}, ended: ended, end: end}, nil
}

// fail ends the connection. Only the first call counts. What was posted may run
// all the same; where more is known, the request's own exchange says so.
func (c *webConn) fail(err error) {
	c.end(err)
	err = context.Cause(c.ended)
	c.table.Fail(err, func(int64) error { return mcp.WithOutcome(err, mcp.Unknown) })
	c.inbox.end(err)
}

// Err returns why the connection ended, or nil until then.
func (c *webConn) Err() error { return context.Cause(c.ended) }

// Read implements mcp.Conn.
func (c *webConn) Read(ctx context.Context) (jsonrpc.Message, error) { return c.inbox.read(ctx) }

func (c *webConn) toSession(m jsonrpc.Message) bool { return c.inbox.put(c.ended, m) }
