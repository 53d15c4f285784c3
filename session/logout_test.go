package session

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/session/driver"
)

// A login that comes to its end while the user logs out is none.
func TestLogoutDuringTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	l, err := m.Login(w.ctx, alice)
	if err != nil {
		t.Fatal(err)
	}
	callback, err := w.as.Approve(w.ctx, l.URL)
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: release})
	completed := make(chan error, 1)
	go func() { _, err := m.Complete(w.ctx, callback, nil); completed <- err }()
	if err := w.as.Await(w.ctx, authtest.TokenEndpoint, 1); err != nil {
		t.Fatal(err)
	}
	if err := m.Logout(w.ctx, alice); err != nil {
		t.Fatal(err)
	}
	close(release)
	var stale *auth.StateError
	if err := <-completed; !errors.As(err, &stale) {
		t.Errorf("completed: %v", err)
	}
	if g := w.grantOf(m, alice); g != nil {
		t.Error("the user is logged in after he has logged out")
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
	if err := m.Logout(w.ctx, alice); err != nil {
		t.Fatal(err)
	}
	w.mustNeedLogin(m, alice)
	if g := w.grantOf(m, alice); g != nil {
		t.Error("the user is logged in after he has logged out")
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
	if err := m.Logout(w.ctx, alice); err != nil {
		t.Fatal(err)
	}
	if required := w.mustNeedLogin(m, alice); required.Reason == "" || required.URL != "" {
		t.Errorf("%+v", required)
	}
	l, err := m.Login(w.ctx, alice)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(w.ctx); err != nil {
		t.Fatal(err)
	}
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
	callback, err := w.as.Approve(w.ctx, required.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = one.Close()
	if _, err := one.Complete(w.ctx, callback, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := two.Complete(w.ctx, callback, nil); err != nil {
		t.Error(err)
	}
	w.mustCall(two, alice)
}

// layers is a driver that keeps older states, as filestore does.
type layers struct {
	*driver.Memory
	mu     sync.Mutex
	states map[string][][]byte // by name, the newest last
}

func (l *layers) Save(ctx context.Context, name string, data []byte, old driver.Revision) (driver.Revision, error) {
	at, err := l.Memory.Save(ctx, name, data, old)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.states[name] = append(l.states[name], bytes.Clone(data))
		l.states[name] = l.states[name][max(0, len(l.states[name])-3):]
	}
	return at, err
}

// What a driver keeps of older states has no tokens either.
func TestLogoutLeavesNothingInOlderStates(t *testing.T) {
	w := newWorld(t, nil, nil)
	l := &layers{Memory: driver.NewMemory(), states: map[string][][]byte{}}
	w.store = openStore(t, l, StaticKey(testKey("k")))
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	kept := func() (n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, sealed := range l.states[recordName(alice)] {
			o, err := w.store.keys.Load().open(forRecord, recordName(alice), sealed)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(o.data, []byte("refresh_token")) {
				n++
			}
		}
		return n
	}
	if kept() == 0 {
		t.Fatal("no token was kept before")
	}
	if err := m.Logout(w.ctx, alice); err != nil {
		t.Fatal(err)
	}
	if n := kept(); n > 0 {
		t.Errorf("%d states still have tokens", n)
	}
}
