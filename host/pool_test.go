package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A holdingServer is a server of many users in this process, whose tool waits for leave.
type holdingServer struct {
	entered      chan string
	leave        chan struct{}
	living, most atomic.Int64
}

func (holding *holdingServer) transport(key session.Key, _ *config.Server) (mcp.Transport, error) {
	return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
		if n := holding.living.Add(1); n > holding.most.Load() {
			holding.most.Store(n)
		}
		defer holding.living.Add(-1)
		s := sdk.NewServer(&sdk.Implementation{Name: "s"}, schemas)
		addTool(s, "wait", func(ctx context.Context) (string, error) {
			holding.entered <- key.User
			select {
			case <-holding.leave:
				return key.User, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		addTool(s, "now", func(context.Context) (string, error) { return key.User, nil })
		return s.Run(ctx, tr)
	}}, nil
}

func newHoldingHost(t *testing.T, places int, more func(*host.Options)) (*holdingServer, *host.Host) {
	t.Helper()
	holding := &holdingServer{entered: make(chan string, 100), leave: make(chan struct{})}
	opts := &host.Options{Transport: holding.transport, StateDir: host.NoState, MaxUserClients: places}
	if more != nil {
		more(opts)
	}
	h := newHost(t, opts, withIdentity(config.IdentityUser, parseEntries(t, "s", `{"command": "x"}`)))
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: "s"}))
	return holding, h
}

// When all places are taken by calls under way, the next user waits, no longer than their
// context, and goes as soon as there is a place.
func TestPoolOfBusyUsers(t *testing.T) {
	const places = 4
	holding, h := newHoldingHost(t, places, nil)
	answers := make(chan string, places)
	for _, user := range userNames(places) {
		go func() { answers <- answerOf(callAs(watchdog(t), h, user, "s__wait")) }()
		<-holding.entered
	}
	// Who has a place can use it for more.
	assert.Equal(t, assert.Value(callAs(watchdog(t), h, "user0000", "s__now"))(t), "user0000", "a user with a place")
	short, cancel := context.WithCancel(watchdog(t))
	late := background(func() error { return assert.Err(callAs(short, h, "late", "s__now")) })
	cancel()
	err := <-late
	assert.Is(t, err, context.Canceled, "a user without a place")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "a user without a place")
	waiting := make(chan string, 10)
	for _, user := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
		go func() { waiting <- answerOf(callAs(watchdog(t), h, user, "s__now")) }()
	}
	holding.leave <- struct{}{} // one place is free now, for one after the other
	var got []string
	for range 6 {
		got = append(got, <-waiting)
	}
	slices.Sort(got)
	assert.Equal(t, fmt.Sprint(got), "[w1 w2 w3 w4 w5 w6]", "the users who waited")
	close(holding.leave)
	for range places {
		assert.True(t, strings.HasPrefix(<-answers, "user"), "a user with a place")
	}
	assert.True(t, holding.most.Load() <= places, "at most %d connections: %d", places, holding.most.Load())
}

// Users who wait for a place learn that the host ends.
func TestShutdownWhileUsersWait(t *testing.T) {
	holding, h := newHoldingHost(t, 1, nil)
	busy := background(func() error { return assert.Err(callAs(watchdog(t), h, "busy", "s__wait")) })
	<-holding.entered
	waiting := make(chan error, 5)
	for i := range 5 {
		go func() { waiting <- assert.Err(callAs(watchdog(t), h, fmt.Sprint("w", i), "s__now")) }()
	}
	down := background(func() error { return h.Shutdown(watchdog(t)) })
	for range 5 {
		// Some may not have come so far, and find no tool any more.
		var unknown *registry.UnknownToolError
		if err := <-waiting; !errors.Is(err, host.ErrClosed) && !errors.As(err, &unknown) {
			t.Errorf("a user who waited: %v", err)
		}
	}
	select {
	case err := <-down:
		t.Fatalf("Shutdown did not wait for the call under way: %v", err)
	default:
	}
	close(holding.leave)
	assert.OK(t, <-busy, "the call under way")
	assert.OK(t, <-down, "Shutdown")
	assert.Equal(t, holding.living.Load(), 0, "servers live")
}

// The client of a user who does nothing is ended, and made again when they come back.
func TestIdleUsersAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holding, h := newHoldingHost(t, 64, func(o *host.Options) { o.Times(time.Minute, 0) })
		for _, user := range userNames(20) {
			assert.Equal(t, assert.Value(callAs(t.Context(), h, user, "s__now"))(t), user)
		}
		assert.Equal(t, holding.living.Load(), 21, "connections for 21 users")
		time.Sleep(59 * time.Second)
		text := assert.Value(callAs(t.Context(), h, "user0003", "s__now"))(t)
		assert.Equal(t, text, "user0003")
		hosttest.Sleep(30 * time.Second)
		assert.Equal(t, holding.living.Load(), 1, "connections; one user was not idle")
		hosttest.Sleep(time.Hour)
		assert.Equal(t, holding.living.Load(), 0, "connections an hour later")
		assert.Equal(t, names(h), "s__now s__wait", "tools")
		text = assert.Value(callAs(t.Context(), h, "user0003", "s__now"))(t)
		assert.Equal(t, text, "user0003")
		_ = h.Close()
	})
}

// An answer that the server lets everybody keep, and one that it lets its user keep, is
// for the connection that asked: two users never share one, even if the program lets
// all clients share a cache.
func TestCachedAnswersAreOfTheirUser(t *testing.T) {
	for _, scope := range []string{"private", "public"} {
		pipes := func(key session.Key, _ *config.Server) (mcp.Transport, error) {
			return mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"tools":{},"resources":{}}`), mcptest.Script{
				"tools/list": mcptest.Result(fmt.Sprintf(
					`{"resultType":"complete","tools":[{"name":"t","description":"of %s","inputSchema":{"type":"object"}}],"ttlMs":600000,"cacheScope":%q}`, key.User, scope)),
				"tools/call": mcptest.Result(fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, key.User)),
				"resources/read": mcptest.Result(fmt.Sprintf(
					`{"resultType":"complete","contents":[{"uri":"a:mine","text":%q}],"ttlMs":600000,"cacheScope":%q}`, key.User, scope)),
			}), nil
		}
		opts := &host.Options{Transport: pipes, StateDir: host.NoState}
		h := newHost(t, opts, withIdentity(config.IdentityUser, parseEntries(t, "s", `{"command": "x"}`)))
		assert.OK(t, h.Discover(watchdog(t), session.Key{User: "ann", Server: "s"}))
		for _, user := range []string{"ann", "bob", "ann"} {
			c := assert.Value(h.Client(watchdog(t), session.Key{User: user, Server: "s"}))(t)
			assert.Equal(t, assert.Value(c.ReadResource(watchdog(t), "a:mine", nil))(t).Contents[0].Text, user, "%s", scope)
			assert.Equal(t, (assert.Err(callAs(watchdog(t), h, user, "s__t")) == nil), user == "ann", "%s", scope)
		}
	}
}

// The key says whose client it is; without a user it is that of the context.
func TestClientOfTheContextsUser(t *testing.T) {
	_, h := newHoldingHost(t, 8, nil)
	ann := session.WithUser(watchdog(t), "ann")
	a := assert.Value(h.Client(ann, session.Key{Server: "s"}))(t)
	assert.Equal(t, assert.Value(h.Client(watchdog(t), session.Key{User: "ann", Server: "s"}))(t), a, "the client by the key is another one")
	b, err := h.Client(ann, session.Key{User: "bob", Server: "s"})
	assert.OK(t, err, "the client of the key's user is that of the context's")
	assert.False(t, b == a, "the client of the key's user is that of the context's")

	assert.As[*host.UnknownServerError](t, assert.Err(h.Client(ann, session.Key{User: "ann", Server: "none"})), "no such server")
}

// However many users wait for the answer of one server, a user can call another one.
func TestHungServerLeavesPlaces(t *testing.T) {
	t.Parallel()
	const places = 8
	hung := &holdingServer{entered: make(chan string, 100), leave: make(chan struct{})}
	fine := &holdingServer{}
	opts := &host.Options{StateDir: host.NoState, MaxUserClients: places, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		if e.Name == "hung" {
			return hung.transport(key, e)
		}
		return fine.transport(key, e)
	}}
	h := newHost(t, opts, withIdentity(config.IdentityUser, parseEntries(t, "hung", `{"command": "x"}`, "fine", `{"command": "x"}`)))
	for _, name := range []string{"hung", "fine"} {
		assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: name}))
	}
	const users = 2 * places
	answers := make(chan string, users)
	for i := range users {
		go func() { answers <- answerOf(callAs(watchdog(t), h, fmt.Sprint("u", i), "hung__wait")) }()
	}
	for range places {
		<-hung.entered
	}
	for i := range places {
		user := fmt.Sprint("v", i)
		assert.Equal(t, assert.Value(callAs(watchdog(t), h, user, "fine__now"))(t), user)
	}
	close(hung.leave)
	for range users {
		assert.True(t, strings.HasPrefix(<-answers, "u"), "an answer of the hung server")
	}
	assert.True(t, hung.most.Load() <= places, "%d clients at one server", hung.most.Load())
}

// A sessionServer is a server of many users over HTTP that counts sessions and requests.
type sessionServer struct {
	*httptest.Server

	connections atomic.Int64

	mu     sync.Mutex // guards the following
	begun  int
	living map[string]string // user by session
	calls  map[string]int    // by session
	counts map[string]int    // requests by method, of JSON-RPC or HTTP
}

func newSessionServer(t *testing.T) *sessionServer {
	s := &sessionServer{living: map[string]string{}, calls: map[string]int{}, counts: map[string]int{}}
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

// newSessionHost returns a host with places for so many users' clients at the server, whose
// tools the user called first has discovered.
func newSessionHost(t *testing.T, s *sessionServer, places int) *host.Host {
	t.Helper()
	opts := &host.Options{StateDir: host.NoState, MaxUserClients: places, UserHeaders: bearerOf}
	h := newHost(t, opts, withIdentity(config.IdentityHeader, parseEntries(t, "s", fmt.Sprintf(`{"url": %q, "type": "http"}`, s.URL))))
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: "s"}))
	return h
}

// countAs calls the tool as a user, and checks how many calls the session of the user has had.
func countAs(t *testing.T, h *host.Host, user string, want int) {
	t.Helper()
	got, err := callAs(watchdog(t), h, user, "s__count")
	assert.Equal(t, got, fmt.Sprintf("Bearer %s %d", user, want))
	assert.OK(t, err)
}

// More users than places make each call a new session, which must cost neither a new
// connection.
func TestUsersShareSockets(t *testing.T) {
	s := newSessionServer(t)
	h := newSessionHost(t, s, 1)
	for _, user := range userNames(20) {
		countAs(t, h, user, 1)
	}
	for method, want := range map[string]int{"initialize": 21, "tools/call": 20, "server/discover": 21} {
		assert.Equal(t, s.count(method), want, "%s", method)
	}
	const most = 4 // a session may begin before the one before has ended
	assert.True(t, s.connections.Load() <= most, "at most %d connections for 21 sessions: %d", most, s.connections.Load())
}
