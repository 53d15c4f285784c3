package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// loginSends is how often a request is sent if its handler can do no more
	// than log in.
	loginSends = 2
	// authenticatorSends is how often a request is sent if its handler is an
	// Authenticator: it may be refused for want of a login, of a nonce and of
	// rights, one after the other.
	authenticatorSends = 4
)

// An Authenticator is an OAuth handler that knows more than bearer tokens. If the
// handler of an [HTTP], [SSE] or [Auto] is one, it is used as such: TokenSource is
// not called, and requests do not wait for each other's logins.
//
// When a server answers 401, or 403 with a challenge, Authorize is called, and the
// request is sent again if that returns nil, up to three times. Authorize gets a
// copy of the request as it was sent, with its body. It runs once for every
// request that was refused, at the same time; that many need one login is its own
// concern. It must close the response's body and return when its context ends.
//
// All methods are called from many goroutines.
type Authenticator interface {
	auth.OAuthHandler
	// Authenticate adds to header the fields that let one request in, such as
	// Authorization, and replaces those of the same name. It is called before
	// each request, whatever its method, and anew where a request is redirected
	// to. target is the URL as the server sees it, without a fragment; body is that of a POST and
	// must not be changed. It must return when ctx ends. Adding nothing is no
	// error: the server's 401 leads to Authorize.
	Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error
	// Observe sees the status and the header of each response, also of
	// redirects, before anything else is done with it. It must neither read the
	// body nor change anything, and must not wait.
	Observe(resp *http.Response)
}

// sends returns how often a request may be sent because of logins.
func (e *endpoint) sends() int {
	switch {
	case e.authenticator != nil:
		return authenticatorSends
	case e.oauth != nil:
		return loginSends
	}
	return 1
}

// authenticate returns the header of one request, which is not changed afterwards.
func (e *endpoint) authenticate(ctx context.Context, header http.Header, method string, to *url.URL, body []byte) (http.Header, error) {
	if e.authenticator == nil {
		return header, nil
	}
	target := *to
	target.Fragment, target.RawFragment = "", ""
	if target.Path == "" {
		target.Path = "/"
	}
	header = header.Clone()
	if err := e.authenticator.Authenticate(ctx, header, method, target.String(), body); err != nil {
		if ctx.Err() != nil {
			return nil, mcp.WithOutcome(ctx.Err(), mcp.NotSent)
		}
		return nil, &authorizeError{err}
	}
	return header, nil
}

// observe shows a response to the authenticator. Not every round tripper says to
// which request it belongs.
func (e *endpoint) observe(req *http.Request, resp *http.Response) {
	if e.authenticator == nil {
		return
	}
	if resp.Request == nil {
		resp.Request = req
	}
	e.authenticator.Observe(resp)
}

// refused returns a copy of a request that was refused, for whoever wants to know
// what it was: the round tripper may still be busy with the request itself.
func refused(ctx context.Context, req *http.Request, frame []byte) *http.Request {
	shown := req.Clone(ctx)
	shown.Body, shown.GetBody = nil, nil
	if frame != nil {
		shown.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(frame)), nil }
		shown.Body = io.NopCloser(bytes.NewReader(frame))
	}
	return shown
}

// needsRights reports whether a request failed only because the user, who is
// logged in, lacks rights for it.
func needsRights(err error) bool {
	var login interface{ StepUp() bool }
	return errors.As(err, &login) && login.StepUp()
}
