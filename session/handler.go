package session

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
)

// clockPause is how long a token is used for after it was obtained, whatever its
// lifetime: only the server's refusal renews it sooner. Tests set it to what a busy machine
// does not reach.
var clockPause = 5 * time.Second

// A Handler authenticates the requests of one session. It is what the transports of this module, and those of the official SDK,
// take as their OAuth handler. It is safe for concurrent use.
//
// Transports of the SDK cannot send secret headers or proofs of possession.
type Handler struct {
	manager *Manager
	key     Key
}

// Handler returns the handler of a session. The user need not be logged in yet.
func (m *Manager) Handler(key Key) *Handler { return &Handler{m, key} }

// Authenticate adds to header what a request of the session needs: the access
// token, a proof of possession if the token is bound to a key, or the secrets set
// by SetHeader. A token that has ended by the clock is renewed before, which ctx
// bounds. target must be of the origin that the server is configured with.
func (h *Handler) Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error {
	if user, ok := UserOf(ctx); ok && user != h.key.User {
		return &UserError{key: h.key, user: user}
	}
	e := h.manager.entry(h.key)
	r, err := e.current(ctx)
	if err != nil {
		return err
	}
	config, err := h.manager.config(h.key)
	if err != nil {
		return err
	}
	if !sameOrigin(target, config.URL) {
		return &auth.URLError{Server: h.key.Server, Field: "request", Origin: origin(target), Problem: "the session is for the server's own origin"}
	}
	if len(r.Header) > 0 && r.URL == config.URL {
		for name, value := range r.Header {
			header.Set(name, value.Reveal())
		}
		return nil
	}
	grant := r.live(config.URL)
	if grant == nil {
		return nil // the server says what it wants
	}
	if ended(grant) {
		// Whatever becomes of it, the server decides.
		if err := e.ensure(ctx, request{sent: grant.Token.Access, quiet: true}); ctx.Err() != nil {
			return err
		}
		if r, err = e.current(ctx); err != nil {
			return err
		}
		if renewed := r.live(config.URL); renewed != nil {
			grant = renewed
		}
	}
	return grant.Authorize(header, method, target, body, e.getNonce())
}

// ended reports whether the access token has ended by the clock, and may be
// renewed for that. A token of a very short lifetime is not renewed for each request.
func ended(g *auth.TokenSet) bool {
	now := time.Now()
	return !g.Token.Expires.IsZero() && !now.Before(g.Token.Expires) && now.Sub(g.Token.Obtained) >= clockPause
}

// Observe looks at the head of a response to a request of the session.
func (h *Handler) Observe(resp *http.Response) {
	e := h.manager.entry(h.key)
	if nonce := resp.Header.Get("DPoP-Nonce"); nonce != "" {
		e.setNonce(nonce)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && resp.Request != nil {
		if sent := sentToken(resp.Request); sent != "" {
			e.accepted(sent)
		}
	}
}

// TokenSource implements the OAuthHandler of the official SDK. The source is also good
// for [oauth2.NewClient], to call an API outside of MCP with the same login. It reads the
// present token of the session and sends nothing: the manager renews the token ahead of
// its end. Without a login Token returns an [*auth.LoginRequiredError], which wraps an
// [*oauth2.RetrieveError] with code invalid_grant, too: with that, the transports of the
// SDK go on to Authorize. Sessions with DPoP or SetHeader have an [*auth.ConfigError], as
// a bearer token does not authenticate them.
func (h *Handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	if user, ok := UserOf(ctx); ok && user != h.key.User {
		return nil, &UserError{key: h.key, user: user}
	}
	return tokenSource{h}, nil
}

type tokenSource struct{ handler *Handler }

// Token implements oauth2.TokenSource.
func (s tokenSource) Token() (*oauth2.Token, error) {
	h := s.handler
	ctx, stop := context.WithTimeout(h.manager.closing, requestTime)
	defer stop()
	r, err := h.manager.entry(h.key).current(ctx)
	if err != nil {
		return nil, err
	}
	config, err := h.manager.config(h.key)
	if err != nil {
		return nil, err
	}
	grant := r.live(config.URL)
	switch {
	case len(r.Header) > 0:
		return nil, &auth.ConfigError{Server: h.key.Server, Field: "SetHeader", Problem: "has set headers, which only the transports of this module can send"}
	case grant == nil:
		return nil, &noTokenError{h.manager.entry(h.key).loginRequired(r)}
	case grant.DPoPKey != "":
		return nil, &auth.ConfigError{Server: h.key.Server, Field: "DPoP", Problem: "needs a transport of this module"}
	}
	token := grant.Token.OAuth2()
	token.RefreshToken = "" // the manager's alone: it ends with its first use
	return token, nil
}

// A noTokenError reports to users of x/oauth2 that there is no login.
type noTokenError struct{ required *auth.LoginRequiredError }

func (e *noTokenError) Error() string { return e.required.Error() }

// Unwrap returns the error, and that of x/oauth2 by which callers know that a login is due.
func (e *noTokenError) Unwrap() []error {
	return []error{e.required, &oauth2.RetrieveError{ErrorCode: "invalid_grant"}}
}

// Authorize does what a response with status 401 or 403 asks for. It returns nil
// if the request can be sent again: the token was renewed, by this process or
// another one. If only the user can help it returns an
// [*auth.LoginRequiredError] at once; the login is begun then, but not waited
// for. Many who ask at once cause one renewal, or one login.
//
// Other errors are [*RefreshError], [*StoreError] and those of
// the steps of package auth. It closes the response's body.
func (h *Handler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	if user, ok := UserOf(ctx); ok && user != h.key.User {
		return &UserError{key: h.key, user: user}
	}
	e := h.manager.entry(h.key)
	challenges := auth.Challenges(resp.Header)
	if nonce := resp.Header.Get("DPoP-Nonce"); nonce != "" {
		e.setNonce(nonce)
		if slices.ContainsFunc(challenges, func(c auth.Challenge) bool { return c.Params["error"] == "use_dpop_nonce" }) {
			return nil
		}
	}
	r, err := e.current(ctx)
	if err != nil {
		return err
	}
	if len(r.Header) > 0 {
		if r, _, err = e.load(ctx); err != nil { // another process may have set others
			return err
		}
	}
	if len(r.Header) > 0 {
		return h.refusedHeader(req, resp, r)
	}
	sent := sentToken(req)
	forgetToken(challenges, sent)
	want := request{sent: sent, challenges: challenges, rejected: true}
	if resp.StatusCode == http.StatusForbidden {
		scopes, ok := missingScopes(challenges)
		if !ok {
			return &refusedError{key: h.key, status: resp.StatusCode, problem: "the user may not do that"}
		}
		want.stepUp, want.rejected = scopes, false
	}
	return e.ensure(ctx, want)
}

// refusedHeader says what it means that a request was refused, in a session with
// secrets set by SetHeader.
func (h *Handler) refusedHeader(req *http.Request, resp *http.Response, r *record) error {
	_, config, err := h.manager.flow(h.key)
	if err != nil {
		return err
	}
	refused := &refusedError{key: h.key, status: resp.StatusCode}
	if r.URL != config.URL {
		refused.problem = "the configured secrets are for another address of the server; set them again by SetHeader"
		return refused
	}
	for name, value := range r.Header {
		if req.Header.Get(name) != value.Reveal() {
			return nil // they were set meanwhile
		}
	}
	refused.problem = "the server does not accept the configured secrets; set others by SetHeader"
	return refused
}

// forgetToken takes scopes out of challenges that hold the token that was sent: they would
// be kept, shown, and asked for.
func forgetToken(challenges []auth.Challenge, sent auth.Secret) {
	for _, c := range challenges {
		if scope := c.Params["scope"]; sent != "" && strings.Contains(scope, sent.Reveal()) {
			c.Params["scope"] = strings.Join(slices.DeleteFunc(strings.Fields(scope), func(s string) bool {
				return strings.Contains(s, sent.Reveal())
			}), " ")
		}
	}
}

// missingScopes returns the scopes that a challenge says a request lacks.
func missingScopes(challenges []auth.Challenge) (scopes []string, ok bool) {
	for _, c := range challenges {
		if c.Params["error"] == "insufficient_scope" {
			if scopes = strings.Fields(c.Params["scope"]); len(scopes) > 0 {
				return scopes, true
			}
		}
	}
	return nil, false
}

// sentToken returns the access token of a request.
func sentToken(req *http.Request) auth.Secret {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "DPoP") {
		return auth.Secret(token)
	}
	return ""
}

func sameOrigin(a, b string) bool { return a == b || origin(a) != "" && origin(a) == origin(b) }

// origin returns scheme and host of an address, or "" if it is none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
