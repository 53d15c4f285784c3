// Tests of client.go, supervise.go and shared.go: the states of a client, and its attempts to connect.

package mcp_test

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func TestStateOfReadyServer(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, "")), nil)
		assert.Equal(t, wantPhase(t, c, mcp.Idle).Connections+server.Connections(), 0, "connections before the first use")
		pass(time.Second)
		ready(t, c)
		s := wantPhase(t, c, mcp.Ready)
		assert.OK(t, s.Err)
		assert.Equal(t, [...]any{s.ProtocolVersion, s.Instructions, s.Server.Name, s.Capabilities.Tools.ListChanged, c.Name()},
			[...]any{revision, "Be nice.", "scripted", true, "scripted"})
		assert.Equal(t, [...]any{s.Connections, s.ToolsVersion, s.Since.Equal(time.Now())}, [...]any{1, uint64(1), true})
	})
}

// The end of a connection changes the state without anybody calling; a sound
// connection is replaced at once.
func TestDeathIsAnEvent(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withReady(t, mcptest.NewServer(t, mcptest.Handshake(revision, "")), nil)
		start := time.Now()
		disconnect(server)
		s := wantPhase(t, c, mcp.Ready)
		assert.Equal(t, [...]any{s.Connections, s.ToolsVersion}, [...]any{2, uint64(2)}, "after the first end")
		shutDown(server)
		s = wantPhase(t, c, mcp.Waiting)
		assert.Fails(t, s.Err)
		assert.Equal(t, [...]any{s.Failures, s.Capabilities == nil, s.Server == nil, s.ProtocolVersion},
			[...]any{2, true, true, ""}, "after the second end")
		assert.Equal(t, time.Since(start), 0, "time")
	})
}

// A server that died must not stay Ready because a handler still runs.
func TestDeathIsAnEventWhileAHandlerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, asked := make(chan struct{}), make(chan struct{})
		server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": asking(question)}), &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				<-release
				return nil, nil
			},
		})
		go func() { _, _ = call(t, c, "x") }()
		<-asked
		shutDown(server)
		wantOther(t, c.State().Phase, mcp.Ready, "phase")
		close(release)
	})
}

// newDownServer returns a server that cannot be connected to, and a client that has tried,
// which took no time.
func newDownServer(t *testing.T) (*mcptest.Server, *mcp.Client) {
	t.Helper()
	server, start := legacy(t), time.Now()
	server.Down(errDown)
	c := newClient(t, server, nil)
	err := c.Ready(t.Context())
	wantNotSent(t, err, errDown)
	unavailable, s := assert.As[*mcp.UnavailableError](t, err), wantPhase(t, c, mcp.Waiting)
	assert.Is(t, s.Err, errDown)
	assert.Equal(t, [...]any{unavailable.Server, unavailable.RetryAt.Equal(s.RetryAt), server.Connections(), time.Since(start)},
		[...]any{"scripted", true, 1, time.Duration(0)})
	return server, c
}

// A call that comes while the client waits brings the next attempt forward, but
// not closer to the last than the floor, and fails with that attempt.
func TestCallWakesWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newDownServer(t)
		for failures := 1; failures < 9; failures++ {
			s := wantPhase(t, c, mcp.Waiting)
			assert.Equal(t, s.Failures, failures, "failures")
			want := min(min(250*time.Millisecond<<(failures-1), 5*time.Second), time.Until(s.RetryAt))
			start := time.Now()
			assert.Is(t, c.Ready(t.Context()), errDown)
			assert.Equal(t, time.Since(start), want, "after %d failures the attempt came after", failures)
			assert.Equal(t, server.Connections(), failures+1, "attempts")
		}
		// A call that comes late finds the floor behind it.
		pass(time.Until(c.State().RetryAt) - time.Nanosecond)
		server.Down(nil)
		start := time.Now()
		ready(t, c)
		assert.Between(t, time.Since(start), 0, time.Nanosecond, "time")
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newDownServer(t)
		longest := time.Duration(0)
		for failures := 1; failures < 25; failures++ {
			wait := time.Until(wantPhase(t, c, mcp.Waiting).RetryAt)
			assert.Between(t, wait, 250*time.Millisecond, min(500*time.Millisecond<<(failures-1), time.Minute), "wait")
			longest = max(longest, wait)
			pass(wait - time.Nanosecond)
			assert.Equal(t, server.Connections(), failures, "attempts before the time of the next")
			pass(time.Nanosecond)
			assert.Equal(t, server.Connections(), failures+1, "attempts at the time of the next")
		}
		assert.Between(t, longest, 10*time.Second, time.Minute, "longest")
	})
}

// Only the attempt that callers wait for comes early, not the next one.
func TestCallsWakeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newDownServer(t)
		for range 10 {
			var callers sync.WaitGroup
			for range 5 {
				callers.Go(func() { _ = c.Ready(t.Context()) })
			}
			callers.Wait()
			s := wantPhase(t, c, mcp.Waiting)
			pass(time.Until(s.RetryAt) - time.Nanosecond)
			assert.Equal(t, c.State().Failures, s.Failures, "failures")
			pass(time.Nanosecond)
		}
	})
}

func TestHealthyConnectionForgetsFailures(t *testing.T) {
	for lives, want := range map[time.Duration]mcp.Phase{59 * time.Second: mcp.Waiting, 60 * time.Second: mcp.Ready} {
		synctest.Test(t, func(t *testing.T) {
			server, c := withReady(t, legacy(t), nil)
			disconnect(server) // mended at once, but noted
			wantPhase(t, c, mcp.Ready)
			pass(lives)
			disconnect(server)
			if s := wantPhase(t, c, want); want == mcp.Waiting {
				assert.Equal(t, s.Failures, 2, "failures")
			}
		})
	}
}

func TestReadyEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := transportFunc(func(ctx context.Context) (mcp.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		c := newClient(t, hangs, &mcp.ClientOptions{ConnectTimeout: time.Minute})
		ctx := within(t, time.Second)
		start := time.Now()
		wantNotSent(t, c.Ready(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Since(start), time.Second, "time")
		wantPhase(t, c, mcp.Connecting)
		pass(59 * time.Second)
		assert.Is(t, wantPhase(t, c, mcp.Waiting).Err, context.DeadlineExceeded)
	})
}

func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t), nil)
		start := time.Now()
		for want := 1; want < 4; want++ {
			assert.OK(t, c.Reconnect(t.Context()))
			assert.Equal(t, wantPhase(t, c, mcp.Ready).Connections, want, "connections")
		}
		shutDown(server)
		wantPhase(t, c, mcp.Waiting)
		assert.Is(t, c.Reconnect(t.Context()), errDown)
		server.Down(nil)
		assert.OK(t, c.Reconnect(t.Context()))
		assert.Equal(t, time.Since(start), 0, "time")
	})
}

// A loginError is an error of a transport whose server wants a login.
type loginError struct{}

func (loginError) Error() string { return "login required" }

func (loginError) LoginURL() string { return "http://127.0.0.1/login" }

func TestAuthenticating(t *testing.T) {
	for _, where := range []string{"connect", "write"} {
		runInBubble(t, where, func(t *testing.T) {
			server := legacy(t)
			var loggedIn atomic.Bool
			var attempts atomic.Int32
			to := transportFunc(func(ctx context.Context) (mcp.Conn, error) {
				attempts.Add(1)
				conn, err := server.Connect(ctx)
				switch {
				case loggedIn.Load() || err != nil:
					return conn, err
				case where == "write":
					return loginWrites{conn}, nil
				}
				_ = conn.Close()
				return nil, loginError{}
			})
			c := newClient(t, to, nil)
			err := c.Ready(t.Context())
			assert.As[loginError](t, err)
			wantOutcome(t, err, mcp.NotSent)
			assert.Equal(t, wantPhase(t, c, mcp.Authenticating).LoginURL, "http://127.0.0.1/login", "login at")
			pass(time.Hour)
			assert.As[loginError](t, assert.Err(call(t, c, "x")))
			assert.As[loginError](t, c.Reconnect(t.Context()))
			assert.Equal(t, attempts.Load(), 2, "attempts")
			loggedIn.Store(true)
			assert.OK(t, c.Reconnect(t.Context()))
			wantPhase(t, c, mcp.Ready)
		})
	}
}

func TestPing(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withReady(t, mcptest.NewServer(t, mcptest.Handshake(revision, "")), nil)
		handshake := len(server.Received("server/discover"))
		assert.OK(t, c.Ping(t.Context()))
		if revision == mcp.Revision20260728 {
			wantCount(t, server, "server/discover", handshake+1)
			wantCount(t, server, "ping", 0)
		} else {
			wantCount(t, server, "ping", 1)
		}
	})
}

// A loginWrites sends nothing before the user has logged in.
type loginWrites struct{ mcp.Conn }

func (loginWrites) Write(context.Context, jsonrpc.Message) error {
	return mcp.WithOutcome(loginError{}, mcp.NotSent)
}

// An idle client has no goroutine of its own, and yet replaces its connection.
func TestIdleClientHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReady(t, legacy(t), nil)
		for number := 1; number <= 3; number++ {
			synctest.Wait()
			var stacks strings.Builder
			assert.OK(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1), "goroutines")
			assert.Equal(t, strings.Count(stacks.String(), ").supervise"), 0, "connection %d", number)
			assert.Equal(t, c.State().Connections, number, "connections")
			assert.OK(t, c.Reconnect(t.Context()), "Reconnect")
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t), nil)
		var seen []mcp.Phase
		next, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for s := range c.Watch(t.Context()) {
				seen = append(seen, s.Phase)
				<-next
			}
		}()
		synctest.Wait()
		step := func(do func(), want ...mcp.Phase) {
			t.Helper()
			do()
			synctest.Wait()
			next <- struct{}{}
			synctest.Wait()
			assert.List(t, seen, want)
		}
		// The consumer holds each state until the next step, and so does not
		// see what lies between.
		step(func() { ready(t, c) }, mcp.Idle, mcp.Ready)
		step(func() { server.Down(errDown); server.Disconnect() }, mcp.Idle, mcp.Ready, mcp.Waiting)
		step(func() { _ = c.Close() }, mcp.Idle, mcp.Ready, mcp.Waiting, mcp.Closed)
		close(next)
		<-ended
	})
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, legacy(t), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		states := 0
		for range c.Watch(ctx) {
			states++
			cancel()
		}
		assert.Equal(t, states, 1, "states")
		_ = c.Close()
		for s := range c.Watch(t.Context()) { // of a closed client
			assert.Equal(t, s.Phase, mcp.Closed, "phase")
		}
		for range c.Watch(t.Context()) {
			break
		}
	})
}

// OnChange is told of each change, and State is the new one for a goroutine that it wakes.
func TestOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t), nil)
		told := 0
		c.OnChange(func() { told++ })
		for _, step := range []struct {
			do   func()
			want mcp.Phase
		}{
			{func() { ready(t, c) }, mcp.Ready},
			{func() { shutDown(server) }, mcp.Waiting},
			{func() { _ = c.Close() }, mcp.Closed},
		} {
			before := told
			step.do()
			synctest.Wait()
			wantOther(t, told, before, "calls before %v", step.want)
			assert.Equal(t, c.State().Phase, step.want)
		}
	})
}

// A server whose connections end soon is connected to less and less often, also if a person reads its
// tools whenever there is a new connection, as a host does. The lists are read no more often.
func TestShortConnectionsAreSpacedOut(t *testing.T) {
	for lasts, bound := range map[time.Duration][2]int{
		//report: Processes | github/copilot-cli#3782, NousResearch/hermes-agent#98763, ferro-labs/ai-gateway#361 | a program ends right after its start, whatever is done | it is started again after growing waits up to a minute, and only a connection of a minute makes them short again
		0: {1, 150},
		//report: Transports | h3js/h3#903, dnakov/claude-mcp#6 | a platform cuts the stream of HTTP+SSE, which is the connection, after some seconds | each connection that ends sooner than after a minute counts as a failure: the next ones are spaced out up to a minute
		10 * time.Second: {1, 150},
	} {
		runInBubble(t, lasts.String(), func(t *testing.T) {
			server, c := withClient(t, legacy(t, mcptest.Script{"tools/list": func(c *mcptest.Call) {
				if lasts == 0 {
					c.Disconnect()
					return
				}
				c.Result(`{"tools":[]}`)
				pause(lasts)
				c.Disconnect()
			}}), nil)
			ctx := within(t, time.Hour)
			ready(t, c)
			version := uint64(0)
			for s := range c.Watch(ctx) {
				if s.Phase == mcp.Ready && s.ToolsVersion != version {
					version = s.ToolsVersion
					_, _ = c.Tools(ctx)
				}
			}
			assert.OK(t, c.Close())
			synctest.Wait()
			t.Logf("%d connections and %d lists in an hour", server.Connections(), len(server.Received("tools/list")))
			assert.Between(t, server.Connections(), bound[0], bound[1], "connections in an hour")
			assert.Between(t, len(server.Received("tools/list")), 1, 2*bound[1], "lists in an hour")
		})
	}
}

// A nil context is an error in words, whatever is asked.
func TestNoContext(t *testing.T) {
	var none context.Context
	for _, c := range []*mcp.Client{newClient(t, legacy(t), nil), newReady(t, legacy(t), nil)} {
		for name, err := range map[string]error{
			"call": assert.Err(c.CallTool(none, "x", nil, nil)), "tools": assert.Err(c.Tools(none)), "ping": c.Ping(none),
			"prompt": assert.Err(c.GetPrompt(none, "x", nil, nil)), "resource": assert.Err(c.ReadResource(none, "a:a", nil)),
		} {
			assert.Contains(t, fmt.Sprint(err), "the context is nil", "%s", name)
			wantOutcome(t, err, mcp.NotSent)
		}
	}
}
