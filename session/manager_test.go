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
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, [...]any{status.Phase, status.LoginURL}, [...]any{LoginPending, required.URL}, "status")
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
	assert.As[*auth.StateError](t, errOf(m.Complete(w.ctx, callback, nil)))
}

func TestManyRefusalsOneLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	urls := map[string]bool{}
	for _, err := range w.together(m, alice, 8) {
		required := assert.As[*auth.LoginRequiredError](t, err)
		urls[required.URL] = true
	}
	assert.Equal(t, [...]any{len(urls), w.as.Count(authtest.RegistrationEndpoint)}, [...]any{1, 1})
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
		assert.Equal(t, w.as.Granted("refresh_token"), round+1, "round %d", round)
	}
	assert.Equal(t, w.as.Revoked(), 0, "the authorization server saw a refresh token twice")
}

func TestRestartNeedsNoLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	assert.OK(t, m.Close())
	w.as.ExpireAll()
	m = w.manager(nil)
	w.mustCall(m, alice)
	assert.Equal(t, [...]any{w.as.Count(authtest.RegistrationEndpoint), w.as.Granted("refresh_token")}, [...]any{1, 1})
}

func TestUsersAreKeptApart(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	bob := Key{User: "bob", Server: "s"}
	w.mustNeedLogin(m, bob)
	assert.As[*UserError](t, errOf(w.call(WithUser(w.ctx, "bob"), m, alice)))
	assert.Value(w.call(WithUser(w.ctx, "alice"), m, alice))(t)
}

func TestTokenStaysAtItsOrigin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	header := http.Header{}
	err := m.Handler(alice).Authenticate(w.ctx, header, http.MethodPost, "http://127.0.0.1:1/mcp", nil)
	assert.As[*auth.URLError](t, err)
	assert.Equal(t, len(header), 0, "header")
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
	assert.Equal(t, string(got), want, "string")
}
