package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/nils"
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
// handler of an [HTTP] is one, it is used as such: TokenSource is
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

// Bearer returns what an HTTP takes as OAuth, for programs that have their
// tokens from elsewhere: from package oauth2, a cloud's metadata server or a CI system.
// Each request carries the present token of source, which is asked every time and from
// many goroutines; wrap one that fetches a token each time in [oauth2.ReuseTokenSource].
// An error of source fails the request, which was not sent then.
//
// Nobody can log in by it. If the server refuses a token with status 401, or 403 with a
// challenge, and source has no other one by then, the error is a [*StatusError].
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
	return statusError(resp)
}

func wantsLogin(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized ||
		resp.StatusCode == http.StatusForbidden && resp.Header.Get("WWW-Authenticate") != ""
}

// authorize runs the login that a response asks for.
func (e *endpoint) authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	authorize := func() (err error) {
		defer caught("OAuth.Authorize", &err)
		return e.auth.Authorize(ctx, req, resp)
	}
	err := authorize()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
	return &authorizeError{err}
}

// A tokenAuth is an Authenticator of a handler that knows bearer tokens only. It has one
// request at a time log in; those that were refused meanwhile only take the new token.
type tokenAuth struct {
	auth.OAuthHandler
	authorizing chan struct{} // holds a token while a login is under way
	asking      chan struct{} // holds a token while the token source is asked
}

func newTokenAuth(h auth.OAuthHandler) *tokenAuth {
	return &tokenAuth{h, make(chan struct{}, 1), make(chan struct{}, 1)}
}

// Observe implements Authenticator.
func (a *tokenAuth) Observe(*http.Response) {}

// Authorize implements Authenticator.
func (a *tokenAuth) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	select {
	case a.authorizing <- struct{}{}:
		defer func() { <-a.authorizing }()
	case <-ctx.Done():
		_ = resp.Body.Close()
		return ctx.Err()
	}
	if now, err := a.field(ctx); err == nil && now != "" && now != req.Header.Get("Authorization") {
		return resp.Body.Close()
	}
	return a.OAuthHandler.Authorize(ctx, req, resp)
}

// Authenticate implements Authenticator.
func (a *tokenAuth) Authenticate(ctx context.Context, header http.Header, _, _ string, _ []byte) error {
	field, err := a.field(ctx)
	if field != "" {
		header.Set("Authorization", field)
	}
	return err
}

// field returns the Authorization field for the user's token, or "". The token
// source may be slow and knows no context, so it is left behind when ctx ends;
// while it is busy no other request asks, so that at most one goroutine stays behind.
func (a *tokenAuth) field(ctx context.Context) (field string, err error) {
	select {
	case a.asking <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	type answer struct {
		field string
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		defer func() { <-a.asking }()
		field, err := bearerField(ctx, a.OAuthHandler)
		answers <- answer{field, err}
	}()
	select {
	case got := <-answers:
		return got.field, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func bearerField(ctx context.Context, h auth.OAuthHandler) (field string, err error) {
	defer caught("OAuth.TokenSource", &err)
	source, err := h.TokenSource(ctx)
	if err != nil || source == nil {
		return "", err
	}
	token, err := source.Token()
	var refused *oauth2.RetrieveError
	_, fixed := h.(*bearer)
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" && !fixed:
		return "", nil // the server's 401 leads to a new login
	case err != nil || token == nil:
		return "", err
	}
	return "Bearer " + token.AccessToken, nil
}

// authenticate returns the header of one request, which is not changed afterwards.
func (e *endpoint) authenticate(ctx context.Context, header http.Header, method string, to *url.URL, body []byte) (http.Header, error) {
	if e.auth == nil {
		return header, nil
	}
	target := *to
	target.Fragment, target.RawFragment = "", ""
	target.Path = cmp.Or(target.Path, "/")
	header = header.Clone()
	authenticate := func() (err error) {
		defer caught("OAuth.Authenticate", &err)
		return e.auth.Authenticate(ctx, header, method, target.String(), body)
	}
	if err := authenticate(); err != nil {
		if ctx.Err() != nil {
			return nil, mcp.WithOutcome(ctx.Err(), mcp.NotSent)
		}
		return nil, &authorizeError{err}
	}
	return header, nil
}

// observe shows a response to the authenticator.
func (e *endpoint) observe(resp *http.Response) {
	if e.auth != nil {
		defer caught("OAuth.Observe", new(error))
		e.auth.Observe(resp)
	}
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
