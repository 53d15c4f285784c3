package session

import (
	"errors"
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
	var stale *auth.StateError
	if err := <-completed; !errors.As(err, &stale) {
		t.Errorf("completed: %v", err)
	}
	if g := w.grantOf(m, alice); g != nil {
		t.Error("the user is logged in after the logout")
	}
	for _, f := range w.as.Families() {
		if !f.Ended {
			t.Error("what nobody keeps was not revoked")
		}
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
	if g := w.grantOf(m, alice); g != nil {
		t.Error("the user is logged in after the logout")
	}
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
	if required := w.mustNeedLogin(m, alice); required.Reason == "" || required.URL != "" {
		t.Errorf("%+v", required)
	}
	l := assert.Value(m.Login(w.ctx, alice))(t)
	assert.OK(t, l.Wait(w.ctx))
	w.mustCall(m, alice)
	if status, err := m.Status(w.ctx, alice); err != nil || status.Phase != LoggedIn || status.Reason != "" {
		t.Errorf("status %+v, error %v", status, err)
	}
}

// A manager that is being closed leaves logins to the others.
func TestCompleteAfterClose(t *testing.T) {
	w := newWorld(t, nil, nil)
	one, two := w.manager(nil), w.manager(nil)
	required := w.mustNeedLogin(one, alice)
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	_ = one.Close()
	if _, err := one.Complete(w.ctx, callback, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := two.Complete(w.ctx, callback, nil); err != nil {
		t.Error(err)
	}
	w.mustCall(two, alice)
}
