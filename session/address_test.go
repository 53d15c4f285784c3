package session

import (
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
	assert.As[*auth.StateError](t, errOf(m.Complete(w.ctx, callback, nil)))
	resp, _ := w.refusal(m, alice)
	_ = resp.Body.Close()
	assert.Equal(t, w.lastSent(), "", "the server at the new address got a token for the old one")
	for _, f := range w.as.Families() {
		assert.Equal(t, f.Ended, true, "what nobody keeps was not revoked")
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
	assert.Equal(t, assert.Value(m.Status(w.ctx, alice))(t).LoginURL, "", "status")
	l := assert.Value(m.Login(w.ctx, alice))(t)
	assert.Equal(t, resourceOf(t, l.URL), w.rs.URL, "the login is for")
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
