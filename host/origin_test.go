package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// A countingServer is a server over HTTP of revision 2025-11-25 that counts what comes.
type countingServer struct {
	*httptest.Server

	mu          sync.Mutex
	requests    map[string]int // by method of JSON-RPC, or of HTTP
	connections int
	sessions    int
	fail        func(w http.ResponseWriter, method string) bool // reports whether it has answered; may be nil
}

func newCountingServer(t *testing.T) *countingServer {
	t.Helper()
	s := &countingServer{requests: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.connections++
			s.mu.Unlock()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if body, err := io.ReadAll(r.Body); err != nil || len(body) > 0 && json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	method := m.Method
	if r.Method != http.MethodPost {
		method = r.Method
	}
	s.mu.Lock()
	s.requests[method]++
	s.sessions++
	id, fail := strconv.Itoa(s.sessions), s.fail
	s.mu.Unlock()
	if fail != nil && fail(w, method) {
		return
	}
	result := ""
	switch method {
	case http.MethodDelete:
		return
	case http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case "initialize":
		w.Header().Set("Mcp-Session-Id", id)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"whoami","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, r.Header.Get("X-User"))
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case result == "":
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	default:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

// seen returns how many requests of a method, and how many connections, have come.
func (s *countingServer) seen(method string) (requests, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[method], s.connections
}

// newCountedHost returns a host whose users call a server with one place for them.
func newCountedHost(t *testing.T, s *countingServer) *host.Host {
	t.Helper()
	opts := &host.Options{StateDir: host.NoState, MaxUserClients: 1, UserHeaders: func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
		return http.Header{"X-User": {key.User}}, nil
	}}
	return acceptNew(t, opts, acceptFor(config.IdentityHeader, acceptParse(t, "s", fmt.Sprintf(`{"url": %q}`, s.URL))))
}

func callWhoami(t *testing.T, h *host.Host, user string) {
	t.Helper()
	got := assert.Value(acceptAnswer(h.Registry().Call(session.WithUser(watchdog(t), user), "s__whoami", nil)))(t)
	assert.Equal(t, got, user)
}

// TestUsersShareWhatTheServerRefused: more users than places make each call a new
// session, which must cost neither a new connection nor the questions that were answered
// before.
func TestUsersShareWhatTheServerRefused(t *testing.T) {
	s := newCountingServer(t)
	h := newCountedHost(t, s)
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: "s"}))
	for i := range 20 {
		callWhoami(t, h, fmt.Sprintf("user%d", i))
	}
	for method, want := range map[string]int{"initialize": 21, "tools/call": 20, "server/discover": 1, http.MethodGet: 1} {
		if got, _ := s.seen(method); got != want {
			t.Errorf("got %d requests %s for 21 sessions, want %d", got, method, want)
		}
	}
	const most = 4 // a session may begin before the one before has ended
	if _, got := s.seen(""); got > most {
		t.Errorf("got %d connections for 21 sessions, want at most %d", got, most)
	}
}
