package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// A Flow has the steps of logging in at one server. Make one with [New]. It keeps nothing between
// them that could not be lost. Its methods are safe for concurrent use.
type Flow struct {
	config Config
	http   *guardhttp.Client
	nonces nonces
}

// Close closes idle connections. The Flow can still be used.
func (f *Flow) Close() {
	if f.http != nil {
		f.http.Close()
	}
}

// client returns what sends the requests.
func (f *Flow) client() *guardhttp.Client {
	if f.http == nil {
		panic("auth: the zero Flow is not usable: make it with New")
	}
	return f.http
}

// nonces holds the newest nonce for proofs of possession (RFC 9449, section 8). It is safe for
// concurrent use.
type nonces struct {
	mu            sync.Mutex
	origin, nonce string
}

// originOf returns scheme and host of an address that was checked.
func originOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// newest returns the nonce for an endpoint; empty if there is none.
func (n *nonces) newest(endpoint string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.origin != originOf(endpoint) {
		return ""
	}
	return n.nonce
}

// keep keeps the nonce that an endpoint has given. It reports false if there is
// none, or what cannot be one.
func (n *nonces) keep(endpoint, nonce string) bool {
	if nonce == "" || checkNonce(nonce) != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.origin, n.nonce = originOf(endpoint), nonce // that of another origin costs a round
	return true
}

// requestError returns the error of a request in the terms of this package. The
// request is named as in [OAuthError]. The reason why the context ended is found in it by
// errors.Is.
func (f *Flow) requestError(request string, err error) error {
	var refused *guardhttp.Refusal
	var failed *guardhttp.Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return f.urlError(fieldOf(request), refused)
	case errors.As(err, &failed):
		return &RequestError{server: f.config.Server, request: request, host: failed.Host, NotSent: failed.NotSent, err: failed.Err}
	}
	return err
}

func (f *Flow) urlError(field string, refused *guardhttp.Refusal) *URLError {
	return &URLError{Server: f.config.Server, Field: field, Origin: refused.Origin, Problem: refused.Problem}
}

// fieldOf returns which address a request goes to.
func fieldOf(request string) string {
	switch request {
	case "token", "refresh", "token exchange":
		return "token_endpoint"
	case "registration":
		return "registration_endpoint"
	case "revocation":
		return "revocation_endpoint"
	case "device authorization":
		return "device_authorization_endpoint"
	}
	return request
}

// problemOf returns what is wrong with an address.
func problemOf(err error) string {
	if refused := (*guardhttp.Refusal)(nil); errors.As(err, &refused) {
		return refused.Problem
	}
	return err.Error()
}

// hostOf returns the host of an address, and nothing of what follows it.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// probe is what a server is asked without a token. Servers that want one say so
// before they read it.
const probe = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Probe asks the server for its challenges, for logins that begin before a
// request was refused. A server that answers otherwise has none. The error says
// that it could not be reached.
func (f *Flow) Probe(ctx context.Context) ([]Challenge, error) {
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	answer, err := f.client().PostJSON(ctx, f.config.URL, header, []byte(probe))
	var failed *guardhttp.Failure
	switch {
	case errors.As(err, &failed) && !failed.NotSent && ctx.Err() == nil:
		return nil, nil // it answered, though not like an authorization server
	case err != nil:
		return nil, f.requestError("probe", err)
	case answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden:
		return nil, nil
	}
	return Challenges(answer.Header), nil
}
