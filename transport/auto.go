package transport

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// An Auto speaks streamable HTTP or, if the server refuses that in the way of a
// server which only knows HTTP+SSE, the latter: when initialize is answered
// with status 400, 404 or 405 and no JSON-RPC error. A server that wants a
// login, or that cannot be reached, is never tried the other way. Auto remembers
// the result, and tries again when it no longer works.
type Auto struct {
	// URL is the server's address, http or https.
	URL string
	// Header holds fields sent with every request, to the origin of URL only.
	Header http.Header
	// OAuth, if set, supplies the user's token, as for [HTTP].
	OAuth auth.OAuthHandler
	// RoundTripper replaces the HTTP transport, as for [HTTP].
	RoundTripper http.RoundTripper
	// TLS, if set, is the TLS configuration, such as for private certificate
	// authorities. It is not changed, and not used with RoundTripper.
	TLS *tls.Config
	// Proxy replaces [http.ProxyFromEnvironment]. It is not used with RoundTripper.
	Proxy func(*http.Request) (*url.URL, error)
	// MaxMessage limits a message of the server, in bytes after decompression.
	// Default: 16 MiB. Negative: none.
	MaxMessage int64
	// NoStream, if set, is what the connections with one server know of it together, as
	// for [HTTP].
	NoStream *atomic.Bool
	// Session, if set, keeps the session of a connection for the next one, as for [HTTP].
	Session *Session

	patience time.Duration // as for HTTP
	sse      atomic.Bool   // the server speaks HTTP+SSE
}

// Connect prepares a connection over streamable HTTP, or opens the event stream
// of a server that is known to want that.
func (a *Auto) Connect(ctx context.Context) (mcp.Conn, error) {
	if a.sse.Load() {
		c, err := a.recipeSSE().connect(ctx)
		if err != nil {
			var status *StatusError
			if errors.As(err, &status) {
				a.sse.Store(false)
			}
			return nil, err
		}
		return c, nil
	}
	recipe := HTTP{a.URL, a.Header, a.OAuth, a.RoundTripper, a.TLS, a.Proxy, a.MaxMessage, a.NoStream, a.Session, a.patience}
	h, err := recipe.connect()
	if err != nil {
		return nil, err
	}
	c := &autoConn{recipe: a, http: h}
	c.start = func() { c.receiveFrom(h) }
	return c, nil
}

func (a *Auto) recipeSSE() *SSE {
	return &SSE{a.URL, a.Header, a.OAuth, a.RoundTripper, a.TLS, a.Proxy, a.MaxMessage}
}

// An autoConn is a connection over streamable HTTP that becomes one over
// HTTP+SSE if the handshake shows that it must. Both share its mailbox.
type autoConn struct {
	mailbox
	recipe *Auto
	http   *httpConn

	mu     sync.Mutex
	sse    *sseConn // after falling back
	closed bool
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

// fallBack returns the connection over HTTP+SSE with which to initialize, after streamable
// HTTP was refused with err; else nil, and the error to tell.
func (c *autoConn) fallBack(ctx context.Context, err error) (*sseConn, error) {
	var status *StatusError
	if !errors.As(err, &status) {
		return nil, err
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return nil, err
	}
	sse, sseErr := c.recipe.recipeSSE().connect(ctx)
	if sseErr != nil {
		return nil, fmt.Errorf("%w; the older HTTP+SSE transport failed too: %w", err, sseErr)
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.sse = sse
	}
	c.mu.Unlock()
	if closed {
		_ = sse.Close()
		return nil, mcp.WithOutcome(errClosed, mcp.NotSent)
	}
	c.receiveFrom(sse)
	c.recipe.sse.Store(true)
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
	if err == nil || method != methodInitialize || present != mcp.Caller(c.http) {
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
	c.mu.Lock()
	c.closed = true
	sse := c.sse
	c.mu.Unlock()
	if sse != nil {
		_ = sse.Close()
	}
	return c.http.Close()
}
