// Tests of handler.go and errors.go: tokens for requests, and what their errors are.

package session

import (
	"net/http"
	"testing"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
)

// A client of x/oauth2 reports a login that is missing, and uses one that there is.
func TestTokenSourceForOAuth2(t *testing.T) {
	env, m := withManager(t, nil, nil)
	client := oauth2.NewClient(env.ctx, assert.Value(m.Handler(alice).TokenSource(env.ctx))(t))
	get := func() (*http.Response, error) {
		return client.Do(assert.Value(http.NewRequestWithContext(env.ctx, http.MethodGet, env.rs.URL, nil))(t))
	}
	assert.Equal(t, assert.As[*auth.LoginRequiredError](t, errOf(get())).User, alice.User, "user of the error")
	env.mustLogIn(m, alice)
	resp := assert.Value(get())(t)
	_ = resp.Body.Close()
	assert.Equal(t, resp.StatusCode, http.StatusOK, "status with a login")
}

// A client of x/oauth2 keeps a token until it expires: it has to know when.
func TestTokenSourceExpiry(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	token := assert.Value(assert.Value(m.Handler(alice).TokenSource(env.ctx))(t).Token())(t)
	want := env.grantOf(m, alice).Token.Expires
	assert.False(t, want.IsZero(), "it does not expire")
	assert.Equal(t, token.Expiry.UTC(), want.UTC(), "expiry")
	assert.Equal(t, token.RefreshToken, "", "refresh token")
}

// The SDK's transports go on without a token, to meet the server's 401.
func TestTokenSourceForTheSDK(t *testing.T) {
	env := newEnv(t, nil, nil)
	err := errOf(assert.Value(env.manager(nil).Handler(alice).TokenSource(env.ctx))(t).Token())
	assert.Equal(t, assert.As[*oauth2.RetrieveError](t, err).ErrorCode, "invalid_grant", "error code")
}

func TestUsersAreKeptApart(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	env.mustNeedLogin(m, bob)
	assert.As[*UserError](t, env.call(WithUser(env.ctx, "bob"), m, alice))
	assert.OK(t, env.call(WithUser(env.ctx, "alice"), m, alice))
}

func TestTokenStaysAtItsOrigin(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	header := http.Header{}
	assert.As[*auth.URLError](t, m.Handler(alice).Authenticate(env.ctx, header, http.MethodPost, "http://127.0.0.1:1/mcp", nil))
	assert.Equal(t, len(header), 0, "header fields")
}

func TestErrorClasses(t *testing.T) {
	for _, test := range []struct {
		err  error
		want failure.Class
	}{
		{&refusedError{key: alice, status: 403}, failure.Denied},
		{&UserError{key: alice, user: "bob"}, failure.Denied},
		{&noTokenError{&auth.LoginRequiredError{Server: "s"}}, failure.LoginRequired},
		{&RefreshError{key: alice, err: &auth.LoginRequiredError{Server: "s"}}, failure.LoginRequired},
	} {
		assert.Equal(t, failure.Of(test.err), test.want, "%v", test.err)
	}
}
