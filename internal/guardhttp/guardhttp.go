// Package guardhttp sends requests to addresses that come from parties that are
// not trusted: it checks where they lead, at the time of dialling, and bounds what
// comes back. It owns no goroutine.
//
// [Client.Get], [Client.PostForm] and [Client.PostJSON] are for documents in JSON,
// [Client.Do] is for everything else.
package guardhttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	wholeTimeout = 30 * time.Second
	dialTimeout  = 10 * time.Second
	maxRedirects = 3
	maxBody      = 1 << 20
)

// Options say which addresses are allowed besides https on public networks.
type Options struct {
	// Trusted are hosts (without port) that may be on private networks: those
	// that the configuration itself names. If one is localhost, 127.0.0.1 or ::1,
	// these three are allowed, and http there; if one is another loopback address,
	// that one is.
	Trusted []string
	// Networks may be spoken to.
	Networks []netip.Prefix
	// AllowHTTP allows http for all that may be spoken to.
	AllowHTTP bool
	// TLS replaces the TLS configuration. Versions before 1.2 are ruled out in
	// any case.
	TLS *tls.Config
	// Proxy replaces http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver replaces net.DefaultResolver.
	Resolver *net.Resolver
}

// A Client sends guarded requests. It is safe for concurrent use. Each request
// ends after 30 seconds, redirects and answer included, unless it says otherwise.
type Client struct {
	places  places
	proxy   func(*http.Request) (*url.URL, error)
	dialer  net.Dialer
	get     *http.Transport
	post    *http.Transport
	timeout time.Duration
}

// New returns a Client.
func New(o Options) *Client {
	c := &Client{
		places:  newPlaces(o),
		proxy:   o.Proxy,
		dialer:  net.Dialer{Timeout: dialTimeout, Resolver: o.Resolver},
		timeout: wholeTimeout,
	}
	if c.proxy == nil {
		c.proxy = http.ProxyFromEnvironment
	}
	settings := cmp.Or(o.TLS, new(tls.Config)).Clone()
	settings.MinVersion = max(settings.MinVersion, tls.VersionTLS12)
	settings.NextProtos = nil
	c.get = c.newTransport(settings)
	// A POST has a connection of its own. On one that was idle the server may be
	// hanging up just now, and whether it has received a refresh token could not
	// be told.
	c.post = c.newTransport(settings.Clone())
	c.post.DisableKeepAlives = true
	return c
}

func (c *Client) newTransport(settings *tls.Config) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  proxyOf,
		DialContext:            c.dial,
		TLSClientConfig:        settings,
		TLSHandshakeTimeout:    dialTimeout,
		Protocols:              protocols,
		MaxIdleConns:           8,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        15 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		OnProxyConnectResponse: refusedByProxy,
	}
}

// Close closes idle connections. The Client can still be used.
func (c *Client) Close() {
	c.get.CloseIdleConnections()
	c.post.CloseIdleConnections()
}

// Get sends a GET. Redirects are followed within the origin, three at most. The
// errors are [*Refusal] and [*Failure].
func (c *Client) Get(ctx context.Context, to string, header http.Header) (*Answer, error) {
	return c.document(ctx, c.get, http.MethodGet, to, header, "", "")
}

// PostForm sends a form. Redirects are errors; so is an answer that comes too
// late. The errors are [*Refusal] and [*Failure].
func (c *Client) PostForm(ctx context.Context, to string, header http.Header, form url.Values) (*Answer, error) {
	return c.document(ctx, c.post, http.MethodPost, to, header, formType, form.Encode())
}

// PostJSON sends JSON. It is like PostForm otherwise.
func (c *Client) PostJSON(ctx context.Context, to string, header http.Header, body []byte) (*Answer, error) {
	return c.document(ctx, c.post, http.MethodPost, to, header, "application/json", string(body))
}

// document sends a request whose answer is a document.
func (c *Client) document(ctx context.Context, tr *http.Transport, method, to string, header http.Header, contentType, body string) (*Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errTooSlow)
	defer cancel()
	u, err := c.Check(to)
	if err != nil {
		return nil, err
	}
	own := http.Header{"Accept": {"application/json"}}
	maps.Copy(own, header)
	if contentType != "" {
		own["Content-Type"] = []string{contentType}
	}
	for range maxRedirects + 1 {
		answer, err := c.exchange(ctx, tr, method, u, own, body, read)
		switch {
		case err != nil || !redirects(answer.Status):
			return answer, err
		case method != http.MethodGet:
			return nil, &Failure{Host: u.Host, Status: answer.Status, Err: errors.New("redirects a POST, which is not followed")}
		}
		if u, err = c.follow(u, answer); err != nil {
			return nil, err
		}
	}
	return nil, &Failure{Host: u.Host, Status: http.StatusFound, Err: errors.New("redirects more than 3 times")}
}

// A plainError says in words of this package what was wrong, such as with an answer that came and is of no use. As the
// cause of a context it names the bound of this package by which that has ended.
type plainError string

func (e plainError) Error() string { return string(e) }

const errTooSlow = plainError("no whole answer within 30 seconds")

// exchange sends one request and has its answer read. Names in header may be
// written in any case.
func (c *Client) exchange(ctx context.Context, tr *http.Transport, method string, to *url.URL, header http.Header, body string, read func(*http.Response) (*Answer, error)) (*Answer, error) {
	fail := func(sent bool, status int, err error) (*Answer, error) {
		if late, ok := errors.AsType[plainError](context.Cause(ctx)); ok {
			err = late
		} else if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, failure(to, sent, status, err)
	}
	if ctx.Err() != nil {
		return fail(false, 0, nil)
	}
	// Set by the goroutine that writes the request, too.
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req := &http.Request{
		Method: method, URL: to, Host: to.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(header)),
	}
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if body != "" {
		req.Body = io.NopCloser(strings.NewReader(body)) // it cannot be sent twice
		req.ContentLength = int64(len(body))
	}
	by, err := c.proxy(req)
	if err != nil {
		return nil, &Failure{Host: to.Host, NotSent: true, Err: errors.New("the proxy's address cannot be used")}
	}
	resp, err := tr.RoundTrip(req.WithContext(context.WithValue(traced, proxyKey{}, by)))
	if err != nil {
		return fail(connected.Load(), 0, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// The body is the connection now, which no context ends.
		return fail(true, resp.StatusCode, plainError("the server changes to another protocol, which was not asked for"))
	}
	answer, err := read(resp)
	if err != nil {
		return fail(true, resp.StatusCode, err)
	}
	return answer, nil
}

// follow returns where a redirect of a GET leads, if that is the same origin.
func (c *Client) follow(from *url.URL, answer *Answer) (*url.URL, error) {
	fail := func(problem string) (*url.URL, error) {
		return nil, &Failure{Host: from.Host, Status: answer.Status, Err: errors.New(problem)}
	}
	location := answer.Header.Get("Location")
	relative, err := url.Parse(location)
	switch {
	case location == "":
		return fail("redirects to nowhere")
	case err != nil:
		return fail("redirects to what is no URL")
	}
	to := from.ResolveReference(relative)
	to.Fragment, to.RawFragment = "", ""
	to, err = c.Check(to.String())
	if err != nil {
		return nil, err
	}
	if to.Scheme != from.Scheme || !strings.EqualFold(to.Hostname(), from.Hostname()) || portOf(to) != portOf(from) {
		return fail("redirects to another origin, " + originOf(to) + ", which is not followed")
	}
	return to, nil
}

func redirects(status int) bool {
	return slices.Contains([]int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	}, status)
}
