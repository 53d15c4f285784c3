// Tests of state.go and supervise.go: logins.

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A loginServer is one of HTTP that lets in who is logged in, and the user's handler of
// logins there.
type loginServer struct {
	t *testing.T
	*webServer
	to transport.HTTP

	mu     sync.Mutex
	member bool          // the user is logged in
	asked  int           // logins that were asked for
	done   chan struct{} // closed by the next login; nil if nobody tells
}

func newLoginServer(t *testing.T, revision string, script map[string]func(*webRequest)) *loginServer {
	t.Helper()
	g := &loginServer{t: t, webServer: newWebServer(t, revision, script), done: make(chan struct{})}
	g.to = transport.HTTP{OAuth: g, URL: serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer member":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("Vip") != "":
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="vip"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			g.webServer.ServeHTTP(w, r)
		}
	}))}
	return g
}

// newLoggedIn returns a server with a client that it has let in.
func newLoggedIn(t *testing.T, revision string) (*loginServer, *mcp.Client) {
	g := newLoginServer(t, revision, map[string]func(*webRequest){"tools/call": result(hello)})
	g.logIn(false)
	return g, newReady(t, &g.to, nil)
}

func (g *loginServer) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return nil, errors.New("an Authenticator has none")
}

func (g *loginServer) Authenticate(_ context.Context, header http.Header, _, _ string, body []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.member {
		header.Set("Authorization", "Bearer member")
	}
	if strings.Contains(string(body), `"vip"`) {
		header.Set("Vip", "1")
	}
	return nil
}

func (g *loginServer) Observe(*http.Response) {}

func (g *loginServer) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	required := &auth.LoginRequiredError{Server: "s", URL: fmt.Sprintf("https://as.example/login/%d", g.asked), Done: g.done}
	if resp.StatusCode == http.StatusForbidden {
		required.Scopes = []string{"vip"}
	}
	return required
}

// logIn lets the user in, and tells so if told is true.
func (g *loginServer) logIn(told bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.member = true
	if told {
		close(g.done)
		g.done = make(chan struct{})
	}
}

func (g *loginServer) logOut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.member = false
}

// waitFor waits for a phase, and for a login at an address if that is given.
func waitFor(t *testing.T, c *mcp.Client, want mcp.Phase, url ...string) mcp.State {
	t.Helper()
	for s := range c.Watch(within(t, time.Minute)) {
		if s.Phase == want && (len(url) == 0 || s.LoginURL == url[0]) {
			return s
		}
	}
	t.Fatalf("state %+v, want %v %s", c.State(), want, url)
	return mcp.State{}
}

func wantLogin(t *testing.T, err error) *auth.LoginRequiredError {
	t.Helper()
	required := assert.As[*auth.LoginRequiredError](t, err)
	wantOutcome(t, err, mcp.NotSent)
	return required
}

const hello = `{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`

// A server that wants a login before anything else is connected to when a person
// has logged in, and nobody has to ask for that.
func TestLoginAtConnect(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		g := newLoginServer(t, revision, map[string]func(*webRequest){"tools/call": result(hello)})
		c := newClient(t, &g.to, nil)
		url := wantLogin(t, c.Ready(t.Context())).URL
		s := wantPhase(t, c, mcp.Authenticating)
		assert.Equal(t, [...]any{s.LoginURL, s.Failures, s.ProtocolVersion}, [...]any{url, 1, ""})
		wantLogin(t, assert.Err(call(t, c, "x")))
		g.logIn(true)
		ready(t, c) // who asks now waits for the connection
		s = waitFor(t, c, mcp.Ready)
		assert.OK(t, s.Err)
		assert.Equal(t, [...]any{s.LoginURL, s.Connections}, [...]any{"", 1})
		mustCall(t, c, "x")
		assert.Equal(t, len(g.of("tools/call")), 1, "calls reached the server")
	})
}

// Who was told that a person has logged in finds the server there, though the
// client may not have heard of it yet.
func TestLoginAtConnectIsNotMissed(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		for range assert.Cases(5, 20) {
			g := newLoginServer(t, revision, map[string]func(*webRequest){"tools/call": result(hello)})
			c := newClient(t, &g.to, nil)
			done := wantLogin(t, c.Ready(t.Context())).LoggedIn()
			g.logIn(true)
			<-done
			mustCall(t, c, "x")
		}
	})
}

// A login that ends while a connection lives is no end of the connection: calls
// under way get their answers, the ones that are refused tell where to log in, and
// after the login all goes on.
func TestLoginOnALiveConnection(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		working, finish := make(chan struct{}), make(chan struct{})
		g := newLoginServer(t, revision, map[string]func(*webRequest){"tools/call": func(v *webRequest) {
			if strings.Contains(string(v.Params), "slow") {
				close(working)
				<-finish
			}
			result(hello)(v)
		}, "tools/list": result(`{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)})
		g.logIn(false)
		c := newReady(t, &g.to, &mcp.ClientOptions{HealthInterval: -1})
		slow := inBackground(func() error { return assert.Err(c.CallTool(t.Context(), "slow", json.RawMessage(`{}`), nil)) })
		<-working
		before := c.State()

		g.logOut()
		for range 2 { // the second login has another address
			url := wantLogin(t, assert.Err(call(t, c, "x"))).URL
			s := waitFor(t, c, mcp.Authenticating, url)
			assert.Fails(t, s.Err)
			assert.Equal(t, [...]any{s.Connections, s.ProtocolVersion, s.ToolsVersion}, [...]any{1, before.ProtocolVersion, before.ToolsVersion})
			assert.Equal(t, wantLogin(t, c.Ready(t.Context())).URL, url)
		}
		close(finish)
		assert.OK(t, <-slow, "the call under way")
		wantPhase(t, c, mcp.Authenticating) // it was let in before

		g.logIn(true)
		ready(t, c) // at once
		s := waitFor(t, c, mcp.Ready)
		assert.OK(t, s.Err)
		assert.Equal(t, [...]any{s.LoginURL, s.Connections, s.Server == nil}, [...]any{"", 1, before.Server == nil})
		assert.Equal(t, len(g.of("tools/call")), 1, "calls reached the server: refused ones were repeated")
		mustCall(t, c, "x")
		assert.Between(t, len(g.of("DELETE"))+len(g.of("initialize")), 0, 1)
	})
}

// Where nobody tells of the login, such as one in another process, the next
// request finds out.
func TestLoginElsewhere(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		g, c := newLoggedIn(t, revision)
		g.done = nil
		g.logOut()
		wantLogin(t, assert.Err(call(t, c, "x")))
		waitFor(t, c, mcp.Authenticating)
		g.logIn(false)
		mustCall(t, c, "x")
		assert.Equal(t, waitFor(t, c, mcp.Ready).Connections, 1, "connections")
	})
}

// Reconnect makes a new connection although the old one only lacks a login.
func TestLoginReconnect(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		g, c := newLoggedIn(t, revision)
		g.logOut()
		wantLogin(t, assert.Err(call(t, c, "x")))
		waitFor(t, c, mcp.Authenticating)
		wantLogin(t, c.Reconnect(t.Context()))
		s := wantPhase(t, c, mcp.Authenticating)
		assert.Equal(t, [...]any{s.Connections, s.ProtocolVersion}, [...]any{1, ""})
		g.logIn(true)
		assert.Equal(t, waitFor(t, c, mcp.Ready).Connections, 2, "connections")
		mustCall(t, c, "x")
	})
}

// More rights are a matter of the request that needs them.
func TestLoginStepUp(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		_, c := newLoggedIn(t, revision)
		ctx, stop := context.WithCancel(t.Context())
		watched := inBackground(func() error {
			for s := range c.Watch(ctx) {
				if s.Phase != mcp.Ready {
					return fmt.Errorf("the phase has become %v", s.Phase)
				}
			}
			return nil
		})
		assert.True(t, wantLogin(t, assert.Err(call(t, c, "vip"))).StepUp(), "step up")
		mustCall(t, c, "x")
		stop()
		assert.OK(t, <-watched)
		wantPhase(t, c, mcp.Ready)
	})
}

// A login that was there at once each time and does not help is no reason to try
// without pause.
func TestLoginThatDoesNotHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		close(done)
		var attempts atomic.Int32
		c := newClient(t, transportFunc(func(context.Context) (mcp.Conn, error) {
			attempts.Add(1)
			return nil, &auth.LoginRequiredError{Server: "s", URL: "https://as.example/", Done: done}
		}), nil)
		c.Connect()
		pass(time.Minute)
		assert.Between(t, attempts.Load(), 10, 20, "attempts")
		wantPhase(t, c, mcp.Authenticating)
		start := time.Now()
		wantLogin(t, c.Ready(t.Context())) // of one more attempt
		assert.Between(t, time.Since(start), 0, 10*time.Second, "time")
	})
}

// A login while the client waits for it is followed by an attempt at once.
func TestLoginIsNoticedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		done := make(chan struct{})
		var in atomic.Bool
		c := newClient(t, transportFunc(func(ctx context.Context) (mcp.Conn, error) {
			if !in.Load() {
				return nil, &auth.LoginRequiredError{Server: "s", URL: "https://as.example/", Done: done}
			}
			return server.Connect(ctx)
		}), nil)
		c.Connect()
		synctest.Wait()
		for range 5 { // failures
			wantLogin(t, c.Reconnect(t.Context()))
		}
		pass(time.Hour)
		wantPhase(t, c, mcp.Authenticating)
		in.Store(true)
		start := time.Now()
		close(done)
		synctest.Wait()
		wantPhase(t, c, mcp.Ready)
		assert.Equal(t, time.Since(start), 0, "time")
	})
}

// An idle client finds out by its pings.
func TestLoginFoundByPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		conn := &loginConn{}
		c := newReady(t, transportFunc(func(ctx context.Context) (mcp.Conn, error) {
			made, err := server.Connect(ctx)
			conn.Caller = mcp.CallerOf(made)
			return conn, err
		}), &mcp.ClientOptions{HealthInterval: time.Minute})
		pass(90 * time.Second)
		wantPhase(t, c, mcp.Ready)
		conn.loggedOut.Store(true)
		pass(time.Hour)
		assert.Equal(t, wantPhase(t, c, mcp.Authenticating).Connections, 1, "connections")
		conn.loggedOut.Store(false)
		pass(time.Minute)
		wantPhase(t, c, mcp.Ready)
	})
}

// A request that finds the connection broken waits for the next one, also where
// the broken one lacked a login.
func TestLoginOnBrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		first := &loginConn{}
		c := newReady(t, transportFunc(func(ctx context.Context) (mcp.Conn, error) {
			conn, err := server.Connect(ctx)
			if first.Caller != nil {
				return &loginConn{Caller: mcp.CallerOf(conn)}, err
			}
			first.Caller = mcp.CallerOf(conn)
			return first, err
		}), &mcp.ClientOptions{HealthInterval: -1})
		first.loggedOut.Store(true)
		wantLogin(t, c.Ping(t.Context()))
		synctest.Wait()
		wantPhase(t, c, mcp.Authenticating)
		first.broken.Store(true)
		pinged := inBackground(func() error { return c.Ping(t.Context()) })
		synctest.Wait()
		server.Disconnect()
		assert.OK(t, <-pinged)
		assert.Equal(t, wantPhase(t, c, mcp.Ready).Connections, 2, "connections")
	})
}

// A loginConn answers pings, if the user is not barred.
type loginConn struct {
	mcp.Caller
	loggedOut atomic.Bool
	broken    atomic.Bool // which nobody has told the reader yet
}

func (c *loginConn) Call(_ context.Context, method string, _ json.RawMessage, _ *mcp.CallOptions) (json.RawMessage, error) {
	if result, err, ok := initialized(method); ok {
		return result, err
	}
	switch {
	case c.broken.Load():
		return nil, mcp.WithOutcome(c.Info().Err, mcp.NotSent)
	case c.loggedOut.Load():
		return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "s"}, mcp.NotSent)
	}
	return json.RawMessage(`{}`), nil
}

func (c *loginConn) Info() mcp.ConnInfo {
	info := c.Caller.Info()
	if c.broken.Load() {
		info.Err = errDown
	}
	return info
}

// An address is a URL behind which another server can be put.
type address struct {
	transport.HTTP
	server atomic.Pointer[webServer]
}

func newAddress(t *testing.T, first *webServer) *address {
	t.Helper()
	a := &address{}
	a.server.Store(first)
	a.URL = serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.server.Load().ServeHTTP(w, r) }))
	return a
}
