package session

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A login that comes to its end while the user logs out is none.
func TestLogoutDuringTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	l := assert.Value(m.Login(w.ctx, alice))(t)
	callback := assert.Value(w.as.Approve(w.ctx, l.URL))(t)
	release := make(chan struct{})
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: release})
	completed := make(chan error, 1)
	go func() { _, err := m.Complete(w.ctx, callback, nil); completed <- err }()
	assert.OK(t, w.as.Await(w.ctx, authtest.TokenEndpoint, 1))
	assert.OK(t, m.Logout(w.ctx, alice))
	close(release)
	assert.As[*auth.StateError](t, <-completed)
	assert.Equal(t, w.grantOf(m, alice) == nil, true, "the user is logged in after the logout")
	for _, f := range w.as.Families() {
		assert.Equal(t, f.Ended, true, "what nobody keeps was not revoked")
	}
}

// A grant that could not be saved yet goes with the rest.
func TestLogoutTakesWhatWasNotSaved(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	e := m.entry(alice)
	e.unsaved = &answer{grant: w.grantOf(m, alice), url: w.config.URL, login: true}
	assert.OK(t, m.Logout(w.ctx, alice))
	w.mustNeedLogin(m, alice)
	assert.Equal(t, w.grantOf(m, alice) == nil, true, "the user is logged in after the logout")
}

// A program that logs in by itself does not either after Logout.
func TestLogoutOfAProgram(t *testing.T) {
	app := authtest.Client{ID: "app", Secret: "app-secret"}
	w := newWorld(t, &authtest.Options{Clients: []authtest.Client{app}}, nil)
	w.config.Grant = auth.ClientCredentials
	w.config.Client = &auth.Client{Issuer: w.as.Issuer, ID: app.ID, Secret: auth.Secret(app.Secret)}
	m := w.manager(nil)
	w.mustCall(m, alice)
	assert.OK(t, m.Logout(w.ctx, alice))
	required := w.mustNeedLogin(m, alice)
	assert.Equal(t, [...]any{required.Reason == "", required.URL}, [...]any{false, ""}, "required")
	assert.OK(t, assert.Value(m.Login(w.ctx, alice))(t).Wait(w.ctx))
	w.mustCall(m, alice)
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, [...]any{status.Phase, status.Reason}, [...]any{LoggedIn, ""}, "status")
}

// A manager that is being closed leaves logins to the others.
func TestCompleteAfterClose(t *testing.T) {
	w := newWorld(t, nil, nil)
	one, two := w.manager(nil), w.manager(nil)
	required := w.mustNeedLogin(one, alice)
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	_ = one.Close()
	assert.Is(t, errOf(one.Complete(w.ctx, callback, nil)), ErrClosed)
	assert.Value(two.Complete(w.ctx, callback, nil))(t)
	w.mustCall(two, alice)
}
