package session

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// keyLog keeps the keys that OnLogin was called with.
type keyLog struct {
	mu   sync.Mutex
	keys []Key
}

func (l *keyLog) add(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = append(l.keys, key)
}

// check checks which keys were told since the last check.
func (l *keyLog) check(t *testing.T, what string, want ...Key) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Equal(t, fmt.Sprint(l.keys), fmt.Sprint(want), "%s", what)
	l.keys = nil
}

func TestOnLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	var told keyLog
	m := w.manager(&Options{OnLogin: told.add})
	w.mustLogIn(m, alice)
	told.check(t, "a login", alice)
	w.as.ExpireAll()
	w.mustCall(m, alice)
	told.check(t, "a renewal")
	w.mustLogIn(m, alice)
	told.check(t, "another login", alice)
	assert.OK(t, m.Logout(w.ctx, alice))
	told.check(t, "a logout")
	for range 2 {
		assert.OK(t, m.SetToken(w.ctx, alice, "one"))
	}
	told.check(t, "a token, set twice", alice)
	assert.OK(t, m.SetHeader(w.ctx, alice, map[string]auth.Secret{"Authorization": "two"}))
	told.check(t, "a header", alice)
	assert.OK(t, m.SetHeader(w.ctx, alice, nil))
	told.check(t, "no header")
}

// A manager that has begun a login is told of it when another one completes it, and one
// that reads it first later is not.
func TestOnLoginElsewhere(t *testing.T) {
	w := newWorld(t, nil, nil)
	var there, later keyLog
	here := make(chan Key, 1)
	begun, other := w.manager(&Options{OnLogin: func(key Key) { here <- key }}), w.manager(&Options{OnLogin: there.add})
	l, callback := w.begin(begun, alice)
	assert.Value(other.Complete(w.ctx, callback, nil))(t)
	there.check(t, "where it was completed", alice)
	assert.OK(t, l.Wait(w.ctx))
	select {
	case key := <-here:
		assert.Equal(t, key, alice, "where it was begun")
	case <-w.ctx.Done():
		t.Error("where it was begun: got nothing")
	}
	w.mustCall(w.manager(&Options{OnLogin: later.add}), alice)
	later.check(t, "where it was read")
}
