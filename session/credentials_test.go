package session

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
	assert.As[*refusedError](t, env.call(env.ctx, two, bob))
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
	assert.Equal(t, assert.As[*refusedError](t, env.call(env.ctx, m, bob)).status, http.StatusUnauthorized)
	assert.Equal(t, len(env.as.Requests()), before, "requests: no login is begun for a session with a token of its own")
	for _, bad := range []map[string]auth.Secret{{"X-Key": "a\r\nb"}, {"X Key": "a"}, {"": "a"}} {
		err := m.SetHeader(env.ctx, bob, bad)
		assert.Fails(t, err, "%v", bad)
		assert.Lacks(t, err.Error(), "a\r\nb", "%v", bad)
	}
}
