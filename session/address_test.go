package session

import (
	"errors"
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// move gives the server of the world another address.
func (w *world) move() {
	w.rs = w.as.Protect(w.in(), nil)
	w.config = &auth.Config{Server: "s", URL: w.rs.URL}
}

func resourceOf(t *testing.T, loginURL string) string {
	t.Helper()
	u := assert.Value(url.Parse(loginURL))(t)
	return u.Query().Get("resource")
}

// A login is for the address that the server had when it was begun.
func TestServerMovesDuringTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	first := w.mustNeedLogin(m, alice)
	callback := assert.Value(w.as.Approve(w.ctx, first.URL))(t)
	w.move()
	var stale *auth.StateError
	if _, err := m.Complete(w.ctx, callback, nil); !errors.As(err, &stale) {
		t.Errorf("completed: %v", err)
	}
	resp, _ := w.refusal(m, alice)
	_ = resp.Body.Close()
	if w.lastSent() != "" {
		t.Error("the server at the new address got a token for the old one")
	}
	for _, f := range w.as.Families() {
		if !f.Ended {
			t.Error("what nobody keeps was not revoked")
		}
	}
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
}

// What was found out at one address is not used at another one.
func TestServerMovesBeforeTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustNeedLogin(m, alice)
	w.move()
	if status, err := m.Status(w.ctx, alice); err != nil || status.LoginURL != "" {
		t.Errorf("status %+v, error %v", status, err)
	}
	l := assert.Value(m.Login(w.ctx, alice))(t)
	if got := resourceOf(t, l.URL); got != w.rs.URL {
		t.Errorf("the login is for %s, not %s", got, w.rs.URL)
	}
	w.approve(m, l.URL)
	w.mustCall(m, alice)
}

// A session comes back with the address that it is for.
func TestServerMovesBack(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	rs, config := w.rs, w.config
	w.move()
	w.mustNeedLogin(m, alice)
	w.rs, w.config = rs, config
	w.mustCall(m, alice)
}
