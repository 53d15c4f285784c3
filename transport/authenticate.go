package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
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
	// each request, whatever its method, and again where a request is redirected
	// to. target is the URL as the server sees it, without a fragment; body is that of a POST and
	// must not be changed. It must return when ctx ends. Adding nothing is no
	// error: the server's 401 leads to Authorize.
	Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error
	// Observe sees the status and the header of each response, also of
	// redirects, before anything else is done with it. It must neither read the
	// body nor change anything, and must not wait.
	Observe(resp *http.Response)
}

// An authorizeError reports that a login was needed and failed.
type authorizeError struct{ err error }

func (e *authorizeError) Error() string { return "authorization failed: " + e.err.Error() }
func (e *authorizeError) Unwrap() error { return e.err }

// Outcome returns mcp.NotSent: the server refused the request.
func (e *authorizeError) Outcome() mcp.Outcome { return mcp.NotSent }

// Bearer returns what HTTP, SSE and Auto take as OAuth, for programs that have their
// tokens from elsewhere: from package oauth2, a cloud's metadata server or a CI system.
// Each request carries the present token of source, which is asked every time and from
// many goroutines; wrap one that fetches a token each time in [oauth2.ReuseTokenSource].
// An error of source fails the request, which was not sent then.
//
// Nobody can log in by it. If the server refuses a token with status 401, or 403 with a
// challenge, and source has no other one by then, the error is a [*TokenRefusedError].
func Bearer(source oauth2.TokenSource) auth.OAuthHandler { return &bearer{source} }

type bearer struct{ source oauth2.TokenSource }

// TokenSource implements auth.OAuthHandler.
func (b *bearer) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if nils.Is(b.source) {
		return nil, errors.New("transport: Bearer: the token source is nil")
	}
	return b.source, nil
}

// Authorize implements auth.OAuthHandler.
func (b *bearer) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	return &TokenRefusedError{Status: resp.StatusCode}
}

// A TokenRefusedError reports that a server refused the token of a [Bearer] handler.
// Nothing was run.
type TokenRefusedError struct {
	Status int // HTTP status, 401 or 403
}

func (e *TokenRefusedError) Error() string {
	return fmt.Sprintf("transport: token refused with HTTP status %d: the token source has no other one", e.Status)
}

// Outcome returns mcp.NotSent.
func (e *TokenRefusedError) Outcome() mcp.Outcome { return mcp.NotSent }

// Class returns failure.Denied.
func (e *TokenRefusedError) Class() failure.Class { return failure.Denied }

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

func wantsLogin(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized ||
		resp.StatusCode == http.StatusForbidden && resp.Header.Get("WWW-Authenticate") != ""
}

// authorize runs the login, one at a time. Requests that were refused while
// another one logged in only take the new token. An authenticator sees to both by
// itself.
func (e *endpoint) authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if e.authenticator != nil {
		return e.logIn(ctx, req, resp)
	}
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
	return e.logIn(ctx, req, resp)
}

func (e *endpoint) logIn(ctx context.Context, req *http.Request, resp *http.Response) error {
	authorize := func() (err error) {
		defer caught("OAuth.Authorize", &err)
		return e.oauth.Authorize(ctx, req, resp)
	}
	if err := authorize(); err != nil {
		return &authorizeError{err}
	}
	return nil
}

// bearer returns the Authorization field for the user's token, or "". The token
// source may be slow and knows no context, so it is left behind when ctx ends;
// while it is busy no other request asks, so that at most one goroutine stays behind.
func (e *endpoint) bearer(ctx context.Context) (string, error) {
	if e.oauth == nil || e.authenticator != nil {
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

func bearerField(ctx context.Context, h auth.OAuthHandler) (field string, err error) {
	defer caught("OAuth.TokenSource", &err)
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
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" && canLogIn(h):
		return "", nil // the server's 401 leads to a new login
	case err != nil:
		return "", &authorizeError{err}
	case token == nil:
		return "", nil
	}
	return "Bearer " + token.AccessToken, nil
}

// canLogIn reports whether a handler can come to a token by Authorize.
func canLogIn(h auth.OAuthHandler) bool {
	_, fixed := h.(*bearer)
	return !fixed
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
	authenticate := func() (err error) {
		defer caught("OAuth.Authenticate", &err)
		return e.authenticator.Authenticate(ctx, header, method, target.String(), body)
	}
	if err := authenticate(); err != nil {
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
	defer caught("OAuth.Observe", new(error))
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

// needsRights reports whether a request failed only because the user is logged in and
// lacks rights for it.
func needsRights(err error) bool {
	var login interface{ StepUp() bool }
	return errors.As(err, &login) && login.StepUp()
}

// awaitLogin waits until the user has logged in, if err says that a background stream
// needs a login: another request would only begin logins that no user sees. It reports
// whether ctx lasted that long.
func awaitLogin(ctx context.Context, err error) bool {
	var login interface{ LoggedIn() <-chan struct{} }
	if !errors.As(err, &login) {
		return true
	}
	done := login.LoggedIn()
	if done == nil {
		return true
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
