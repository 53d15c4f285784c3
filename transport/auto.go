package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An autoConn is a connection over streamable HTTP that becomes one over
// HTTP+SSE if the handshake shows that it must. Both share its mailbox.
type autoConn struct {
	mailbox
	http *httpConn

	mu  sync.Mutex
	sse mcp.Caller // after falling back; nil before
}

func newAutoConn(h *httpConn) *autoConn {
	c := &autoConn{http: h}
	c.start = func() { c.receiveFrom(h) }
	return c
}

// receiveFrom has one of the two put what it receives into the mailbox.
func (c *autoConn) receiveFrom(conn mcp.Caller) {
	conn.Receive(func(m jsonrpc.Message, call int64) { c.deliver(context.Background(), m, call) }, c.end)
}

func (c *autoConn) present() mcp.Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sse != nil {
		return c.sse
	}
	return c.http
}

// revisionName is the name of a revision in a text.
var revisionName = regexp.MustCompile(`\b202\d-\d\d-\d\d\b`)

// fallBack returns the connection over HTTP+SSE with which to initialize, after streamable
// HTTP was refused with err; else nil, and the error to tell.
func (c *autoConn) fallBack(ctx context.Context, err error) (mcp.Caller, error) {
	var status *StatusError
	var refused *refusedError
	if !errors.As(err, &status) || !errors.As(err, &refused) || revisionName.MatchString(refused.text) {
		return nil, err // the last refuses the revision, not the transport
	}
	sse, sseErr := connectSSE(ctx, c.http.endpoint)
	if sseErr != nil {
		return nil, fmt.Errorf("%w; the older HTTP+SSE transport failed too: %w", err, sseErr)
	}
	c.mu.Lock()
	c.sse = sse
	c.mu.Unlock()
	if c.http.ended.Err() != nil {
		_ = sse.Close()
		return nil, mcp.WithOutcome(errClosed, mcp.NotSent)
	}
	c.receiveFrom(sse)
	return sse, nil
}

// Write implements mcp.Conn.
func (c *autoConn) Write(ctx context.Context, m jsonrpc.Message) error {
	c.keep()
	return c.present().Write(ctx, m)
}

// Call implements mcp.Caller.
func (c *autoConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	c.keep()
	present := c.present()
	result, err := present.Call(ctx, method, params, opts)
	if err == nil || method != protocol.Initialize || present != mcp.Caller(c.http) {
		return result, err
	}
	sse, err := c.fallBack(ctx, err)
	if sse == nil {
		return nil, err
	}
	return sse.Call(ctx, method, params, opts)
}

// SessionID implements mcp.Conn.
func (c *autoConn) SessionID() string { return c.present().SessionID() }

// Info implements mcp.Caller.
func (c *autoConn) Info() mcp.ConnInfo { return c.present().Info() }

// Close implements mcp.Conn.
func (c *autoConn) Close() error {
	_ = c.http.Close()
	return c.present().Close()
}
