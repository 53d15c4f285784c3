package session

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// grantOf returns the grant that is stored.
func (w *world) grantOf(m *Manager, key Key) *auth.TokenSet {
	w.t.Helper()
	r, _, err := m.load(w.ctx, key, recordName(key))
	assert.OK(w.t, err)
	return r.Grant
}

func TestRefreshOutlivesItsCaller(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	old := w.grantOf(m, alice)
	w.as.ExpireAll()
	release := make(chan struct{})
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: release})
	ctx, giveUp := context.WithCancel(w.ctx)
	before := w.as.Count(authtest.TokenEndpoint)
	gone := make(chan error, 1)
	go func() { _, err := w.call(ctx, m, alice); gone <- err }()
	assert.OK(t, w.as.Await(w.ctx, authtest.TokenEndpoint, before+1))
	giveUp()
	assert.Is(t, <-gone, context.Canceled)
	close(release)
	w.mustCall(m, alice)
	assert.Equal(t, [...]any{w.as.Granted("refresh_token"), w.as.Revoked()}, [...]any{1, 0})
	assert.Equal(t, w.grantOf(m, alice).Token.Access != old.Token.Access, true, "the answer was lost with its caller")
}

func TestRefreshOutlivesClose(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	release := make(chan struct{})
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: release})
	before := w.as.Count(authtest.TokenEndpoint)
	called := make(chan struct{})
	go func() { defer close(called); _, _ = w.call(w.ctx, m, alice) }()
	assert.OK(t, w.as.Await(w.ctx, authtest.TokenEndpoint, before+1))
	closed := make(chan struct{})
	go func() { defer close(closed); _ = m.Close() }()
	<-m.closing.Done()
	close(release)
	<-closed
	<-called
	w.mustCall(w.manager(nil), alice)
	assert.Equal(t, w.as.Granted("refresh_token"), 1, "refreshes")
}

// A token endpoint that hangs does not hold up the end, and the store says that the
// answer is missing.
func TestShutdownCutsOffAHungRefresh(t *testing.T) {
	for _, ends := range []struct {
		name string
		end  func(*Manager) error
		want error
	}{
		{"Shutdown", func(m *Manager) error {
			ctx, stop := context.WithCancel(context.Background())
			stop()
			return m.Shutdown(ctx)
		}, context.Canceled},
		{"Close", (*Manager).Close, nil},
	} {
		t.Run(ends.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &authtest.Options{Refresh: authtest.RefreshKept}, nil)
			m := w.manager(nil)
			w.mustLogIn(m, alice)
			w.as.ExpireAll()
			release := make(chan struct{})
			defer close(release)
			w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Wait: release})
			before := w.as.Count(authtest.TokenEndpoint)
			called := make(chan struct{})
			go func() { defer close(called); _, _ = w.call(w.ctx, m, alice) }()
			assert.OK(t, w.as.Await(w.ctx, authtest.TokenEndpoint, before+1))
			ended := make(chan error, 1)
			go func() { ended <- ends.end(m) }()
			select {
			case err := <-ended:
				assert.Is(t, err, ends.want)
			case <-time.After(20 * time.Second): // a request alone has 30
				t.Fatal("got no end while the token endpoint hangs")
			}
			<-called
			r, _, err := w.manager(nil).load(w.ctx, alice, recordName(alice))
			assert.OK(t, err)
			assert.Equal(t, [...]any{r.Journal == nil, r.Journal.Lost}, [...]any{false, true}, "got the journal")
			assert.Equal(t, [...]any{r.Grant == nil, r.Ended}, [...]any{false, ""}, "got a session that has ended")
			w.mustCall(w.manager(nil), alice)
		})
	}
}

func TestOldRefreshTokenIsKept(t *testing.T) {
	w := newWorld(t, &authtest.Options{Refresh: authtest.RefreshKept}, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	for range 3 {
		w.as.ExpireAll()
		w.mustCall(m, alice)
	}
	assert.Equal(t, w.as.Granted("refresh_token"), 3, "refreshes")
}

func TestSecondManagerTakesWhatTheFirstGot(t *testing.T) {
	w := newWorld(t, nil, nil)
	one, two := w.manager(nil), w.manager(nil)
	w.mustLogIn(one, alice)
	w.mustCall(two, alice)
	for round := range 3 {
		w.as.ExpireAll()
		w.mustCall(one, alice)
		w.mustCall(two, alice)
		assert.Equal(t, w.as.Granted("refresh_token"), round+1, "round %d", round)
	}
}

func TestFailedRefreshKeepsTheSession(t *testing.T) {
	faults := map[string]authtest.Fault{
		"503":                   {Status: 503},
		"500 with a page":       {Status: 500, Body: "<html>"},
		"400 without a code":    {Status: 400, Body: "{}"},
		"temporarily":           {Status: 400, Code: "temporarily_unavailable"},
		"429 with a wait":       {Status: 429, RetryAfter: time.Second},
		"cut before the answer": {Cut: true},
		"no token":              {Status: 200, Body: `{"token_type":"Bearer"}`},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			m := w.manager(nil)
			w.mustLogIn(m, alice)
			w.as.ExpireAll()
			w.as.Fail(authtest.TokenEndpoint, 1, fault)
			failed := assert.As[*RefreshError](t, errOf(w.call(w.ctx, m, alice)))
			if fault.RetryAfter > 0 && time.Until(failed.RetryAt) < fault.RetryAfter/2 {
				t.Errorf("the next attempt is at %v", failed.RetryAt)
			}
			before := w.as.Count(authtest.TokenEndpoint)
			assert.As[*RefreshError](t, errOf(w.call(w.ctx, m, alice)))
			assert.Equal(t, w.as.Count(authtest.TokenEndpoint), before, "the authorization server was not left alone")
			status := assert.Value(m.Status(w.ctx, alice))(t)
			assert.Equal(t, status.Phase, LoggedIn, "status")
			for {
				_, err := w.call(w.ctx, m, alice)
				if err == nil {
					break
				}
				failed := assert.As[*RefreshError](t, err)
				waitUntil(w.ctx, failed.RetryAt)
			}
			assert.Equal(t, w.as.Revoked(), 0, "a refresh token was used twice")
		})
	}
}

func waitUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]time.Duration{"without grace": 0, "with grace": time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &authtest.Options{Grace: grace}, nil)
			m := w.manager(nil)
			w.mustLogIn(m, alice)
			w.as.ExpireAll()
			w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Cut: true})
			failed := assert.As[*RefreshError](t, errOf(w.call(w.ctx, m, alice)))
			waitUntil(w.ctx, failed.RetryAt)
			if grace > 0 {
				w.mustCall(m, alice)
				return
			}
			assert.Equal(t, w.mustNeedLogin(m, alice).Reason, "the answer to an earlier renewal was lost", "reason")
			w.mustLogIn(m, alice)
			w.mustCall(m, alice)
		})
	}
}

func TestEndOfTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.EndAll()
	required := w.mustNeedLogin(m, alice)
	assert.Equal(t, [...]any{required.Reason == "", required.URL == ""}, [...]any{false, false}, "required")
	assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), 1, "registrations")
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
}

func TestForgottenClientRegistersAgain(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.Purge()
	w.as.ExpireAll()
	w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), 2, "registrations")
}

func TestServerThatRefusesNewTokens(t *testing.T) {
	refuse := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/mcp" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	w := newWorld(t, nil, &authtest.ResourceOptions{Tamper: refuse})
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	for range 3 {
		if _, err := w.call(w.ctx, m, alice); err != nil {
			assert.As[*auth.LoginRequiredError](t, err)
			break
		}
	}
	w.mustNeedLogin(m, alice)
	assert.Equal(t, w.as.Granted("refresh_token") <= maxRefusals, true)
}

func TestTokenIsRenewedAheadOfItsEnd(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	assert.OK(t, m.Close())
	aged := w.grantOf(m, alice)
	aged.Token.Obtained = time.Now().Add(-50 * time.Minute)
	aged.Token.Expires = time.Now().Add(10 * time.Minute)
	assert.Value(newEntry(m, alice).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) { r.Grant = aged })
	}))(t)
	m = w.manager(nil)
	w.mustCall(m, alice) // with the old token, which is still good
	for range m.Watch(w.ctx, alice) {
		if w.grantOf(m, alice).Token.Access != aged.Token.Access {
			break
		}
	}
	assert.Equal(t, w.as.Granted("refresh_token"), 1, "refreshes")
}

func TestTokenIsRenewedByTheClock(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	_ = m.Close()
	old := w.grantOf(m, alice)
	old.Token.Obtained = time.Now().Add(-18 * time.Second) // too short a life for the keeper
	old.Token.Expires = time.Now().Add(-time.Second)
	assert.Value(newEntry(m, alice).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) { r.Grant = old })
	}))(t)
	m = w.manager(nil)
	for _, err := range w.together(m, alice, 20) {
		assert.OK(t, err)
	}
	assert.Equal(t, w.as.Granted("refresh_token"), 1, "refreshes")
	for _, r := range w.rs.Requests() {
		if r.Status == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
			t.Error("a token was sent that had ended by the clock")
		}
	}
}

// A token of a very short life is used until the server refuses it.
func TestShortLife(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	_ = m.Close()
	assert.Value(newEntry(m, alice).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) {
			short := *r.Grant
			short.Token.Obtained = time.Now().Add(-time.Second)
			short.Token.Expires = time.Now().Add(-time.Millisecond)
			r.Grant = &short
		})
	}))(t)
	m = w.manager(nil)
	for range 3 {
		w.mustCall(m, alice)
	}
	assert.Equal(t, w.as.Granted("refresh_token"), 0, "refreshes")
}

// Whatever the authorization server says of their life, tokens are not renewed
// for each request.
func TestNoStampede(t *testing.T) {
	for _, life := range []any{1, 0, "1", -5, nil} {
		w := newWorld(t, &authtest.Options{Answer: func(_ *http.Request, a map[string]any) {
			delete(a, "expires_in")
			if life != nil {
				a["expires_in"] = life
			}
		}}, nil)
		m := w.manager(nil)
		w.mustLogIn(m, alice)
		w.as.ExpireAll()
		for range 3 {
			for _, err := range w.together(m, alice, 50) {
				assert.OK(t, err)
			}
		}
		assert.Equal(t, w.as.Granted("refresh_token"), 1, "expires_in %v: refreshes", life)
	}
}

func TestTokenEndpointMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	_ = m.Close()
	assert.Value(newEntry(m, alice).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) {
			old := *r.Grant
			old.Authority.TokenEndpoint = w.as.Issuer + "/gone"
			r.Grant = &old
		})
	}))(t)
	m = w.manager(nil)
	w.as.ExpireAll()
	for {
		_, err := w.call(w.ctx, m, alice)
		if err == nil {
			break
		}
		failed := assert.As[*RefreshError](t, err)
		waitUntil(w.ctx, failed.RetryAt)
	}
	assert.Equal(t, w.as.Granted("refresh_token"), 1, "refreshes")
}

// noLocks hides that a driver can lock.
type noLocks struct{ storage.Store }

func TestStoreWithoutLocks(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.keepIn(noLocks{storage.NewMemory()})
	managers := []*Manager{w.manager(nil), w.manager(nil), w.manager(nil)}
	w.mustLogIn(managers[0], alice)
	for round := range 5 {
		w.as.ExpireAll()
		errs := make(chan error)
		for _, m := range managers {
			go func() { errs <- errors.Join(w.together(m, alice, 8)...) }()
		}
		for range managers {
			assert.OK(t, <-errs)
		}
		assert.Equal(t, [...]any{w.as.Granted("refresh_token"), w.as.Revoked()}, [...]any{round + 1, 0}, "round %d", round)
	}
}

// The answer to a renewal does not take the place of a login that was completed
// meanwhile, though nothing has locked the session.
func TestLoginDuringARenewal(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.keepIn(noLocks{storage.NewMemory()})
	here, there := w.manager(nil), w.manager(nil)
	w.mustLogIn(here, alice)
	w.mustCall(here, alice)
	login := assert.Value(there.Login(w.ctx, alice))(t)
	w.as.ExpireAll()
	release := make(chan struct{})
	before := w.as.Count(authtest.TokenEndpoint)
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: release})
	called := make(chan error, 1)
	go func() { _, err := w.call(w.ctx, here, alice); called <- err }()
	assert.OK(t, w.as.Await(w.ctx, authtest.TokenEndpoint, before+1))
	w.approve(there, login.URL)
	new := w.grantOf(there, alice)
	close(release)
	assert.OK(t, <-called)
	assert.Equal(t, w.grantOf(here, alice).Token.Refresh, new.Token.Refresh, "an older login has taken the place of a newer one")
	w.mustCall(here, alice)
}

func TestNoSecretInLogs(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, nil, nil)
	m := w.manager(&Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 500})
	_, _ = w.call(w.ctx, m, alice)
	_ = m.Logout(w.ctx, alice)
	_ = m.Close()
	for _, s := range w.as.Secrets() {
		assert.Equal(t, bytes.Contains(log.Bytes(), []byte(s)), false, "the log shows %q", s)
	}
	assert.Equal(t, log.Len() != 0, true, "nothing was logged")
}
