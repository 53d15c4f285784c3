package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxRefusal is how much of the body of an error status is read, in search of a
// JSON-RPC error.
const maxRefusal = 64 << 10

// A Variant says which of the protocol's two transports over HTTP an [HTTP] speaks. The zero Variant is streamable
// HTTP: the revisions from 2025-03-26 with sessions and a listening stream, and 2026-07-28 without.
type Variant int

const (
	// SSE is the HTTP+SSE transport of revision 2024-11-05: the server's messages come on one event stream, and the
	// client's are posted to an address that the stream names. It is deprecated; use it for old servers only.
	SSE Variant = iota + 1
	// Auto is streamable HTTP or, if the server refuses that in the way of a server which only knows HTTP+SSE, the
	// latter: when initialize is answered with status 400, 404 or 405 and no JSON-RPC error. A server that wants
	// a login, or that cannot be reached, is never tried the other way.
	Auto
)

// An HTTP reaches a server over HTTP.
//
// Redirects are followed within the origin of URL, and only if they keep the
// method (307 and 308). Proxies are taken from the environment.
type HTTP struct {
	// URL is the server's MCP endpoint, http or https.
	URL string
	// Variant is the transport that is spoken. Default: streamable HTTP.
	Variant Variant
	// Header holds fields sent with every request, such as an API key. They
	// are sent to the origin of URL and nowhere else.
	Header http.Header
	// OAuth, if set, supplies the user's token, and is asked to log in when
	// the server answers 401, or 403 with a challenge. It may be an
	// [Authenticator]. For a token source of package oauth2, see [Bearer].
	OAuth auth.OAuthHandler
	// RoundTripper replaces the HTTP transport. Default: one of its own for
	// each connection, closed with it.
	RoundTripper http.RoundTripper
	// TLS, if set, is the TLS configuration, such as for private certificate
	// authorities. It is not changed, and not used with RoundTripper.
	TLS *tls.Config
	// Proxy replaces [http.ProxyFromEnvironment]. It is not used with RoundTripper.
	Proxy func(*http.Request) (*url.URL, error)
	// MaxMessage limits a message of the server, in bytes after decompression.
	// Default: 16 MiB. Negative: none.
	MaxMessage int64

	patience time.Duration // replaces listenHeadersWait, lostWait and deleteTimeout, for tests on busy machines; zero: not
}

// Connect prepares a connection. It sends nothing, since the handshake is the session's first message; but with
// [SSE] it opens the event stream and waits until that has named the address for messages, or ctx ends.
func (h *HTTP) Connect(ctx context.Context) (mcp.Conn, error) {
	e, err := newEndpoint(h)
	switch {
	case err != nil:
		return nil, err
	case h.Variant == SSE:
		return connectSSE(ctx, e)
	}
	c := &httpConn{webConn: webConn{endpoint: e}, patience: h.patience, exchanges: make(map[jsonrpc.ID]context.CancelFunc)}
	c.prepare(func(ctx context.Context, frame []byte) error { return c.send(ctx, frame, nil) })
	if h.Variant == Auto {
		return newAutoConn(c), nil
	}
	return c, nil
}

// An httpConn is one connection over streamable HTTP. It owns a goroutine for
// each request that is written, one for the listening stream of a legacy
// session, and short-lived ones that finish answered streams. Requests of the
// data plane run on their callers' goroutines.
type httpConn struct {
	webConn
	patience time.Duration // of the recipe
	silent   atomic.Bool   // of a legacy session: neither side has declared what could come on its listening stream

	mu        sync.Mutex
	session   string      // session id of a legacy session
	version   string      // protocol version of a legacy session
	fields    http.Header // of its posts; never changed; nil if not known yet
	stateless string      // the stateless revision of the last request; empty: it was of a session
	exchanges map[jsonrpc.ID]context.CancelFunc
	running   int   // requests that may still learn that the session is lost
	lost      error // the server does not know the session any more
}

// errNoAnswer reports a stream that ended before the answer came.
var errNoAnswer = errors.New("the server ended the stream without an answer")

// Call implements mcp.Caller.
func (c *httpConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	call, opts, err := c.begin(opts)
	if err != nil {
		return nil, err
	}
	defer call.Drop()
	header := requestHeader(method, params)
	if header != nil {
		for name, value := range opts.Header {
			if !httpfield.ValidName(name) {
				return nil, mcp.WithOutcome(fmt.Errorf("%q is no header name", name), mcp.NotSent)
			}
			header.Set(name, paramheader.Encode(value))
		}
	}
	done := func() bool {
		_, ended, failed := call.Poll(opts.Progress)
		return ended && failed == nil
	}
	var asked []jsonrpc.ID // by the server, on the stream of the answer
	deliver := func(m jsonrpc.Message) {
		if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() && len(asked) < mostQuestions {
			asked = append(asked, req.ID)
		}
		c.mailbox.deliver(ctx, m, call.ID)
	}
	err = c.exchange(ctx, requestFrame(call.ID, method, params), header, deliver, done)
	answer, ended, failed := call.Poll(opts.Progress)
	if ended && failed == nil {
		if method == protocol.Initialize && answer.Error == nil {
			c.keepInitialized(params, answer.Result)
		}
		return result(method, answer)
	}
	if len(asked) > 0 {
		c.notes.run(func() { c.withdraw(asked) })
	}
	switch {
	case ctx.Err() == nil || mcp.OutcomeOf(err) == mcp.NotSent:
		if isHandshake(method) && needsLogin(err) {
			c.fail(err) // another request would only ask for the same login again
		}
		return nil, err
	case header == nil && !isHandshake(method):
		c.cancel(call.ID)
	}
	return nil, ctx.Err()
}

// mostQuestions bounds the requests that a server makes on the stream of one answer; a client takes fewer at a time.
const mostQuestions = 64

// withdraw cancels requests of the server: the stream on which it would do so itself is
// gone, with the call that they were for.
func (c *httpConn) withdraw(asked []jsonrpc.ID) {
	for _, id := range asked {
		params, err := json.Marshal(map[string]any{"requestId": id.Raw(), "reason": "the call has ended"})
		if err == nil {
			c.deliver(&jsonrpc.Request{Method: protocol.NoteCancelled, Params: params})
		}
	}
}

// exchange posts one request and routes what the server answers until done
// reports the answer, resuming a broken stream where the protocol allows it.
// What belongs to no call goes to deliver.
func (c *httpConn) exchange(ctx context.Context, frame []byte, header http.Header, deliver func(jsonrpc.Message), done func() bool) error {
	if err := ctx.Err(); err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	c.enter()
	defer c.leave()
	var other *jsonrpc.Response // to a request that is not this one
	note := func(m jsonrpc.Message) {
		other, _ = m.(*jsonrpc.Response)
		deliver(m)
	}
	reqCtx, release := c.bind(ctx)
	resp, err := c.post(reqCtx, frame, header, true)
	if err != nil {
		release()
		return c.because(ctx, err)
	}
	kind := mediaType(resp)
	switch {
	case kind == kindEvents:
		resp, err = c.resumable(reqCtx, resp, header == nil, note, done)
		if err == nil && resp.Body != http.NoBody && c.run(func() { finish(resp); release() }) {
			return nil
		}
	case kind == kindJSON:
		var body []byte
		if body, err = readBody(resp, c.limit); err == nil {
			if err = c.route(body, note); err != nil {
				err = invalidAnswer("", err)
			}
		}
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		err = errNoAnswer
	default:
		err = invalidAnswer("", foreignAnswer(kind))
	}
	if resp != nil {
		_ = resp.Body.Close()
	}
	release()
	if err == nil && !done() {
		err = errNoAnswer
	}
	if other != nil && errors.Is(err, errNoAnswer) {
		err = fmt.Errorf("%w: what it answered has the id %s, which is not that of the request", err, plain.Line(fmt.Sprint(other.ID.Raw())))
	}
	return c.because(ctx, err)
}

// bind returns a context that ends with ctx and with the connection. Those of an
// mcp.Client do so by themselves.
func (c *httpConn) bind(ctx context.Context) (bound context.Context, release func()) {
	if _, own := ctx.(inflight.Hooked); own {
		return ctx, func() {}
	}
	bound, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ended, cancel)
	return bound, func() { stop(); cancel() }
}

// because replaces an error that only says that the request was cancelled by
// the reason for it, and says of others whether they mean that just this answer
// was lost.
func (c *httpConn) because(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, context.Canceled) {
		if mcp.OutcomeOf(err) == mcp.Unknown && !errors.As(err, new(*StatusError)) && ctx.Err() == nil && c.ended.Err() == nil {
			return fmt.Errorf("%w: %w", mcp.ErrAnswerLost, err)
		}
		return err
	}
	if ended := cmp.Or(ctx.Err(), context.Cause(c.ended)); ended != nil {
		return mcp.WithOutcome(ended, mcp.OutcomeOf(err))
	}
	return err
}

// post sends one message, which asks for an answer or does not, and returns a response
// that accepts it.
func (c *httpConn) post(ctx context.Context, frame []byte, header http.Header, asks bool) (*http.Response, error) {
	full, session := c.postHeader(header)
	resp, err := c.do(ctx, http.MethodPost, c.url, full, frame)
	switch {
	case errors.As(err, new(*unreachableError)):
		c.fail(err)
		return nil, err
	case err != nil:
		return nil, err
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		c.keepSession(resp)
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if !asks && resp.StatusCode != http.StatusNotFound {
		session = "" // what servers say of notifications that they do not know
	}
	return nil, c.refusal(ctx, resp, session)
}

// keepSession notes the session id, which comes with the answer to initialize.
func (c *httpConn) keepSession(resp *http.Response) {
	id := resp.Header.Get(protocol.HeaderSession)
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == "" && c.stateless == "" && httpfield.ValidValue(id) {
		c.session = id
		c.fields = nil
	}
}

// bareHeader returns the fields of a request of a legacy session that posts
// nothing, and the session's id.
func (c *httpConn) bareHeader() (http.Header, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	header := c.sessionHeaderLocked().Clone()
	header.Del("Content-Type")
	header.Del("Accept")
	return header, c.session
}

// sessionHeaderLocked returns the fields of the posts of a legacy session, for
// all of them to share.
func (c *httpConn) sessionHeaderLocked() http.Header {
	if c.fields != nil {
		return c.fields
	}
	c.fields = postFields(make(http.Header))
	if c.session != "" {
		c.fields.Set(protocol.HeaderSession, c.session)
	}
	if c.version != "" {
		c.fields.Set(protocol.HeaderVersion, c.version)
	}
	return c.fields
}

// postFields adds the fields of every post.
func postFields(header http.Header) http.Header {
	header.Set("Content-Type", kindJSON)
	header.Set("Accept", kindJSON+", "+kindEvents)
	return header
}

// postHeader returns the fields of a post, and the session it belongs to. Only
// requests of stateless revisions have fields of their own.
func (c *httpConn) postHeader(own http.Header) (http.Header, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own != nil {
		if c.version == "" { // else it only asks whether there is such a server now
			c.stateless = own.Get(protocol.HeaderVersion)
		}
		return postFields(own), ""
	}
	c.stateless = ""
	return c.sessionHeaderLocked(), c.session
}

// refusal turns a response with an error status into an error. If it says that
// the session is gone, the connection ends.
func (c *httpConn) refusal(ctx context.Context, resp *http.Response, session string) error {
	body, _ := readBody(resp, maxRefusal)
	m, err := jsonscan.Scan(body)
	isRPC := err == nil && m.Version == "2.0" && m.Error != nil
	var answer error
	if isRPC {
		_, answer = result("", inflight.Answer{Error: m.Error})
	}
	gone := sessionGone(resp.StatusCode, isRPC, m.ID, answer)
	if resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == "" {
		gone = strings.Contains(strings.ToLower(string(body)), "session not found") // no login would help
	}
	if session != "" && gone {
		err := mcp.WithOutcome(fmt.Errorf("HTTP status %d: %w", resp.StatusCode, mcp.ErrSessionLost), mcp.NotSent)
		c.lose(ctx, err)
		return err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return statusError(resp) // the header says more than an error in the body
	}
	if !isRPC {
		answer = statusError(resp)
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return &refusedError{answer, string(body)}
	}
	return answer
}

// A refusedError is an error that came with a status by which servers turn away
// what they do not understand, such as requests of another revision.
type refusedError struct {
	error
	text string // the body
}

// Refused reports true, and Text returns the body, for mcp.Client.
func (e *refusedError) Refused() bool { return true }
func (e *refusedError) Text() string  { return e.text }
func (e *refusedError) Unwrap() error { return e.error }

// sessionGone reports whether a refusal of a request that named a session means
// that the server does not know it. The protocol wants status 404, whatever the
// body; some servers send 400, with an error that answers no request or has the
// code -32000 that their SDK uses for it.
func sessionGone(status int, isRPC bool, id []byte, answer error) bool {
	if status == http.StatusNotFound {
		return true
	}
	if status != http.StatusBadRequest {
		return false
	}
	const serverError = -32000
	var rpc *mcp.JSONRPCError
	return !isRPC || id == nil || string(id) == "null" || errors.As(answer, &rpc) && rpc.Code == serverError
}

// Info implements mcp.Caller. The connection is stateless if the server keeps nothing for
// it, so that nothing can be learnt by asking whether it still lives.
func (c *httpConn) Info() mcp.ConnInfo {
	info := c.webConn.Info()
	c.mu.Lock()
	defer c.mu.Unlock()
	info.Stateless = c.stateless != ""
	return info
}

// SessionID implements mcp.Conn.
func (c *httpConn) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// send posts a message that has no answer.
func (c *httpConn) send(ctx context.Context, frame []byte, header http.Header) error {
	c.enter()
	defer c.leave()
	resp, err := c.post(ctx, frame, header, false)
	if err != nil {
		return err
	}
	finish(resp)
	return nil
}

// Close implements mcp.Conn: it cancels the session's requests at the server and
// ends it there, if there is one, waiting at most two seconds for that, and then
// ends all requests here.
func (c *httpConn) Close() error {
	c.closeOnce.Do(func() {
		c.deleteSession()
		c.fail(errClosed)
		c.wait()
		c.endpoint.close()
	})
	return nil
}
