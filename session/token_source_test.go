package session

import (
	"errors"
	"net/http"
	"testing"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// source returns the token source of a session.
func (w *world) source(m *Manager, key Key) oauth2.TokenSource {
	w.t.Helper()
	s := assert.Value(m.Handler(key).TokenSource(w.ctx))(w.t)
	return s
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
	var required *auth.LoginRequiredError
	if !errors.As(err, &required) {
		t.Fatalf("without a login: got %v, want a %T", err, required)
	}
	assert.Equal(t, required.User, alice.User, "user of the error")
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
	if want := w.grantOf(m, alice).Token.Expires; !token.Expiry.Equal(want) || want.IsZero() {
		t.Errorf("expiry: got %v, want %v", token.Expiry, want)
	}
	if token.RefreshToken != "" {
		t.Error("the token source gives the refresh token away")
	}
}

// The SDK's transports go on without a token, to meet the server's 401.
func TestTokenSourceForTheSDK(t *testing.T) {
	w := newWorld(t, nil, nil)
	_, err := w.source(w.manager(nil), alice).Token()
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a %T", err, refused)
	}
	assert.Equal(t, refused.ErrorCode, "invalid_grant", "error code")
}
