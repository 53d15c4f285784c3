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
	// Default: 16 MiB.
	MaxMessage int64

	sse atomic.Bool // the server speaks HTTP+SSE
}

// Connect prepares a connection over streamable HTTP, or opens the event stream
// of a server that is known to want that.
func (a *Auto) Connect(ctx context.Context) (mcp.Conn, error) {
	in := newInbox()
	if a.sse.Load() {
		c, err := a.recipeSSE().connect(ctx, in)
		if err != nil {
			var status *StatusError
			if errors.As(err, &status) {
				a.sse.Store(false)
			}
			return nil, err
		}
		return c, nil
	}
	recipe := HTTP{a.URL, a.Header, a.OAuth, a.RoundTripper, a.TLS, a.Proxy, a.MaxMessage}
	h, err := recipe.connect(in)
	if err != nil {
		return nil, err
	}
	return &autoConn{recipe: a, http: h}, nil
}

func (a *Auto) recipeSSE() *SSE {
	return &SSE{a.URL, a.Header, a.OAuth, a.RoundTripper, a.TLS, a.Proxy, a.MaxMessage}
}

// An autoConn is a connection over streamable HTTP that becomes one over
// HTTP+SSE if the handshake shows that it must. Both share one inbox.
type autoConn struct {
	recipe *Auto
	http   *httpConn

	mu     sync.Mutex
	sse    *sseConn // after falling back
	closed bool
}

// face is what both kinds of connections offer.
type face interface {
	mcp.Conn
	mcp.Caller
	Err() error
	Announced() int64
	LateProgress() int64
	Working() bool
	Origin() string
}

func (c *autoConn) present() face {
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
	sse, sseErr := c.recipe.recipeSSE().connect(ctx, c.http.inbox)
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
	c.recipe.sse.Store(true)
	return sse, nil
}

// Read implements mcp.Conn.
func (c *autoConn) Read(ctx context.Context) (jsonrpc.Message, error) { return c.http.inbox.read(ctx) }

// Write implements mcp.Conn.
func (c *autoConn) Write(ctx context.Context, m jsonrpc.Message) error {
	return c.present().Write(ctx, m)
}

// Call implements mcp.Caller.
func (c *autoConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	present := c.present()
	result, err := present.Call(ctx, method, params, opts)
	if err == nil || method != methodInitialize || present != face(c.http) {
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

// Err returns why the connection ended, or nil while it lives.
func (c *autoConn) Err() error { return c.present().Err() }

// Stateless reports whether the server keeps nothing for this connection.
func (c *autoConn) Stateless() bool {
	h, ok := c.present().(*httpConn)
	return ok && h.Stateless()
}

// Announced returns how many notifications of changed tools came before the last answer.
func (c *autoConn) Announced() int64 { return c.present().Announced() }

// LateProgress returns how much progress came before the last answer, and went to Read.
func (c *autoConn) LateProgress() int64 { return c.present().LateProgress() }

// Working reports whether the server has written anything since the last time it was
// asked.
func (c *autoConn) Working() bool { return c.present().Working() }

// Origin returns the scheme, host and port of the server.
func (c *autoConn) Origin() string { return c.http.Origin() }

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
