package session

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// ownToken logs alice in without the store, and returns what a program has then that keeps
// tokens by itself.
func (env *env) ownToken() (*oauth2.Token, auth.Client) {
	env.t.Helper()
	kept := env.store
	env.store = Memory()
	m := env.manager(nil)
	env.mustLogIn(m, alice)
	grant := env.grantOf(m, alice)
	env.store = kept
	return grant.Token.OAuth2(), grant.Client
}

func TestImport(t *testing.T) {
	env := newEnv(t, nil, nil)
	token, client := env.ownToken()
	var told keyLog
	m := env.manager(&Options{OnLogin: told.add})
	env.mustNeedLogin(m, alice)
	assert.OK(t, m.Import(env.ctx, alice, token.WithExtra(map[string]any{"scope": "a b"}), &client))
	env.mustCall(m, alice)
	status := env.wantStatus(m, alice, LoggedIn)
	assert.Equal(t, status.LoginURL, "", "login URL")
	assert.Equal(t, strings.Join(status.Scopes, " "), "a b", "scopes")
	told.check(t, "the import", alice)
	env.as.ExpireAll()
	env.mustCall(m, alice)
	env.wantRefreshes(1, "of the imported token")
}

// A token that has expired is renewed before it is sent.
func TestImportExpiredToken(t *testing.T) {
	env := newEnv(t, nil, nil)
	token, client := env.ownToken()
	env.as.ExpireAll()
	token.Expiry = time.Now().Add(-time.Hour)
	m := env.manager(nil)
	assert.OK(t, m.Import(env.ctx, alice, token, &client))
	env.mustCall(m, alice)
	for _, r := range env.rs.Requests() {
		assert.True(t, r.Header.Get("Authorization") != "Bearer "+token.AccessToken, "a token is sent that has not expired")
	}
}

func TestImportRefused(t *testing.T) {
	env := newEnv(t, nil, nil)
	token, client := env.ownToken()
	m := env.manager(nil)
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
		err := m.Import(env.ctx, alice, test.token, test.client)
		assert.True(t, errors.As(err, test.want), "%s: %v is a %T", name, err, test.want)
	}
	env.wantStatus(m, alice, LoggedOut)
}

// A token without a refresh token needs no client.
func TestImportAccessTokenAlone(t *testing.T) {
	env := newEnv(t, nil, nil)
	token, _ := env.ownToken()
	m := env.manager(nil)
	assert.OK(t, m.Import(env.ctx, alice, &oauth2.Token{AccessToken: token.AccessToken}, nil))
	env.mustCall(m, alice)
}

func TestSetHeaderOfNothingKeepsTheLogin(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	assert.OK(t, m.SetHeader(env.ctx, alice, nil))
	env.wantStatus(m, alice, LoggedIn)
	env.mustCall(m, alice)
}

func TestLoginReplacesHeader(t *testing.T) {
	env, m := withManager(t, nil, nil)
	assert.OK(t, m.SetToken(env.ctx, alice, "stale"))
	env.mustLogIn(m, alice)
	env.mustCall(m, alice)
	assert.Equal(t, len(env.wantStatus(m, alice, LoggedIn).Headers), 0, "header fields")
}

// Secrets that are set take the place of a login that waits for the user, and
// of what was said of one.
func TestHeaderReplacesLogin(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	token := env.tokenOf(m, alice)
	_, callback := env.begin(m, bob)
	assert.OK(t, m.SetHeader(env.ctx, bob, map[string]auth.Secret{"Authorization": "Bearer " + token}))
	assert.Fails(t, env.complete(m, callback))
	status := env.wantStatus(m, bob, LoggedIn)
	assert.Equal(t, status.LoginURL+status.Reason, "", "login URL and reason")
	env.mustCall(m, bob)
}

// A request that was refused before the secrets were set is sent again with them.
func TestHeaderSetMeanwhile(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	token := env.tokenOf(m, alice)
	resp, req := env.refusal(m, bob)
	assert.OK(t, m.SetToken(env.ctx, bob, token))
	assert.OK(t, m.Handler(bob).Authorize(env.ctx, req, resp))
	env.mustCall(m, bob)
}

// Secrets that another process has set are used once those before are refused.
func TestHeaderSetElsewhere(t *testing.T) {
	env, one := loggedIn(t, nil, nil)
	two := env.manager(nil)
	token := env.tokenOf(one, alice)
	assert.OK(t, one.SetToken(env.ctx, bob, "stale"))
	assert.As[*RefusedError](t, env.call(env.ctx, two, bob))
	assert.OK(t, one.SetToken(env.ctx, bob, token))
	env.mustCall(two, bob)
	assert.OK(t, one.SetToken(env.ctx, bob, "stale"))
	env.mustCall(two, bob)
	assert.OK(t, one.SetHeader(env.ctx, bob, nil))
	env.as.ExpireAll()
	env.mustNeedLogin(two, bob)
}

func TestHeaderInsteadOfToken(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	assert.OK(t, m.SetToken(env.ctx, bob, env.tokenOf(m, alice)))
	env.mustCall(m, bob)
	assert.Equal(t, strings.Join(env.wantStatus(m, bob, LoggedIn).Headers, " "), "Authorization", "header fields")
	env.as.ExpireAll()
	before := len(env.as.Requests())
	assert.Equal(t, assert.As[*RefusedError](t, env.call(env.ctx, m, bob)).Status, http.StatusUnauthorized)
	assert.Equal(t, len(env.as.Requests()), before, "requests: no login is begun for a session with a token of its own")
	for _, bad := range []map[string]auth.Secret{{"X-Key": "a\r\nb"}, {"X Key": "a"}, {"": "a"}} {
		err := m.SetHeader(env.ctx, bob, bad)
		assert.Fails(t, err, "%v", bad)
		assert.Lacks(t, err.Error(), "a\r\nb", "%v", bad)
	}
}
