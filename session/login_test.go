package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
		required := assert.As[*auth.LoginRequiredError](t, err)
		done = required.Done
	}
	close(asked)
	<-done
	w.mustCall(m, alice)
	assert.Equal(t, [...]any{u.times(), w.as.Count(authtest.RegistrationEndpoint)}, [...]any{1, 1}, "shown")
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
			l := assert.Value(m.Login(w.ctx, alice))(t)
			assert.Fails(t, l.Wait(w.ctx), "nobody has logged in")
			for range 3 {
				if required := w.mustNeedLogin(m, alice); required.URL != "" || required.Reason == "" {
					t.Fatalf("%+v", required)
				}
			}
			_ = m.Close()
			m = w.manager(&Options{Prompt: u})
			w.mustNeedLogin(m, alice)
			assert.Equal(t, u.times(), 1, "the user was asked")
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
	assert.Value(there.Complete(w.ctx, assert.Value(w.as.Approve(w.ctx, l.URL))(t), nil))(t)
	assert.OK(t, <-waited)
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
	assert.As[*UserError](t, errOf(m.Complete(w.ctx, callback, &CompleteOptions{User: "mallory"})))
	assert.Equal(t, w.as.Count(authtest.TokenEndpoint), before, "the code was sent")
	assert.Value(m.Complete(w.ctx, callback, &CompleteOptions{User: "alice"}))(t)
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
	assert.Equal(t, [...]any{good, w.as.Granted("authorization_code")}, [...]any{1, 1}, "good")
}

func TestLogout(t *testing.T) {
	w := newWorld(t, nil, nil)
	u := &user{server: w.as}
	m := w.manager(&Options{Prompt: u})
	l := assert.Value(m.Login(w.ctx, alice))(t)
	assert.OK(t, l.Wait(w.ctx))
	grant := w.grantOf(m, alice)
	assert.OK(t, m.Logout(w.ctx, alice))
	assert.Equal(t, w.as.Count(authtest.RevocationEndpoint) != 0, true, "nothing was revoked")
	f, ok := w.as.Family(grant.Token.Refresh.Reveal())
	assert.Equal(t, [...]any{ok, f.Ended}, [...]any{true, true}, "the refresh token is still good")
	assert.Equal(t, [...]any{w.mustNeedLogin(m, alice).URL, u.times()}, [...]any{"", 1}, "a user who has logged out is asked again")
	assert.Equal(t, assert.Value(m.Status(w.ctx, alice))(t).Phase, LoggedOut, "status")
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
	status := assert.Value(m.Status(w.ctx, bob))(t)
	assert.Equal(t, [...]any{status.Phase, fmt.Sprint(status.Headers)}, [...]any{LoggedIn, fmt.Sprint([]string{"Authorization"})}, "status")
	w.as.ExpireAll()
	before := len(w.as.Requests())
	assert.Equal(t, assert.As[*RefusedError](t, errOf(w.call(w.ctx, m, bob))).Status, http.StatusUnauthorized)
	assert.Equal(t, len(w.as.Requests()), before, "a login was begun for a session with a token of its own")
	for _, bad := range []map[string]auth.Secret{{"X-Key": "a\r\nb"}, {"X Key": "a"}, {"": "a"}} {
		err := m.SetHeader(w.ctx, bob, bad)
		assert.Fails(t, err, "%v", bad)
		assert.Lacks(t, err.Error(), "a\r\nb", "%v", bad)
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
	assert.Equal(t, strings.HasPrefix(w.mustNeedLogin(m, alice).URL, other.Issuer), true, "login")
	for _, r := range other.Requests() {
		for _, s := range w.as.Secrets() {
			assert.Lacks(t, r.Body, s, "%s %s got a secret of another authorization server", r.Method, r.Path)
			assert.Lacks(t, r.Header.Get("Authorization"), s, "%s %s got a secret of another authorization server", r.Method, r.Path)
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
	assert.Equal(t, [...]any{l.UserCode == "", l.URL == ""}, [...]any{false, false})
}

func TestCachedSessionsAreBounded(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(&Options{MaxCached: 3})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.mustLogIn(m, Key{User: name, Server: "s"})
	}
	assert.Equal(t, len(m.cached()) <= 3, true)
	w.mustCall(m, Key{User: "a", Server: "s"})
	keys := 0
	for _, err := range m.Keys(w.ctx) {
		assert.OK(t, err)
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
	required := w.mustNeedLogin(m, alice)
	assert.Equal(t, required.URL != "", true, "required")
	assert.Contains(t, required.Reason, "cannot be read")
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
	assert.Fails(t, errOf(w.as.Approve(w.ctx, assert.Value(m.Login(w.ctx, alice))(t).URL)), "a client that was forgotten can log in")
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
