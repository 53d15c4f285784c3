package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/scratch"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	maxRedirects = 3
	dialTimeout  = 10 * time.Second
	// deadPeer is how long a machine may leave packets unacknowledged before
	// its connections are given up.
	deadPeer = 30 * time.Second
)

// An endpoint sends HTTP requests to one origin: with the configured headers
// and the user's token, following redirects within the origin only.
type endpoint struct {
	url    *url.URL
	header http.Header
	rt     http.RoundTripper
	owned  *http.Transport // rt, unless that is the user's
	limit  int64

	auth  Authenticator // nil: none
	sends int           // how often a request may be sent because of logins

	cookies cookies
}

// newEndpoint returns the endpoint of a recipe.
func newEndpoint(h *HTTP) (*endpoint, error) {
	u, err := parseURL(h.URL)
	if err != nil {
		return nil, &OptionError{"HTTP.URL", err}
	}
	header := make(http.Header, len(h.Header))
	for name, values := range h.Header {
		if !httpfield.ValidName(name) {
			return nil, &OptionError{"HTTP.Header", fmt.Errorf("%q is no header name", name)}
		}
		for _, v := range values {
			if !httpfield.ValidValue(v) {
				return nil, &OptionError{"HTTP.Header", fmt.Errorf("the value of %s holds a control character", name)}
			}
			header.Add(name, v) // in its canonical form, or it would be sent twice
		}
	}
	e := &endpoint{
		url:    u,
		header: header,
		limit:  maxMessage(h.MaxMessage),
		sends:  1,
	}
	if known, ok := h.OAuth.(Authenticator); ok {
		e.auth, e.sends = known, authenticatorSends
	} else if h.OAuth != nil {
		e.auth, e.sends = newTokenAuth(h.OAuth), loginSends
	}
	if e.rt = h.RoundTripper; e.rt == nil {
		e.owned = NewRoundTripper()
		if h.TLS != nil {
			e.owned.TLSClientConfig = h.TLS.Clone()
		}
		if h.Proxy != nil {
			e.owned.Proxy = h.Proxy
		}
		if u.Scheme == "http" { // HTTP/2 is agreed on by TLS
			e.owned.HTTP2, e.owned.ForceAttemptHTTP2 = nil, false
			e.owned.Protocols = new(http.Protocols)
			e.owned.Protocols.SetHTTP1(true)
		}
		e.rt = e.owned
	}
	return e, nil
}

// parseURL returns the URL of a server, or why it can be none. The error does not
// quote it: it may hold a secret.
func parseURL(text string) (*url.URL, error) {
	scheme, _, _ := strings.Cut(text, ":")
	u, err := url.Parse(text)
	switch {
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return nil, errors.New("must start with https:// or http://")
	case err != nil:
		return nil, errors.New("is not a URL: write it as https://host/path")
	case u.Hostname() == "":
		return nil, errors.New("has no host: write it as https://host/path")
	case u.User != nil:
		return nil, errors.New("holds a user or password: put them in an Authorization header")
	}
	return u, nil
}

// NewRoundTripper returns what a connection over HTTP uses if it is given no other
// RoundTripper: one of its own, so that closing the connection closes its sockets.
// It finds out within 30 s that the other machine is gone, also while nothing is
// sent; a busy server is no reason for it to give up. A program that calls it, to
// wrap the result, has to close the idle connections.
func NewRoundTripper() *http.Transport {
	const probes = 3
	dialer := &net.Dialer{
		Timeout: dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable:   true,
			Idle:     deadPeer / 2,
			Interval: deadPeer / 2 / probes,
			Count:    probes,
		},
		Control: boundUnacknowledged,
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wholeConn{conn}, nil
		},
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: deadPeer / 2, PingTimeout: deadPeer / 2},
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// A wholeConn writes a body that is in memory at once. The standard transport would write pieces of 32 KB, for each of
// which the server wakes up.
type wholeConn struct{ net.Conn }

// ReadFrom implements io.ReaderFrom, for the standard transport.
func (c wholeConn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if body, ok := l.R.(*body); ok && int64(body.Len()) <= l.N && body.fate.begin() {
			r = &body.Reader
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// close closes idle sockets; those in use close with their requests.
func (e *endpoint) close() {
	if e.owned != nil {
		e.owned.CloseIdleConnections()
	}
}

// An unreachableError reports that no connection to the server could be made.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return e.err.Error() }
func (e *unreachableError) Unwrap() error { return e.err }

// Outcome returns mcp.NotSent.
func (e *unreachableError) Outcome() mcp.Outcome { return mcp.NotSent }

// do sends one request, again after each login that the server asks for, and
// returns the last response whatever its status. Its errors have an outcome.
func (e *endpoint) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Response, error) {
	for left := e.sends - 1; ; left-- {
		req, resp, err := e.once(ctx, method, to, header, body)
		if err != nil || left <= 0 || !wantsLogin(resp) {
			return resp, err
		}
		if err := e.authorize(ctx, refused(ctx, req, body), resp); err != nil {
			return nil, err
		}
	}
}

// once sends one request, and again where it is redirected to within the origin.
func (e *endpoint) once(ctx context.Context, method string, to *url.URL, header http.Header, frame []byte) (*http.Request, *http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	full, more := header, mcp.HTTPHeader(ctx)
	// Code of others that sees a request may change its header.
	if !e.reports() || len(e.header)+len(more) > 0 {
		full = make(http.Header, len(e.header)+len(header)+1)
		maps.Copy(full, e.header)
		maps.Copy(full, header)
		addFields(full, more)
	}
	for redirects := 0; ; redirects++ {
		fields, err := e.authenticate(ctx, full, method, to, frame)
		if err != nil {
			return nil, nil, err
		}
		req, f := e.newRequest(ctx, method, to, e.cookies.with(fields, to), frame)
		resp, err := e.roundTrip(req)
		if err != nil {
			return req, nil, e.explain(ctx, err, f)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			// The body is the connection, which ends with no context.
			_ = resp.Body.Close()
			resp.Body = http.NoBody
		}
		if resp.Request == nil { // not every round tripper says which it was
			resp.Request = req
		}
		e.cookies.keep(to, resp)
		e.observe(resp)
		if !redirected(resp) {
			return req, resp, nil
		}
		finish(resp)
		if to, err = e.follow(to, resp, redirects); err != nil {
			return req, nil, err
		}
	}
}

// addFields adds the header fields of a tracer or a caller. It leaves out those that are set
// already, and those whose name or value HTTP does not allow.
func addFields(full, fields http.Header) {
	wrong := func(value string) bool { return !httpfield.ValidValue(value) }
	for name, values := range fields {
		name = http.CanonicalHeaderKey(name)
		if _, there := full[name]; !there && httpfield.ValidName(name) && !slices.ContainsFunc(values, wrong) {
			full[name] = values
		}
	}
}

// origin returns the scheme, host and port of the server.
func (e *endpoint) origin() string { return e.url.Scheme + "://" + e.url.Host }

// A fate says whether the server can have got a request.
type fate struct {
	stage atomic.Int32
	trace httptrace.ClientTrace
}

// The stages of a request.
const (
	undecided int32 = iota
	begun           // a part of it may have been sent
	sealed          // no part of it was sent, nor will be
)

// begin reports whether sending may begin.
func (f *fate) begin() bool {
	return f.stage.CompareAndSwap(undecided, begun) || f.stage.Load() == begun
}

// seal decides that the request was not sent, unless it may have been.
func (f *fate) seal() bool {
	return f.stage.CompareAndSwap(undecided, sealed) || f.stage.Load() == sealed
}

// A body is the body of a long request, or one to a round tripper that is not known to
// report how far it comes. What it reads, it may have sent.
type body struct {
	bytes.Reader
	fate *fate
}

var errSealed = errors.New("the request was given up")

func (b *body) Read(p []byte) (int, error) {
	if !b.fate.begin() {
		return 0, errSealed
	}
	return b.Reader.Read(p)
}

func (b *body) Close() error { return nil }

// newRequest returns a request and its fate, which is nil if it has no body.
func (e *endpoint) newRequest(ctx context.Context, method string, to *url.URL, header http.Header, frame []byte) (*http.Request, *fate) {
	req := &http.Request{
		Method:     method,
		URL:        to,
		Header:     header,
		Host:       to.Host,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}
	if frame == nil {
		return req.WithContext(ctx), nil
	}
	f := &fate{}
	// For a request that an old connection turned out not to take.
	req.GetBody = func() (io.ReadCloser, error) { return e.newBody(frame, f), nil }
	req.Body = e.newBody(frame, f)
	req.ContentLength = int64(len(frame))
	if e.reports() {
		f.trace.WroteHeaders = func() { f.begin() }
		ctx = httptrace.WithClientTrace(ctx, &f.trace)
	}
	return req.WithContext(ctx), f
}

// reports reports whether the round tripper is known to report how far it comes.
func (e *endpoint) reports() bool {
	_, ok := e.rt.(*http.Transport)
	return ok
}

// newBody returns the body of a request. The standard transport knows the reader of a short one, and writes
// it and the fields at once.
func (e *endpoint) newBody(frame []byte, f *fate) io.ReadCloser {
	if e.reports() && len(frame) < 4<<10 {
		return io.NopCloser(bytes.NewReader(frame))
	}
	b := &body{fate: f}
	b.Reset(frame)
	return b
}

func redirected(resp *http.Response) bool {
	all := []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}
	return slices.Contains(all, resp.StatusCode) && resp.Header.Get("Location") != ""
}

// follow returns where a redirect leads, if that is within the origin and keeps
// the method.
func (e *endpoint) follow(from *url.URL, resp *http.Response, before int) (*url.URL, error) {
	refused := &RedirectError{Code: resp.StatusCode}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil {
		return nil, refused
	}
	refused.To = to.Scheme + "://" + to.Host
	keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect ||
		resp.Request.Method == http.MethodGet
	if !keeps || !sameOrigin(to, e.url) || to.User != nil || before == maxRedirects {
		return nil, refused
	}
	return to, nil
}

// explain turns the error of an exchange into one with an outcome.
func (e *endpoint) explain(ctx context.Context, err error, f *fate) error {
	var dial *net.OpError
	dialing := errors.As(err, &dial) && dial.Op == "dial"
	unsent := dialing || f != nil && f.seal()
	outcome := mcp.Unknown
	if unsent {
		outcome = mcp.NotSent
	}
	if ctx.Err() != nil {
		return mcp.WithOutcome(ctx.Err(), outcome)
	}
	err = fmt.Errorf("HTTP request to %s: %w", e.url.Host, err)
	// Another round tripper may have reasons of its own not to send.
	if dialing || unsent && e.reports() {
		return &unreachableError{err}
	}
	return mcp.WithOutcome(err, outcome)
}

// statusError describes a response that is no answer, without its body.
func statusError(resp *http.Response) *StatusError {
	e := &StatusError{Method: resp.Request.Method, Code: resp.StatusCode}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		e.Challenge = challengeOf(resp)
	}
	e.RetryAfter = httpfield.RetryAfter(resp.Header)
	return e
}

// finish reads the rest of a response that nobody needs and closes it, so that its
// socket can be used again. It gives up on a long one, and on a server that does not end it.
func finish(resp *http.Response) {
	const patience, rest = 100 * time.Millisecond, 4 << 10
	if resp.ContentLength != 0 && resp.ContentLength <= rest {
		timer := time.AfterFunc(patience, func() { _ = resp.Body.Close() })
		defer timer.Stop()
		_, _ = readBody(resp, rest)
	}
	_ = resp.Body.Close()
}

// readBody reads the whole body of a response, of at most limit bytes, decoded. With an error
// it returns the beginning.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := scratch.ReadAll(io.LimitReader(resp.Body, limit+1), min(resp.ContentLength, limit))
	if int64(len(body)) > limit {
		err = tooLarge(limit)
	}
	return body, err
}
