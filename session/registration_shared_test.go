package session

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

func (w *world) checkRegistrations(when string, want int) {
	w.t.Helper()
	assert.Equal(w.t, w.as.Count(authtest.RegistrationEndpoint), want, "registrations %s", when)
}

// The names of users who log in.
func crowd(n int) []Key {
	var keys []Key
	for i := range n {
		keys = append(keys, Key{User: fmt.Sprint("user", i), Server: "s"})
	}
	return keys
}

// logInTogether logs many users in at once, at one manager after the other.
func (w *world) logInTogether(keys []Key, managers ...*Manager) {
	w.t.Helper()
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			m := managers[i%len(managers)]
			l, err := m.Login(w.ctx, key)
			var callback string
			if err == nil {
				callback, err = w.as.Approve(w.ctx, l.URL)
			}
			if err == nil {
				_, err = m.Complete(w.ctx, callback, nil)
			}
			if err != nil {
				w.t.Errorf("login of %v: got %v, want nil", key, err)
			}
		})
	}
	wg.Wait()
}

// A driver that cannot lock.
type lockless struct{ storage.Store }

func TestUsersShareOneRegistration(t *testing.T) {
	tests := map[string]struct {
		driver   storage.Store
		managers int
		most     int // registrations
	}{
		"one manager":                        {storage.NewMemory(), 1, 1},
		"one manager, a store without lock":  {lockless{storage.NewMemory()}, 1, 1},
		"two managers":                       {storage.NewMemory(), 2, 1},
		"two managers, a store without lock": {lockless{storage.NewMemory()}, 2, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			w.keepIn(test.driver)
			var managers []*Manager
			for range test.managers {
				managers = append(managers, w.manager(nil))
			}
			w.logInTogether(crowd(5), managers...)
			n := w.as.Count(authtest.RegistrationEndpoint)
			assert.Equal(t, n <= test.most, true, "registrations")
			w.logInTogether(crowd(8)[5:], w.manager(nil))
			w.checkRegistrations("in the end", n)
			w.mustCall(managers[0], crowd(1)[0])
		})
	}
}

// Programs with addresses of their own that share a store keep to their clients.
func TestRegistrationsOfTwoAddresses(t *testing.T) {
	w := newWorld(t, nil, nil)
	here, there := w.manager(nil), w.manager(&Options{RedirectURL: "http://127.0.0.1:1/elsewhere"})
	for _, key := range crowd(3) {
		w.mustLogIn(here, key)
		w.mustLogIn(there, key)
	}
	w.checkRegistrations("for two addresses", 2)
	w.config = &auth.Config{Server: "s", URL: w.rs.URL, ClientName: "another name"}
	for _, key := range crowd(3) {
		w.mustLogIn(here, key)
	}
	w.checkRegistrations("after the program got another name", 3)
}

// An authorization server that has forgotten the client is registered at once more, by the
// first who learns of it, for all.
func TestForgottenRegistrationIsMadeOnceMore(t *testing.T) {
	keys := crowd(4)
	learn := map[string]func(w *world, m *Manager){
		"by a renewal": func(w *world, m *Manager) {
			w.as.ExpireAll()
			for _, key := range keys {
				w.mustNeedLogin(m, key)
			}
		},
		"by a callback": func(w *world, m *Manager) {
			// The code was given out before the client was forgotten.
			_, callback := w.begin(m, Key{User: "late", Server: "s"})
			w.as.Purge()
			assert.Fails(w.t, errOf(m.Complete(w.ctx, callback, nil)), "a login with a client that was forgotten: got nil, want an")
		},
		"by nobody's return": func(w *world, m *Manager) {
			assert.Value(m.Login(w.ctx, keys[0]))(w.t)
			w.expireLogin(m, keys[0])
		},
	}
	for name, learns := range learn {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			m := w.manager(nil)
			for _, key := range keys {
				w.mustLogIn(m, key)
			}
			if name != "by a callback" {
				w.as.Purge()
			}
			learns(w, m)
			for range 2 {
				for _, key := range keys {
					w.mustLogIn(m, key)
					w.mustCall(m, key)
				}
			}
			w.checkRegistrations("altogether", 2)
		})
	}
}

// expireLogin has the login that waits for a user be over.
func (w *world) expireLogin(m *Manager, key Key) {
	w.t.Helper()
	assert.Value(m.entry(key).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) {
			late := *r.Login
			late.Expires = time.Now()
			r.Login = &late
		})
	}))(w.t)
}

// A device asks for its code as a client that may have been forgotten.
func TestForgottenRegistrationOfDevices(t *testing.T) {
	w := newWorld(t, &authtest.Options{Device: &authtest.DeviceOptions{}}, nil)
	w.config.Grant = auth.DeviceCode
	m := w.manager(nil)
	assert.Value(m.Login(w.ctx, crowd(1)[0]))(t)
	w.as.Purge()
	assert.Fails(t, errOf(m.Login(w.ctx, crowd(2)[1])), "a login with a client that was forgotten: got nil, want an")
	for _, key := range crowd(5)[1:] {
		_, err := m.Login(w.ctx, key)
		assert.OK(t, err, "login of %v", key)
	}
	w.checkRegistrations("altogether", 2)
}

func TestRegistrationWhoseSecretExpires(t *testing.T) {
	w := newWorld(t, &authtest.Options{ClientAuth: "client_secret_basic", SecretLifetime: time.Hour}, nil)
	m := w.manager(nil)
	keys := crowd(4)
	w.mustLogIn(m, keys[0])
	name := registrationName(w.config, w.as.Issuer, callbackURL)
	r, at, err := m.loadRegistration(w.ctx, name)
	assert.OK(t, err)
	r.Client.SecretExpires = time.Now().Add(-time.Second)
	assert.OK(t, m.saveRegistration(w.ctx, name, r.Client, at))
	for _, key := range keys[1:] {
		w.mustLogIn(m, key)
	}
	w.checkRegistrations("altogether", 2)
}

// Older versions kept a client in each session.
func TestRegistrationInAnOlderSession(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	keys := crowd(3)
	w.mustLogIn(m, keys[0])
	w.dropRegistration(m)
	w.mustCall(m, keys[0])
	for _, key := range keys {
		w.mustLogIn(m, key)
	}
	w.checkRegistrations("altogether", 1)
	w.as.ExpireAll()
	w.mustCall(m, keys[0])
}

// dropRegistration removes the client that all sessions share.
func (w *world) dropRegistration(m *Manager) {
	w.t.Helper()
	name := registrationName(w.config, w.as.Issuer, callbackURL)
	_, at, err := m.loadRegistration(w.ctx, name)
	if err == nil {
		err = w.store.Delete(w.ctx, name, at)
	}
	assert.OK(w.t, err)
}

// One user who is forgotten takes nothing from the others.
func TestForgetKeepsTheRegistration(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	keys := crowd(3)
	w.mustLogIn(m, keys[0])
	w.mustLogIn(m, keys[1])
	assert.OK(t, m.Forget(w.ctx, keys[0]))
	w.as.ExpireAll()
	w.mustCall(m, keys[1])
	w.mustLogIn(m, keys[2])
	w.mustLogIn(m, keys[0])
	w.checkRegistrations("altogether", 1)
}

// A record that nobody can read is replaced; that it cannot be written is told.
func TestRegistrationThatCannotBeRead(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	name := registrationName(w.config, w.as.Issuer, callbackURL)
	kept := assert.Value(disk.Load(w.ctx, name, ""))(t)
	for _, secret := range []string{"client_id", w.grantOf(m, alice).Client.ID} {
		assert.Equal(t, bytes.Contains(kept.Data, []byte(secret)), false, "the record in the store: got %q in it, want it sealed", secret)
	}
	kept.Data[atSealed] ^= 1
	assert.Value(disk.Save(w.ctx, name, kept.Data, kept.Revision))(t)
	for _, key := range crowd(2) {
		w.mustLogIn(m, key)
	}
	w.checkRegistrations("altogether", 2)
}

// Logins that wait for a registration end with the manager.
func TestRegistrationThatHangs(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.as.Fail(authtest.RegistrationEndpoint, -1, authtest.Fault{Wait: make(chan struct{})})
	errs := make(chan error)
	for _, key := range crowd(2) {
		go func() {
			_, err := m.Login(w.ctx, key)
			errs <- err
		}()
	}
	assert.OK(t, w.as.Await(w.ctx, authtest.RegistrationEndpoint, 1))
	assert.OK(t, m.Close())
	for range 2 {
		assert.Is(t, <-errs, ErrClosed, "Login")
	}
	w.checkRegistrations("altogether", 1)
}
