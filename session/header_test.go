package session

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
)

func TestSetHeaderOfNothingKeepsTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	assert.OK(t, m.SetHeader(w.ctx, alice, nil))
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, status.Phase, LoggedIn, "status")
	w.mustCall(m, alice)
}

func TestLoginReplacesHeader(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	assert.OK(t, m.SetToken(w.ctx, alice, "stale"))
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, len(status.Headers), 0, "status")
}

// Secrets that are set take the place of a login that waits for the user, and
// of what was said of one.
func TestHeaderReplacesLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	token := w.grantOf(m, alice).Token.Access
	bob := Key{User: "bob", Server: "s"}
	required := w.mustNeedLogin(m, bob)
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	assert.OK(t, m.SetHeader(w.ctx, bob, map[string]auth.Secret{"Authorization": "Bearer " + token}))
	assert.Fails(t, errOf(m.Complete(w.ctx, callback, nil)), "the login was completed")
	status := assert.Value(m.Status(w.ctx, bob))(t)
	assert.Equal(t, [...]any{status.Phase, status.LoginURL, status.Reason}, [...]any{LoggedIn, "", ""}, "status")
	w.mustCall(m, bob)
}

// A request that was refused before the secrets were set is sent again with them.
func TestHeaderSetMeanwhile(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	token := w.grantOf(m, alice).Token.Access
	bob := Key{User: "bob", Server: "s"}
	resp, req := w.refusal(m, bob)
	assert.OK(t, m.SetToken(w.ctx, bob, token))
	assert.OK(t, m.Handler(bob).Authorize(w.ctx, req, resp))
	w.mustCall(m, bob)
}

// Secrets that another process has set are used once those before are refused.
func TestHeaderSetElsewhere(t *testing.T) {
	w := newWorld(t, nil, nil)
	one, two := w.manager(nil), w.manager(nil)
	w.mustLogIn(one, alice)
	token := w.grantOf(one, alice).Token.Access
	bob := Key{User: "bob", Server: "s"}
	assert.OK(t, one.SetToken(w.ctx, bob, "stale"))
	assert.As[*RefusedError](t, errOf(w.call(w.ctx, two, bob)))
	assert.OK(t, one.SetToken(w.ctx, bob, token))
	w.mustCall(two, bob)
	assert.OK(t, one.SetToken(w.ctx, bob, "stale"))
	w.mustCall(two, bob)
	assert.OK(t, one.SetHeader(w.ctx, bob, nil))
	w.as.ExpireAll()
	assert.Equal(t, w.mustNeedLogin(two, bob).URL != "", true)
}

func TestErrorClasses(t *testing.T) {
	for _, test := range []struct {
		err  error
		want failure.Class
	}{
		{&RefusedError{Key: alice, Status: 403}, failure.Denied},
		{&UserError{Key: alice, User: "bob"}, failure.Denied},
		{&noTokenError{&auth.LoginRequiredError{Server: "s"}}, failure.LoginRequired},
		{&RefreshError{Key: alice, Err: &auth.LoginRequiredError{Server: "s"}}, failure.LoginRequired},
	} {
		assert.Equal(t, failure.Of(test.err), test.want, "%v", test.err)
	}
}
