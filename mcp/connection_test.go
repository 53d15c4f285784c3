// Tests of connection.go, connect.go, wait.go and client.go: the ends of connections, and processes behind them.

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

func wantClosed(t testing.TB, c *mcp.Client) {
	t.Helper()
	assert.OK(t, wantPhase(t, c, mcp.Closed).Err)
	for what, err := range map[string]error{
		"Ready": c.Ready(t.Context()), "Reconnect": c.Reconnect(t.Context()), "Ping": c.Ping(t.Context()),
		"Tools": assert.Err(c.Tools(t.Context())), "CallTool": assert.Err(call(t, c, "x")),
	} {
		wantNotSent(t, err, mcp.ErrClosed, "%s", what)
	}
	assert.OK(t, c.Close())
}

func TestCloseUnused(t *testing.T) {
	server, c := withClient(t, legacy(t), nil)
	assert.OK(t, c.Close())
	wantClosed(t, c)
	assert.Equal(t, server.Connections(), 0, "it connected")
}

// Close takes no time though the server hangs, and ends the calls.
func TestCloseWithHungServer(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Hang}), nil)
		ended := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		server.Await("tools/call", 1)
		start := time.Now()
		_ = c.Close()
		assert.Equal(t, time.Since(start), 0, "time")
		wantOutcome(t, <-ended, mcp.Unknown)
		wantClosed(t, c)
	})
}

func TestCloseWhileConnecting(t *testing.T) {
	dialing := func(dial transportFunc) func(testing.TB) mcp.Transport {
		return func(testing.TB) mcp.Transport { return dial }
	}
	for name, test := range map[string]struct {
		to   func(testing.TB) mcp.Transport
		want time.Duration
	}{
		"probe hangs":     {func(t testing.TB) mcp.Transport { return legacy(t, mcptest.Script{"server/discover": mcptest.Hang}) }, 0},
		"handshake hangs": {func(t testing.TB) mcp.Transport { return legacy(t, mcptest.Script{"initialize": mcptest.Hang}) }, 0},
		"dialing hangs":   {dialing(func(ctx context.Context) (mcp.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }), 0},
		// One that does not care for its context is left behind in time.
		"dialing goes on": {dialing(func(context.Context) (mcp.Conn, error) {
			pause(time.Minute)
			return nil, errDown
		}), 5 * time.Second},
		// One whose connection is not ended by its Close too.
		"reading goes on": {func(t testing.TB) mcp.Transport {
			return wrapped(legacy(t, mcptest.Script{"initialize": mcptest.Hang}), func(conn mcp.Conn) mcp.Conn { return readsOn{conn} })
		}, 5 * time.Second},
		"waiting":            {dialing(func(context.Context) (mcp.Conn, error) { return nil, errDown }), 0},
		"a login is missing": {dialing(func(context.Context) (mcp.Conn, error) { return nil, loginError{} }), 0},
	} {
		runInBubble(t, name, func(t *testing.T) {
			c := newClient(t, test.to(t), nil)
			_ = c.Ready(within(t, 200*time.Millisecond))
			synctest.Wait()
			start := time.Now()
			_ = c.Close()
			assert.Equal(t, time.Since(start), test.want, "Close took")
			wantClosed(t, c)
			pass(time.Minute) // for those that go on
		})
	}
}

// A connection that comes when nobody wants it any more is closed.
func TestLateConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		made := make(chan mcp.Conn, 1)
		c := newClient(t, transportFunc(func(ctx context.Context) (mcp.Conn, error) {
			pause(time.Minute)
			conn, err := server.Connect(ctx)
			made <- conn
			return conn, err
		}), nil)
		_ = c.Ready(within(t, time.Second))
		_ = c.Close()
		conn := <-made
		synctest.Wait()
		assert.Is(t, assert.Err(conn.Read(t.Context())), io.EOF, "reading from the connection")
	})
}

// A handshake that ends well after the time for it leaves nothing behind.
func TestLateSessionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		c := newClient(t, wrapped(server, func(conn mcp.Conn) mcp.Conn { return slowConn{conn} }), nil)
		assert.Is(t, c.Ready(t.Context()), context.DeadlineExceeded)
		wantCount(t, server, "server/discover", 1)
	})
}

// A request ends with its connection though its data plane does not end it.
func TestCloseWithCallerThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		c := newClient(t, wrapped(server, func(conn mcp.Conn) mcp.Conn { return silentCaller{mcp.CallerOf(conn)} }), nil)
		ended := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		synctest.Wait()
		_ = c.Close()
		err := <-ended
		wantOutcome(t, err, mcp.Unknown)
		assert.Is(t, err, mcp.ErrClosed)
	})
}

// A readsOn reads on for a minute after it was closed.
type readsOn struct{ mcp.Conn }

func (c readsOn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Conn.Read(context.WithoutCancel(ctx))
	if err != nil {
		pause(time.Minute)
	}
	return m, err
}

// A slowConn takes longer than a handshake may to send its last message.
type slowConn struct{ mcp.Conn }

func (c slowConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "subscriptions/listen" {
		pause(31 * time.Second)
		return nil
	}
	return c.Conn.Write(ctx, m)
}

// A silentCaller answers no request after the handshake, and ends it only with its context.
type silentCaller struct{ mcp.Caller }

func (silentCaller) Call(ctx context.Context, method string, _ json.RawMessage, _ *mcp.CallOptions) (json.RawMessage, error) {
	if result, err, ok := initialized(method); ok {
		return result, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCloseWithHungHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, asked := make(chan struct{}), make(chan context.Context, 1)
		c := newClient(t, legacy(t, mcptest.Script{"tools/call": asking(question)}), &mcp.ClientOptions{
			Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked <- ctx
				<-release
				return nil, nil
			},
		})
		go func() { _, _ = call(t, c, "x") }()
		ctx := <-asked
		start := time.Now()
		_ = c.Close()
		assert.Equal(t, time.Since(start), 5*time.Second, "Close took")
		assert.Fails(t, ctx.Err(), "the handler's context lives")
		wantClosed(t, c)
		close(release)
	})
}

func TestShutdown(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/call": slowly(50*time.Second, mcptest.Result(`{}`))}), nil)
		first := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		second := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		server.Await("tools/call", 2)
		start := time.Now()
		ended := inBackground(func() error { return c.Shutdown(t.Context()) })
		pass(time.Second)
		wantNotSent(t, assert.Err(call(t, c, "x")), mcp.ErrClosed, "a new call")
		assert.Is(t, assert.Err(c.Tools(t.Context())), mcp.ErrClosed, "a new listing")
		assert.OK(t, <-ended)
		assert.Equal(t, time.Since(start), 50*time.Second, "Shutdown took")
		assert.OK(t, <-first, "a call was cut off")
		assert.OK(t, <-second, "a call was cut off")
		wantClosed(t, c)
	})
}

func TestShutdownCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": mcptest.Hang}), nil)
		ended := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		server.Await("tools/call", 1)
		assert.Is(t, c.Shutdown(within(t, time.Second)), context.DeadlineExceeded)
		wantOutcome(t, <-ended, mcp.Unknown)
		wantClosed(t, c)
	})
}

// A lateCaller answers discover only when it is released, whatever its context, and
// refuses initialize.
type lateCaller struct {
	mcp.Caller
	release chan struct{}
}

func (c lateCaller) Call(_ context.Context, method string, _ json.RawMessage, _ *mcp.CallOptions) (json.RawMessage, error) {
	if method == "server/discover" {
		<-c.release
	}
	return nil, &mcp.JSONRPCError{Code: -32600, Message: "no"}
}

// A handshake ends in time though a data plane does not return when it is to.
func TestHandshakeOfALateCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, release := legacy(t), make(chan struct{})
		c := newClient(t, wrapped(server, func(conn mcp.Conn) mcp.Conn { return lateCaller{mcp.CallerOf(conn), release} }), nil)
		ctx := within(t, time.Hour)
		err := c.Ready(ctx)
		close(release)
		assert.As[*mcp.UnavailableError](t, err)
		assert.OK(t, ctx.Err())
	})
}

// A real process that is killed is noticed and replaced without anybody calling.
func TestProcessKilled(t *testing.T) {
	//report: Processes | PrefectHQ/fastmcp#1908, juspay/neurolink#1610, lmstudio-ai/lmstudio-bug-tracker#731 | a server's process dies between two calls | it is started again, and the next call works
	t.Parallel()
	c := newReady(t, &transport.Command{Path: assert.Value(os.Executable())(t), Env: childOf("1")}, nil)
	first := c.State()
	assert.Equal(t, first.Server.Name, "echo")
	assert.OK(t, assert.Value(os.FindProcess(first.PID))(t).Kill())
	ctx := within(t, time.Minute)
	for s := range c.Watch(ctx) {
		if s.Phase == mcp.Ready && s.Connections == 2 {
			assert.Between(t, s.PID, 1, math.MaxInt, "the second process")
			wantOther(t, s.PID, first.PID, "the second process")
			break
		}
	}
	assert.Equal(t, assert.Value(c.CallTool(ctx, "echo", json.RawMessage(`{"text":"again"}`), nil))(t).Text(), "again", "result")
}

// A process outlives the conversations that use it: their contexts end, one in
// the middle of a call, and the next one finds the same process.
func TestOneProcessForAllConversations(t *testing.T) {
	t.Parallel()
	c := newReady(t, &transport.Command{Path: assert.Value(os.Executable())(t), Env: childOf("1")}, nil)
	pid := c.State().PID
	converse := func(name string) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		for turn := range 3 {
			want := fmt.Sprintf("%s, turn %d", name, turn)
			args, _ := json.Marshal(echoIn{want})
			res, err := c.CallTool(ctx, "echo", args, nil)
			assert.Is(t, err, nil, "%s", want)
			assert.Equal(t, res.Text(), want)
			assert.Equal(t, c.State().PID, pid, "%s: process", want)
		}
	}
	var conversations sync.WaitGroup
	for i := range 4 {
		conversations.Go(func() { converse(fmt.Sprint("one of four: ", i)) })
	}
	conversations.Wait()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	assert.Fails(t, assert.Err(c.CallTool(ctx, "echo", nil, nil)), "a conversation that is over")
	for i := range 4 {
		converse(fmt.Sprint("one after the other: ", i))
	}
	assert.Equal(t, wantPhase(t, c, mcp.Ready).Connections, 1, "connections")
}

// A program that writes what it reads is told to be no server.
func TestEchoIsNoServer(t *testing.T) {
	path, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	err = newClient(t, &transport.Command{Path: path}, nil).Ready(t.Context())
	assert.Contains(t, fmt.Sprint(err), "it does not speak MCP: it sends back what it is sent")
}
