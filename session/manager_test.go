package session

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestLoginByURL(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	required := w.mustNeedLogin(m, alice)
	if required.URL == "" || required.User != "alice" {
		t.Fatalf("login required: %+v", required)
	}
	status, err := m.Status(w.ctx, alice)
	if err != nil || status.Phase != LoginPending || status.LoginURL != required.URL {
		t.Errorf("status %+v, error %v", status, err)
	}
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	assert.Value(m.Complete(w.ctx, callback, nil))(t)
	select {
	case <-required.Done:
	default:
		t.Error("who waits for the login is not told of it")
	}
	w.mustCall(m, alice)
	if status, err := m.Status(w.ctx, alice); err != nil || status.Phase != LoggedIn || !status.Renewable || status.LoginURL != "" {
		t.Errorf("status %+v, error %v", status, err)
	}
	var stale *auth.StateError
	if _, err := m.Complete(w.ctx, callback, nil); !errors.As(err, &stale) {
		t.Errorf("the same callback again: %v", err)
	}
}

func TestManyRefusalsOneLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	urls := map[string]bool{}
	for _, err := range w.together(m, alice, 8) {
		var required *auth.LoginRequiredError
		if !errors.As(err, &required) {
			t.Fatal(err)
		}
		urls[required.URL] = true
	}
	if len(urls) != 1 || w.as.Count(authtest.RegistrationEndpoint) != 1 {
		t.Errorf("%d logins and %d registrations", len(urls), w.as.Count(authtest.RegistrationEndpoint))
	}
}

func TestManyRefusalsOneRefresh(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	for round := range 5 {
		w.as.ExpireAll()
		for _, err := range w.together(m, alice, 50) {
			assert.OK(t, err)
		}
		if n := w.as.Granted("refresh_token"); n != round+1 {
			t.Fatalf("round %d: %d refreshes", round, n)
		}
	}
	if w.as.Revoked() != 0 {
		t.Error("the authorization server saw a refresh token twice")
	}
}

func TestRestartNeedsNoLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	assert.OK(t, m.Close())
	w.as.ExpireAll()
	m = w.manager(nil)
	w.mustCall(m, alice)
	if w.as.Count(authtest.RegistrationEndpoint) != 1 || w.as.Granted("refresh_token") != 1 {
		t.Errorf("%d registrations, %d refreshes", w.as.Count(authtest.RegistrationEndpoint), w.as.Granted("refresh_token"))
	}
}

func TestUsersAreKeptApart(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	bob := Key{User: "bob", Server: "s"}
	w.mustNeedLogin(m, bob)
	ctx := WithUser(w.ctx, "bob")
	var wrong *UserError
	if _, err := w.call(ctx, m, alice); !errors.As(err, &wrong) {
		t.Errorf("bob's request with the session of alice: %v", err)
	}
	if _, err := w.call(WithUser(w.ctx, "alice"), m, alice); err != nil {
		t.Error(err)
	}
}

func TestTokenStaysAtItsOrigin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	header := http.Header{}
	err := m.Handler(alice).Authenticate(w.ctx, header, http.MethodPost, "http://127.0.0.1:1/mcp", nil)
	var refused *auth.URLError
	if !errors.As(err, &refused) || len(header) != 0 {
		t.Errorf("header %v, error %v", header, err)
	}
}

// Limits mean the same everywhere: zero is the default, and below zero there is none.
func TestMaxCached(t *testing.T) {
	for _, test := range []struct{ limit, sessions, want int }{
		{2, 5, 2},
		{0, defaultMaxCached + 5, defaultMaxCached},
		{-1, defaultMaxCached + 5, defaultMaxCached + 5},
	} {
		w := newWorld(t, nil, nil)
		m := w.manager(&Options{MaxCached: test.limit})
		for i := range test.sessions {
			m.entry(Key{User: strconv.Itoa(i), Server: "s"})
		}
		assert.Equal(t, m.recent.Len(), test.want, "MaxCached %d, %d sessions: in memory", test.limit, test.sessions)
	}
}

func TestStatusAsJSON(t *testing.T) {
	status := Status{
		Key: alice, Phase: LoginPending, LoginURL: "https://login.example", LoginExpires: time.Unix(1, 0).UTC(), Err: errors.New("s3cret"),
	}
	got := assert.Value(json.Marshal(status))(t)
	want := `{"key":{"user":"alice","server":"s"},"phase":"login_pending","renewable":false,` +
		`"loginUrl":"https://login.example","loginExpires":"1970-01-01T00:00:01Z"}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
