package login

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/session"
)

// A loginHandler lets the requests of one entry's connections out with the session of a
// user. While the entry is being replaced by one that wants another login, it goes on
// with the token that it used last: the session is the other's.
type loginHandler struct {
	logins  *Logins
	session *session.Handler
	server  string
	url     string // of the entry
	facts   string // see [Logins.facts]
	shared  bool

	mu    sync.Mutex  // guards the following
	last  auth.Secret // Authorization field that was sent last
	bound bool        // it is good for one request only
}

// outdated reports whether the login is for another entry now.
func (h *loginHandler) outdated() bool {
	s := h.logins.now(h.server)
	return s == nil || s.facts != h.facts
}

// context returns the context for the session: one that all share has no user.
func (h *loginHandler) context(ctx context.Context) context.Context {
	if h.shared {
		return session.WithUser(ctx, "")
	}
	return ctx
}

// Authenticate implements transport.Authenticator.
func (h *loginHandler) Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error {
	if h.outdated() {
		return h.authenticateAgain(header, target)
	}
	if err := h.session.Authenticate(h.context(ctx), header, method, target, body); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.bound = auth.Secret(header.Get("Authorization")), header.Get("DPoP") != ""
	return nil
}

// authenticateAgain lets a request out with what the last one had.
func (h *loginHandler) authenticateAgain(header http.Header, target string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	to, err := url.Parse(target)
	own, ownErr := url.Parse(h.url)
	if h.bound || err != nil || ownErr != nil || to.Scheme != own.Scheme || !strings.EqualFold(to.Host, own.Host) {
		return h.over()
	}
	if h.last != "" {
		header.Set("Authorization", h.last.Reveal())
	}
	return nil
}

func (h *loginHandler) over() error {
	return &Error{h.server, "its entry has changed, and this connection is of the one before"}
}

// TokenSource implements the OAuthHandler of the official SDK. The caller of the source
// does not say where the token goes, so it gives none when the entry has changed.
func (h *loginHandler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	if h.outdated() {
		return nil, h.over()
	}
	source, err := h.session.TokenSource(h.context(ctx))
	if err != nil {
		return nil, err
	}
	return loginSource{h, source}, nil
}

// A loginSource gives the tokens of a session while they are those of its handler.
type loginSource struct {
	handler *loginHandler
	session oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (s loginSource) Token() (*oauth2.Token, error) {
	token, err := s.session.Token()
	if s.handler.outdated() { // afterwards: the token may be of either
		return nil, s.handler.over()
	}
	return token, err
}

// Authorize implements the OAuthHandler of the official SDK.
func (h *loginHandler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if h.outdated() {
		_ = resp.Body.Close()
		return h.over()
	}
	return h.session.Authorize(h.context(ctx), req, resp)
}

// Observe implements transport.Authenticator.
func (h *loginHandler) Observe(resp *http.Response) { h.session.Observe(resp) }
