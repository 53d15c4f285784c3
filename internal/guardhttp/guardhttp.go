// Package guardhttp sends requests to addresses that come from parties that are
// not trusted: it checks where they lead, at the time of dialling, and bounds what
// comes back.
package guardhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
)

// Options say which addresses are allowed besides https on public networks.
type Options struct {
	// Trusted are hosts (without port) that may be on private networks: those
	// that the configuration itself names. If one is a loopback address or
	// localhost, all loopback addresses are allowed, and http there.
	Trusted []string
	// Networks may be spoken to.
	Networks []netip.Prefix
	// AllowHTTP allows http for all that may be spoken to.
	AllowHTTP bool
	// TLS replaces the TLS configuration.
	TLS *tls.Config
	// Proxy replaces http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
}

// A Client sends guarded requests. It is safe for concurrent use.
type Client struct{ o Options }

// New returns a Client.
func New(o Options) *Client { return &Client{o} }

// Close closes idle connections.
func (c *Client) Close() {}

// Check parses an address that a request could go to and refuses it for what can
// be seen without resolving it. The error is a *Refusal.
func (c *Client) Check(raw string) (*url.URL, error) { return nil, errors.New("not implemented") }

// An Answer is a response that was read whole. Its body is JSON, or nil if the
// response had another content type (only with an error status).
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Get sends a GET. Redirects are followed within the origin.
func (c *Client) Get(ctx context.Context, to string, header http.Header) (*Answer, error) {
	return nil, errors.New("not implemented")
}

// PostForm sends a form. Redirects are errors.
func (c *Client) PostForm(ctx context.Context, to string, header http.Header, form url.Values) (*Answer, error) {
	return nil, errors.New("not implemented")
}

// PostJSON sends JSON. Redirects are errors.
func (c *Client) PostJSON(ctx context.Context, to string, header http.Header, body []byte) (*Answer, error) {
	return nil, errors.New("not implemented")
}

// A Refusal reports an address that must not be spoken to. Nothing was sent.
type Refusal struct {
	Origin  string // scheme and host, as far as they can be shown
	Problem string
}

func (e *Refusal) Error() string { return fmt.Sprintf("%q refused: %s", e.Origin, e.Problem) }

// A Failure reports a request without a usable answer. It shows nothing of the
// answer's body, and of the address the host only.
type Failure struct {
	Host    string
	NotSent bool // the request cannot have been received
	Err     error
}

func (e *Failure) Error() string { return e.Host + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Failure) Unwrap() error { return e.Err }
