package session

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// elsewhere logs alice in without the world's store, and returns what a program has then
// that keeps tokens by itself.
func (w *world) elsewhere() (*oauth2.Token, auth.Client) {
	w.t.Helper()
	kept := w.store
	w.store = Memory()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	grant := w.grantOf(m, alice)
	w.store = kept
	return grant.Token.OAuth2(), grant.Client
}

func TestImport(t *testing.T) {
	w := newWorld(t, nil, nil)
	token, client := w.elsewhere()
	var told []Key
	m := w.manager(&Options{OnLogin: func(key Key) { told = append(told, key) }})
	required := w.mustNeedLogin(m, alice)
	if required.URL == "" {
		t.Fatal("no login waits for the user")
	}
	assert.OK(t, m.Import(w.ctx, alice, token.WithExtra(map[string]any{"scope": "a b"}), &client))
	w.mustCall(m, alice)
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, status.Phase, LoggedIn, "phase")
	assert.Equal(t, status.LoginURL, "", "login URL")
	assert.Equal(t, len(status.Scopes), 2, "scopes: got %q, want 2", status.Scopes)
	assert.Equal(t, [...]any{len(told), told[0]}, [...]any{1, alice}, "OnLogin")
	w.as.ExpireAll()
	w.mustCall(m, alice)
	assert.Equal(t, w.as.Granted("refresh_token"), 1, "refreshes")
}

// A token that has expired is renewed before it is sent.
func TestImportExpiredToken(t *testing.T) {
	w := newWorld(t, nil, nil)
	token, client := w.elsewhere()
	w.as.ExpireAll()
	token.Expiry = time.Now().Add(-time.Hour)
	m := w.manager(nil)
	assert.OK(t, m.Import(w.ctx, alice, token, &client))
	w.mustCall(m, alice)
	assert.Equal(t, w.lastSent() == "Bearer "+token.AccessToken, false, "the token that has expired was sent")
}

func TestImportRefused(t *testing.T) {
	w := newWorld(t, nil, nil)
	token, client := w.elsewhere()
	m := w.manager(nil)
	foreign := client
	foreign.Issuer = "https://other.example"
	var config *auth.ConfigError
	var mismatch *auth.IssuerMismatchError
	for name, test := range map[string]struct {
		token  *oauth2.Token
		client *auth.Client
		want   any
	}{
		"no token":                       {nil, &client, &config},
		"no access token":                {&oauth2.Token{RefreshToken: "r"}, &client, &config},
		"bound to a key":                 {&oauth2.Token{AccessToken: "a", TokenType: "DPoP"}, &client, &config},
		"line end":                       {&oauth2.Token{AccessToken: "a\r\nX: y"}, &client, &config},
		"no client for a refresh token":  {token, nil, &config},
		"another authorization server's": {token, &foreign, &mismatch},
	} {
		err := m.Import(w.ctx, alice, test.token, test.client)
		if !errors.As(err, test.want) {
			t.Errorf("%s: got %v, want a %T", name, err, test.want)
		}
	}
	assert.Equal(t, assert.Value(m.Status(w.ctx, alice))(t).Phase, LoggedOut, "status")
}

// A token without a refresh token needs no client.
func TestImportAccessTokenAlone(t *testing.T) {
	w := newWorld(t, nil, nil)
	token, _ := w.elsewhere()
	m := w.manager(nil)
	assert.OK(t, m.Import(w.ctx, alice, &oauth2.Token{AccessToken: token.AccessToken}, nil))
	w.mustCall(m, alice)
}
