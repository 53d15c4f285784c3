// Tests of pool.go: sessions of users whose clients were closed for others.

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// A sessionServer is a server of many users over HTTP that counts sessions and requests.
type sessionServer struct {
	*httptest.Server

	connections atomic.Int64

	mu     sync.Mutex // guards the following
	begun  int
	living map[string]string // user by session
	calls  map[string]int    // by session
	counts map[string]int    // requests by method, of JSON-RPC or HTTP
	ended  chan struct{}     // closed and replaced when a session is ended
}

func newSessionServer(t *testing.T) *sessionServer {
	s := &sessionServer{living: map[string]string{}, calls: map[string]int{}, counts: map[string]int{}, ended: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *sessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, id := r.Header.Get("Authorization"), r.Header.Get("Mcp-Session-Id")
	if id != "" && s.living[id] != user {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		s.counts[r.Method]++
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		delete(s.living, id)
		close(s.ended)
		s.ended = make(chan struct{})
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.counts[m.Method]++
	result := ""
	switch m.Method {
	case "initialize":
		s.begun++
		id = fmt.Sprint("session", s.begun)
		s.living[id] = user
		w.Header().Set("Mcp-Session-Id", id)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.calls[id]++
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"%s %d"}]}`, user, s.calls[id])
	case "server/discover":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		return
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *sessionServer) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

// awaitSessions waits until so many sessions are alive.
func (s *sessionServer) awaitSessions(t *testing.T, want int) {
	t.Helper()
	ctx := watchdog(t)
	for {
		s.mu.Lock()
		living, ended := len(s.living), s.ended
		s.mu.Unlock()
		if living == want {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			t.Fatalf("got %d sessions at the server, want %d", living, want)
		}
	}
}

// newSessionHost returns a host with places for so many users' clients at the server, whose
// tools the user called first has discovered.
func newSessionHost(t *testing.T, s *sessionServer, places int, change func(*host.Options)) *host.Host {
	t.Helper()
	opts := &host.Options{StateDir: host.NoState, MaxUserClients: places, UserHeaders: bearerOf}
	if change != nil {
		change(opts)
	}
	h := newHost(t, opts, withIdentity(config.IdentityHeader, parseEntries(t, "s", fmt.Sprintf(`{"url": %q, "type": "http"}`, s.URL))))
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: "s"}))
	return h
}

// countAs calls the tool as a user, and checks how many calls the session of the user has had.
func countAs(t *testing.T, h *host.Host, user string, want int) {
	t.Helper()
	got, err := textOf(h.Registry().Call(session.WithUser(watchdog(t), user), "s__count", nil))
	assert.Equal(t, got, fmt.Sprintf("Bearer %s %d", user, want))
	assert.OK(t, err)
}

// A user who comes back after their client was closed for another user goes on with their
// session: it costs two requests. When the host is closed no session is left.
func TestExpelledUserGoesOn(t *testing.T) {
	s := newSessionServer(t)
	const places, users, rounds = 2, 8, 4
	h := newSessionHost(t, s, places, nil)
	for round := range rounds {
		for _, user := range userNames(users) {
			countAs(t, h, user, round+1)
		}
	}
	assert.Equal(t, s.count("initialize"), (users + 1))
	assert.Equal(t, s.count("tools/list"), users*rounds+1)
	assert.Equal(t, s.count(http.MethodDelete), 0, "sessions ended")
	assert.OK(t, h.Close())
	s.awaitSessions(t, 0)
}

// Of more users than sessions are kept, those that came last have theirs.
func TestKeptSessionsAreBounded(t *testing.T) {
	s := newSessionServer(t)
	h := newSessionHost(t, s, 1, nil)
	users := userNames(20)
	for _, user := range users {
		countAs(t, h, user, 1)
	}
	const kept = 16 // and one is in use
	s.awaitSessions(t, kept+1)
	countAs(t, h, users[10], 2)
	countAs(t, h, users[0], 1)
}

// A server that has forgotten the session of a user who comes back costs them nothing but
// another handshake.
func TestForgottenSessionIsMadeAnew(t *testing.T) {
	s := newSessionServer(t)
	h := newSessionHost(t, s, 1, nil)
	countAs(t, h, "anna", 1)
	countAs(t, h, "bert", 1)
	s.mu.Lock()
	clear(s.living)
	s.mu.Unlock()
	countAs(t, h, "anna", 1)
	countAs(t, h, "anna", 2)
}

// A session is ended if its user stays away, and with the clients of users when the server
// is restarted.
func TestKeptSessionsAreEnded(t *testing.T) {
	for name, c := range map[string]struct {
		idle time.Duration
		end  func(*testing.T, *host.Host)
	}{
		"idle": {time.Millisecond, func(*testing.T, *host.Host) {}},
		"restart": {time.Hour, func(t *testing.T, h *host.Host) {
			assert.OK(t, h.Restart(watchdog(t), "s"))
		}},
		"disable": {time.Hour, func(t *testing.T, h *host.Host) {
			assert.OK(t, h.Disable(watchdog(t), "s"))
		}},
		"remove": {time.Hour, func(t *testing.T, h *host.Host) {
			assert.Value(h.Apply(watchdog(t), &config.Config{}))(t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessionServer(t)
			h := newSessionHost(t, s, 1, func(o *host.Options) { o.IdleTimeout = c.idle })
			for _, user := range userNames(5) {
				assert.OK(t, errOf(textOf(h.Registry().Call(session.WithUser(watchdog(t), user), "s__count", nil))))
			}
			c.end(t, h)
			s.awaitSessions(t, 0)
		})
	}
}

// A user whose fields are others now has a session of their own, and the one before is ended.
func TestSessionOfAnotherLoginIsNotUsed(t *testing.T) {
	s := newSessionServer(t)
	var mu sync.Mutex
	logins := map[string]string{}
	h := newSessionHost(t, s, 1, func(o *host.Options) {
		o.UserHeaders = func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
			mu.Lock()
			defer mu.Unlock()
			return http.Header{"Authorization": {"Bearer " + key.User + logins[key.User]}}, nil
		}
	})
	countAs(t, h, "anna", 1)
	countAs(t, h, "bert", 1)
	mu.Lock()
	logins["anna"] = "-anew"
	mu.Unlock()
	got, err := textOf(h.Registry().Call(session.WithUser(watchdog(t), "anna"), "s__count", nil))
	assert.Equal(t, got, "Bearer anna-anew 1")
	assert.OK(t, err)
	s.awaitSessions(t, 3) // of the first user, and one each
}

// More users than places make each call a new session, which must cost neither a new
// connection nor the questions that were answered before.
func TestUsersShareWhatTheServerRefused(t *testing.T) {
	s := newSessionServer(t)
	h := newSessionHost(t, s, 1, nil)
	for _, user := range userNames(20) {
		countAs(t, h, user, 1)
	}
	for method, want := range map[string]int{"initialize": 21, "tools/call": 20, "server/discover": 1, http.MethodGet: 1} {
		assert.Equal(t, s.count(method), want, "%s", method)
	}
	const most = 4 // a session may begin before the one before has ended
	assert.Equal(t, s.connections.Load() <= most, true, "at most %d connections for 21 sessions: %d", most, s.connections.Load())
}
