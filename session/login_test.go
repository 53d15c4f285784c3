package session

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A user answers the logins that are shown to them.
type user struct {
	server *authtest.Server
	answer func(ctx context.Context, url string) (string, error)

	mu    sync.Mutex
	shown int
}

func (u *user) Start(context.Context, []string) (auth.PromptSession, error) { return u, nil }

func (u *user) RedirectURI() string { return callbackURL }

func (u *user) Close() error { return nil }

func (u *user) Show(ctx context.Context, p *auth.Pending) (string, error) {
	u.mu.Lock()
	u.shown++
	u.mu.Unlock()
	if u.answer != nil {
		return u.answer(ctx, p.URL)
	}
	return u.server.Approve(ctx, p.URL)
}

func (u *user) times() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.shown
}

func TestPromptIsShownOnce(t *testing.T) {
	w := newWorld(t, nil, nil)
	asked := make(chan struct{})
	u := &user{server: w.as, answer: func(ctx context.Context, url string) (string, error) {
		<-asked
		return w.as.Approve(ctx, url)
	}}
	m := w.manager(&Options{Prompt: u})
	var done <-chan struct{}
	for _, err := range w.together(m, alice, 8) {
		var required *auth.LoginRequiredError
		if !errors.As(err, &required) {
			t.Fatal(err)
		}
		done = required.Done
	}
	close(asked)
	<-done
	w.mustCall(m, alice)
	if u.times() != 1 || w.as.Count(authtest.RegistrationEndpoint) != 1 {
		t.Errorf("shown %d times, %d registrations", u.times(), w.as.Count(authtest.RegistrationEndpoint))
	}
}

func TestDeclinedLoginIsRemembered(t *testing.T) {
	w := newWorld(t, nil, nil)
	for name, no := range map[string]func(context.Context, string) (string, error){
		"at the prompt":                   func(context.Context, string) (string, error) { return "", auth.ErrDeclined },
		"at the authorization server":     w.as.Deny,
		"by not answering till the end":   func(context.Context, string) (string, error) { return "", context.DeadlineExceeded },
		"by a browser that does not open": func(context.Context, string) (string, error) { return "", errors.New("no browser") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			w.as.Close()
			w = newWorld(t, nil, nil)
			u := &user{server: w.as, answer: no}
			if name == "at the authorization server" {
				u.answer = w.as.Deny
			}
			m := w.manager(&Options{Prompt: u})
			l, err := m.Login(w.ctx, alice)
			assert.OK(t, err)
			if err := l.Wait(w.ctx); err == nil {
				t.Fatal("nobody has logged in")
			}
			for range 3 {
				if required := w.mustNeedLogin(m, alice); required.URL != "" || required.Reason == "" {
					t.Fatalf("%+v", required)
				}
			}
			_ = m.Close()
			m = w.manager(&Options{Prompt: u})
			w.mustNeedLogin(m, alice)
			if u.times() != 1 {
				t.Fatalf("the user was asked %d times", u.times())
			}
			u.answer = nil
			l = assert.Value(m.Login(w.ctx, alice))(t)
			assert.OK(t, l.Wait(w.ctx))
			w.mustCall(m, alice)
		})
	}
}

func TestLoginIsCompletedElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	here, there := w.manager(nil), w.manager(nil)
	l := assert.Value(here.Login(w.ctx, alice))(t)
	required := w.mustNeedLogin(here, alice)
	waited := make(chan error, 1)
	go func() { waited <- l.Wait(w.ctx) }()
	callback := assert.Value(w.as.Approve(w.ctx, l.URL))(t)
	assert.Value(there.Complete(w.ctx, callback, nil))(t)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	select {
	case <-required.Done:
	case <-w.ctx.Done():
		t.Error("who waits is not told of a login in another process")
	}
	w.mustCall(here, alice)
}

func TestCallbackOfSomebodyElse(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	required := w.mustNeedLogin(m, alice)
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	before := w.as.Count(authtest.TokenEndpoint)
	var wrong *UserError
	if _, err := m.Complete(w.ctx, callback, &CompleteOptions{User: "mallory"}); !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	if w.as.Count(authtest.TokenEndpoint) != before {
		t.Error("the code was sent")
	}
	if _, err := m.Complete(w.ctx, callback, &CompleteOptions{User: "alice"}); err != nil {
		t.Error(err)
	}
}

func TestCallbackIsTakenOnce(t *testing.T) {
	w := newWorld(t, nil, nil)
	managers := []*Manager{w.manager(nil), w.manager(nil)}
	required := w.mustNeedLogin(managers[0], alice)
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	errs := make(chan error)
	for i := range 8 {
		go func() {
			_, err := managers[i%2].Complete(w.ctx, callback, nil)
			errs <- err
		}()
	}
	good := 0
	for range 8 {
		var stale *auth.StateError
		switch err := <-errs; {
		case err == nil:
			good++
		case !errors.As(err, &stale):
			t.Error(err)
		}
	}
	if good != 1 || w.as.Granted("authorization_code") != 1 {
		t.Errorf("%d completed, %d codes taken", good, w.as.Granted("authorization_code"))
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t, nil, nil)
	u := &user{server: w.as}
	m := w.manager(&Options{Prompt: u})
	l, err := m.Login(w.ctx, alice)
	assert.OK(t, err)
	assert.OK(t, l.Wait(w.ctx))
	grant := w.grantOf(m, alice)
	assert.OK(t, m.Logout(w.ctx, alice))
	if w.as.Count(authtest.RevocationEndpoint) == 0 {
		t.Error("nothing was revoked")
	}
	if f, ok := w.as.Family(grant.Token.Refresh.Reveal()); !ok || !f.Ended {
		t.Error("the refresh token is still good")
	}
	if required := w.mustNeedLogin(m, alice); required.URL != "" || u.times() != 1 {
		t.Errorf("a user who has logged out is asked again: %+v", required)
	}
	if status, err := m.Status(w.ctx, alice); err != nil || status.Phase != LoggedOut {
		t.Errorf("status %+v, error %v", status, err)
	}
	l = assert.Value(m.Login(w.ctx, alice))(t)
	assert.OK(t, l.Wait(w.ctx))
	w.mustCall(m, alice)
	assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), 1, "registrations")
	assert.OK(t, m.Forget(w.ctx, alice))
	for key, err := range m.Keys(w.ctx) {
		t.Errorf("after Forget there is %v, error %v", key, err)
	}
}

func TestHeaderInsteadOfToken(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	token := w.grantOf(m, alice).Token.Access
	bob := Key{User: "bob", Server: "s"}
	assert.OK(t, m.SetToken(w.ctx, bob, token))
	w.mustCall(m, bob)
	status, err := m.Status(w.ctx, bob)
	if err != nil || status.Phase != LoggedIn || !slices.Equal(status.Headers, []string{"Authorization"}) {
		t.Errorf("status %+v, error %v", status, err)
	}
	w.as.ExpireAll()
	before := len(w.as.Requests())
	var refused *RefusedError
	if _, err := w.call(w.ctx, m, bob); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("%v", err)
	}
	if len(w.as.Requests()) != before {
		t.Error("a login was begun for a session with a token of its own")
	}
	for _, bad := range []map[string]auth.Secret{{"X-Key": "a\r\nb"}, {"X Key": "a"}, {"": "a"}} {
		if err := m.SetHeader(w.ctx, bob, bad); err == nil || strings.Contains(err.Error(), "a\r\nb") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestServerMovesToAnotherAuthorizationServer(t *testing.T) {
	other := authtest.NewServer(t, nil)
	moved := false
	w := newWorld(t, nil, &authtest.ResourceOptions{
		Others: []*authtest.Server{other},
		Metadata: func(d map[string]any) {
			if moved {
				d["authorization_servers"] = []string{other.Issuer}
			} else if all, ok := d["authorization_servers"].([]string); ok {
				d["authorization_servers"] = all[:1]
			}
		},
	})
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	moved = true
	w.as.EndAll()
	required := w.mustNeedLogin(m, alice)
	if !strings.HasPrefix(required.URL, other.Issuer) {
		t.Errorf("login at %s", required.URL)
	}
	for _, r := range other.Requests() {
		for _, s := range w.as.Secrets() {
			if strings.Contains(r.Body, s) || strings.Contains(r.Header.Get("Authorization"), s) {
				t.Errorf("%s %s got a secret of another authorization server", r.Method, r.Path)
			}
		}
	}
	assert.Equal(t, other.Count(authtest.RegistrationEndpoint), 1, "registrations at the new one")
}

func TestLoginByDeviceCode(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.config.Grant = auth.DeviceCode
	m := w.manager(nil)
	l, err := m.Login(w.ctx, alice)
	if err != nil {
		t.Skip("the kit has no device code yet: ", err)
	}
	if l.UserCode == "" || l.URL == "" {
		t.Errorf("%+v", l)
	}
}

func TestCachedSessionsAreBounded(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(&Options{MaxCached: 3})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.mustLogIn(m, Key{User: name, Server: "s"})
	}
	if n := len(m.cached()); n > 3 {
		t.Errorf("%d sessions in memory", n)
	}
	w.mustCall(m, Key{User: "a", Server: "s"})
	keys := 0
	for _, err := range m.Keys(w.ctx) {
		if err != nil {
			t.Error(err)
		}
		keys++
	}
	assert.Equal(t, keys, 5, "keys")
}

func TestDamagedSessionNeedsALogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	_ = m.Close()
	w.spoil(disk, alice, atSealed)
	m = w.manager(nil)
	if required := w.mustNeedLogin(m, alice); required.URL == "" || !strings.Contains(required.Reason, "cannot be read") {
		t.Errorf("%+v", required)
	}
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
}

// An authorization server that has forgotten the program says so to the user and
// to nobody else.
func TestForgottenClientIsNoDeadEnd(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.Purge()
	w.as.EndAll()
	l := assert.Value(m.Login(w.ctx, alice))(t)
	if _, err := w.as.Approve(w.ctx, l.URL); err == nil {
		t.Fatal("a client that was forgotten can log in")
	}
	assert.Value(m.entry(alice).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) {
			late := *r.Login
			late.Expires = time.Now()
			r.Login = &late
		})
	}))(t)
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), 2, "registrations")
}
