package session

import (
	"net/http"
	"testing"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// source returns the token source of a session.
func (w *world) source(m *Manager, key Key) oauth2.TokenSource {
	w.t.Helper()
	return assert.Value(m.Handler(key).TokenSource(w.ctx))(w.t)
}

// A client of x/oauth2 reports a login that is missing, and uses one that there is.
func TestTokenSourceForOAuth2(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	client := oauth2.NewClient(w.ctx, w.source(m, alice))
	get := func() (*http.Response, error) {
		req := assert.Value(http.NewRequestWithContext(w.ctx, http.MethodGet, w.rs.URL, nil))(t)
		return client.Do(req)
	}
	_, err := get()
	assert.Equal(t, assert.As[*auth.LoginRequiredError](t, err).User, alice.User, "user of the error")
	w.mustLogIn(m, alice)
	resp := assert.Value(get())(t)
	_ = resp.Body.Close()
	assert.Equal(t, resp.StatusCode, http.StatusOK, "with a login: got status")
}

// A client of x/oauth2 keeps a token until it expires: it has to know when.
func TestTokenSourceExpiry(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	token := assert.Value(w.source(m, alice).Token())(t)
	want := w.grantOf(m, alice).Token.Expires
	assert.Equal(t, [...]any{token.Expiry.Equal(want), want.IsZero()}, [...]any{true, false}, "expiry")
	assert.Equal(t, token.RefreshToken, "", "the token source gives the refresh token away")
}

// The SDK's transports go on without a token, to meet the server's 401.
func TestTokenSourceForTheSDK(t *testing.T) {
	w := newWorld(t, nil, nil)
	_, err := w.source(w.manager(nil), alice).Token()
	assert.Equal(t, assert.As[*oauth2.RetrieveError](t, err).ErrorCode, "invalid_grant", "error code")
}
