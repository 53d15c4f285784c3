package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	maxRedirects = 3
	dialTimeout  = 10 * time.Second
)

// An endpoint sends HTTP requests to one origin: with the configured headers
// and the user's token, following redirects within the origin only.
type endpoint struct {
	url    *url.URL
	header http.Header
	oauth  auth.OAuthHandler
	client *http.Client
	owned  *http.Transport // nil if the round tripper is the user's
	limit  int64

	authorizing chan struct{} // holds a token while a login is under way
	asking      chan struct{} // holds a token while the token source is asked
}

type endpointOptions struct {
	kind         string // name of the recipe, for errors
	url          string
	header       http.Header
	oauth        auth.OAuthHandler
	roundTripper http.RoundTripper
	maxMessage   int64
}

func newEndpoint(o endpointOptions) (*endpoint, error) {
	u, err := url.Parse(o.url)
	if err != nil {
		return nil, &OptionError{o.kind + ".URL", errors.New("not a URL")}
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &OptionError{o.kind + ".URL", errors.New("must begin with http:// or https:// and name a host")}
	}
	if u.User != nil {
		return nil, &OptionError{o.kind + ".URL", errors.New("holds a user or password; put them in an Authorization header")}
	}
	header := make(http.Header, len(o.header))
	for name, values := range o.header {
		if !httpfield.ValidName(name) {
			return nil, &OptionError{o.kind + ".Header", fmt.Errorf("%q is no header name", name)}
		}
		for _, v := range values {
			if !httpfield.ValidValue(v) {
				return nil, &OptionError{o.kind + ".Header", fmt.Errorf("the value of %s holds a control character", name)}
			}
			header.Add(name, v) // in its canonical form, or it would be sent twice
		}
	}
	e := &endpoint{
		url:         u,
		header:      header,
		oauth:       o.oauth,
		limit:       maxMessage(o.maxMessage),
		authorizing: make(chan struct{}, 1),
		asking:      make(chan struct{}, 1),
	}
	rt := o.roundTripper
	if rt == nil {
		e.owned = newHTTPTransport()
		rt = e.owned
	}
	e.client = &http.Client{Transport: rt, CheckRedirect: checkRedirect}
	return e, nil
}

// newHTTPTransport returns a transport of its own for one connection, so that
// closing the connection closes its sockets.
func newHTTPTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if !sameOrigin(req.URL, first.URL) || req.Method != first.Method || len(via) > maxRedirects {
		return &RedirectError{Code: req.Response.StatusCode, To: req.URL.Scheme + "://" + req.URL.Host}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// close closes idle sockets; those in use close with their requests.
func (e *endpoint) close() {
	if e.owned != nil {
		e.owned.CloseIdleConnections()
	}
}

// An authorizeError reports that a login was needed and failed.
type authorizeError struct{ err error }

func (e *authorizeError) Error() string { return "authorization failed: " + e.err.Error() }
func (e *authorizeError) Unwrap() error { return e.err }

// Outcome returns mcp.NotSent: the server refused the request.
func (e *authorizeError) Outcome() mcp.Outcome { return mcp.NotSent }

// An unreachableError reports that no connection to the server could be made.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return e.err.Error() }
func (e *unreachableError) Unwrap() error { return e.err }

// Outcome returns mcp.NotSent.
func (e *unreachableError) Outcome() mcp.Outcome { return mcp.NotSent }

// do sends one request, once more after a login if the server asks for one, and
// returns the response whatever its status. Its errors tell the outcome.
func (e *endpoint) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Response, error) {
	req, resp, err := e.once(ctx, method, to, header, body)
	if err != nil || e.oauth == nil || !wantsLogin(resp) {
		return resp, err
	}
	if err := e.authorize(ctx, req, resp); err != nil {
		return nil, err
	}
	_, resp, err = e.once(ctx, method, to, header, body)
	return resp, err
}

func wantsLogin(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized ||
		resp.StatusCode == http.StatusForbidden && resp.Header.Get("WWW-Authenticate") != ""
}

// authorize runs the login, one at a time. Requests that were refused while
// another one logged in only take the new token.
func (e *endpoint) authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	select {
	case e.authorizing <- struct{}{}:
		defer func() { <-e.authorizing }()
	case <-ctx.Done():
		_ = resp.Body.Close()
		return mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
	if now, err := e.bearer(ctx); err == nil && now != "" && now != req.Header.Get("Authorization") {
		return resp.Body.Close()
	}
	if err := e.oauth.Authorize(ctx, req, resp); err != nil {
		return &authorizeError{err}
	}
	return nil
}

// bearer returns the Authorization field for the user's token, or "". The token
// source may be slow and knows no context, so it is left behind when ctx ends;
// while it is busy nobody else asks, so that at most one goroutine stays behind.
func (e *endpoint) bearer(ctx context.Context) (string, error) {
	if e.oauth == nil {
		return "", nil
	}
	type outcome struct {
		field string
		err   error
	}
	select {
	case e.asking <- struct{}{}:
	case <-ctx.Done():
		return "", mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-e.asking }()
		field, err := bearerField(ctx, e.oauth)
		done <- outcome{field, err}
	}()
	select {
	case o := <-done:
		return o.field, o.err
	case <-ctx.Done():
		return "", mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
}

func bearerField(ctx context.Context, h auth.OAuthHandler) (string, error) {
	source, err := h.TokenSource(ctx)
	if err != nil {
		return "", &authorizeError{err}
	}
	if source == nil {
		return "", nil
	}
	token, err := source.Token()
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
		return "", nil // the server's 401 leads to a new login
	case err != nil:
		return "", &authorizeError{err}
	case token == nil:
		return "", nil
	}
	return "Bearer " + token.AccessToken, nil
}

func (e *endpoint) once(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Request, *http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	var reached atomic.Int32
	at := func(p progress) { reached.Store(int32(p)) }
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { at(dialing) },
		GotConn:      func(httptrace.GotConnInfo) { at(connected) },
		WroteHeaders: func() { at(sent) },
	})
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(traced, method, to.String(), reader)
	if err != nil {
		return nil, nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	for name, values := range e.header {
		req.Header[name] = values
	}
	for name, values := range header {
		req.Header[name] = values
	}
	bearer, err := e.bearer(ctx)
	if err != nil {
		return nil, nil, err
	}
	if bearer != "" {
		req.Header.Set("Authorization", bearer)
	}
	resp, err := e.client.Do(req)
	if err == nil {
		return req, resp, nil
	}
	if resp != nil {
		_ = resp.Body.Close()
	}
	return req, nil, e.explain(ctx, err, progress(reached.Load()))
}

// A progress says how far a request has come, and begins again when it is
// redirected or repeated by the HTTP transport.
type progress int

const (
	untold progress = iota // by a round tripper that reports nothing
	dialing
	connected
	sent // in part or as a whole
)

// explain turns the error of an exchange into one that tells the outcome and
// does not show the URL's query, which may hold a key.
func (e *endpoint) explain(ctx context.Context, err error, reached progress) error {
	var redirect *RedirectError
	if errors.As(err, &redirect) {
		return redirect
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	outcome := mcp.Unknown
	if reached == dialing || reached == connected {
		outcome = mcp.NotSent
	}
	if ctx.Err() != nil {
		return mcp.WithOutcome(ctx.Err(), outcome)
	}
	err = fmt.Errorf("HTTP request to %s: %w", e.url.Host, err)
	if reached == dialing {
		return &unreachableError{err}
	}
	return mcp.WithOutcome(err, outcome)
}

// statusError describes a response that is no answer, without its body.
func statusError(resp *http.Response) *StatusError {
	e := &StatusError{Method: resp.Request.Method, Code: resp.StatusCode}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		e.Challenge = resp.Header.Get("WWW-Authenticate")
	}
	after := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		e.RetryAfter = max(0, time.Until(at))
	}
	return e
}

// readBody reads a whole body of at most limit bytes, decoded.
func readBody(body io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	}
	return data, err
}
