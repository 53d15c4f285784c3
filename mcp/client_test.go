package mcp_test

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

var errDown = errors.New("the server is down")

func TestStateOfReadyServer(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""))
			c := newClient(t, p.to(server), nil)
			if s := c.State(); s.Phase != mcp.Idle || s.Connections != 0 {
				t.Errorf("before the first use: %+v", s)
			}
			assert.Equal(t, server.Connections(), 0, "connections before the first use")
			time.Sleep(time.Second)
			ready(t, c)
			s := wantPhase(t, c, mcp.Ready)
			if s.ProtocolVersion != revision || s.Instructions != "Be nice." || s.Server == nil || s.Server.Name != "scripted" {
				t.Errorf("the server is described by %+v", s)
			}
			if s.Capabilities == nil || s.Capabilities.Tools == nil || !s.Capabilities.Tools.ListChanged {
				t.Errorf("capabilities %+v, want tools", s.Capabilities)
			}
			if s.Connections != 1 || s.ToolsVersion != 1 || s.Err != nil || !s.Since.Equal(time.Now()) {
				t.Errorf("state %+v", s)
			}
			assert.Equal(t, c.Name(), "scripted", "name")
		})
	})
}

// The end of a connection changes the state without anybody calling; a sound
// connection is replaced at once.
func TestDeathIsAnEvent(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""))
			c := newClient(t, p.to(server), nil)
			ready(t, c)
			start := time.Now()
			server.Disconnect()
			synctest.Wait()
			if s := wantPhase(t, c, mcp.Ready); s.Connections != 2 || s.ToolsVersion != 2 {
				t.Errorf("after the first death: %+v", s)
			}
			server.Down(errDown)
			server.Disconnect()
			synctest.Wait()
			s := wantPhase(t, c, mcp.Waiting)
			if s.Err == nil || s.Failures != 2 || s.Capabilities != nil || s.Server != nil || s.ProtocolVersion != "" {
				t.Errorf("after the second death: %+v", s)
			}
			if !time.Now().Equal(start) {
				t.Error("it took time")
			}
		})
	})
}

// A server that died must not stay Ready because a handler still runs.
func TestDeathIsAnEventWhileAHandlerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, asked := make(chan struct{}), make(chan struct{})
		server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) { _, _ = c.Ask("elicitation/create", question) }})
		c := newClient(t, server, &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				<-release
				return nil, nil
			},
		})
		go func() { _, _ = call(t, c, "x") }()
		<-asked
		server.Down(errDown)
		server.Disconnect()
		synctest.Wait()
		if s := c.State(); s.Phase == mcp.Ready {
			t.Errorf("still ready: %+v", s)
		}
		close(release)
	})
}

func TestReadyFailsFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		server.Down(errDown)
		c := newClient(t, server, nil)
		start := time.Now()
		err := c.Ready(t.Context())
		var unavailable *mcp.UnavailableError
		if !errors.As(err, &unavailable) || !errors.Is(err, errDown) || !mcp.SafeToRetry(err) {
			t.Fatalf("error %v", err)
		}
		s := wantPhase(t, c, mcp.Waiting)
		if unavailable.Server != "scripted" || !unavailable.RetryAt.Equal(s.RetryAt) || !errors.Is(s.Err, errDown) {
			t.Errorf("error %+v in state %+v", unavailable, s)
		}
		if !time.Now().Equal(start) || server.Connections() != 1 {
			t.Errorf("took %v and %d attempts", time.Since(start), server.Connections())
		}
	})
}

// A call that comes while the client waits brings the next attempt forward, but
// not closer to the last than the floor, and fails with that attempt.
func TestCallWakesWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		server.Down(errDown)
		c := newClient(t, server, nil)
		if err := c.Ready(t.Context()); err == nil {
			t.Fatal("ready")
		}
		for failures := 1; failures < 9; failures++ {
			s := wantPhase(t, c, mcp.Waiting)
			if s.Failures != failures {
				t.Fatalf("%d failures, want %d", s.Failures, failures)
			}
			floor := min(250*time.Millisecond<<(failures-1), 5*time.Second)
			want := min(floor, time.Until(s.RetryAt))
			start := time.Now()
			if err := c.Ready(t.Context()); !errors.Is(err, errDown) {
				t.Fatalf("error %v", err)
			}
			assert.Equal(t, time.Since(start), want, "after %d failures the attempt came after", failures)
			assert.Equal(t, server.Connections(), failures+1, "attempts")
		}
		// A call that comes late finds the floor behind it.
		s := c.State()
		time.Sleep(time.Until(s.RetryAt) - time.Nanosecond)
		server.Down(nil)
		ready(t, c)
		if got := time.Now(); got.After(s.RetryAt) {
			t.Errorf("ready %v after the time of the attempt", got.Sub(s.RetryAt))
		}
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		server.Down(errDown)
		c := newClient(t, server, nil)
		if err := c.Ready(t.Context()); err == nil {
			t.Fatal("ready")
		}
		longest := time.Duration(0)
		for failures := 1; failures < 25; failures++ {
			s := wantPhase(t, c, mcp.Waiting)
			wait := time.Until(s.RetryAt)
			ceiling := min(500*time.Millisecond<<(failures-1), time.Minute)
			if wait < 250*time.Millisecond || wait > ceiling {
				t.Errorf("wait %d is %v, want 250ms to %v", failures, wait, ceiling)
			}
			longest = max(longest, wait)
			time.Sleep(wait - time.Nanosecond)
			if n := server.Connections(); n != failures {
				t.Fatalf("%d attempts before the time of number %d", n, failures+1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if n := server.Connections(); n != failures+1 {
				t.Fatalf("%d attempts at the time of number %d", n, failures+1)
			}
		}
		if longest < 10*time.Second {
			t.Errorf("of 24 waits the longest was %v", longest)
		}
	})
}

// Only the attempt that callers wait for comes early, not the next one.
func TestCallsWakeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		server.Down(errDown)
		c := newClient(t, server, nil)
		_ = c.Ready(t.Context())
		for range 10 {
			wantPhase(t, c, mcp.Waiting)
			var callers sync.WaitGroup
			for range 5 {
				callers.Go(func() { _ = c.Ready(t.Context()) })
			}
			callers.Wait()
			s := wantPhase(t, c, mcp.Waiting)
			time.Sleep(time.Until(s.RetryAt) - time.Nanosecond)
			synctest.Wait()
			if now := c.State(); now.Failures != s.Failures {
				t.Fatalf("an attempt %v before its time", time.Until(s.RetryAt))
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
		}
	})
}

func TestHealthyConnectionForgetsFailures(t *testing.T) {
	for _, lives := range []time.Duration{59 * time.Second, 60 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			server := legacy(t)
			c := newClient(t, server, nil)
			ready(t, c)
			server.Disconnect() // mended at once, but noted
			synctest.Wait()
			wantPhase(t, c, mcp.Ready)
			time.Sleep(lives)
			server.Disconnect()
			synctest.Wait()
			if lives < time.Minute {
				if s := wantPhase(t, c, mcp.Waiting); s.Failures != 2 {
					t.Errorf("%d failures, want 2", s.Failures)
				}
				return
			}
			wantPhase(t, c, mcp.Ready)
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
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := c.Ready(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !mcp.SafeToRetry(err) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		wantPhase(t, c, mcp.Connecting)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if s := wantPhase(t, c, mcp.Waiting); !errors.Is(s.Err, context.DeadlineExceeded) {
			t.Errorf("error %v", s.Err)
		}
	})
}

func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		c := newClient(t, server, nil)
		start := time.Now()
		for want := 1; want < 4; want++ {
			assert.OK(t, c.Reconnect(t.Context()))
			if s := wantPhase(t, c, mcp.Ready); s.Connections != want {
				t.Errorf("%d connections, want %d", s.Connections, want)
			}
		}
		server.Down(errDown)
		server.Disconnect()
		synctest.Wait()
		wantPhase(t, c, mcp.Waiting)
		if err := c.Reconnect(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
		server.Down(nil)
		if err := c.Reconnect(t.Context()); err != nil {
			t.Error(err)
		}
		if !time.Now().Equal(start) {
			t.Errorf("it took %v", time.Since(start))
		}
	})
}

// A loginError is an error of a transport whose server wants a login.
type loginError struct{}

func (loginError) Error() string    { return "login required" }
func (loginError) LoginURL() string { return "http://127.0.0.1/login" }

func TestAuthenticating(t *testing.T) {
	for _, where := range []string{"connect", "write"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := legacy(t)
				var mu sync.Mutex
				loggedIn, attempts := false, 0
				to := transportFunc(func(ctx context.Context) (mcp.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					attempts++
					conn, err := server.Connect(ctx)
					switch {
					case loggedIn || err != nil:
						return conn, err
					case where == "write":
						return refusingConn{conn}, nil
					}
					_ = conn.Close()
					return nil, loginError{}
				})
				c := newClient(t, to, nil)
				var login loginError
				if err := c.Ready(t.Context()); !errors.As(err, &login) || !mcp.SafeToRetry(err) {
					t.Fatalf("error %v", err)
				}
				s := wantPhase(t, c, mcp.Authenticating)
				assert.Equal(t, s.LoginURL, "http://127.0.0.1/login", "login at")
				time.Sleep(time.Hour)
				if _, err := call(t, c, "x"); !errors.As(err, &login) {
					t.Errorf("error %v", err)
				}
				if err := c.Reconnect(t.Context()); !errors.As(err, &login) {
					t.Errorf("error %v", err)
				}
				mu.Lock()
				assert.Equal(t, attempts, 2, "attempts")
				loggedIn = true
				mu.Unlock()
				if err := c.Reconnect(t.Context()); err != nil {
					t.Error(err)
				}
				wantPhase(t, c, mcp.Ready)
			})
		})
	}
}

func TestPing(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""))
		c := newClient(t, p.to(server), nil)
		ready(t, c)
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

type transportFunc func(context.Context) (mcp.Conn, error)

func (f transportFunc) Connect(ctx context.Context) (mcp.Conn, error) { return f(ctx) }

// A refusingConn sends nothing before the user has logged in.
type refusingConn struct{ mcp.Conn }

func (refusingConn) Write(context.Context, jsonrpc.Message) error {
	return mcp.WithOutcome(loginError{}, mcp.NotSent)
}

// An idle client has no goroutine of its own, and yet replaces its connection.
func TestIdleClientHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		c := newClient(t, server, nil)
		ready(t, c)
		for number := 1; number <= 3; number++ {
			synctest.Wait()
			var stacks strings.Builder
			if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
				t.Fatalf("goroutines: %v", err)
			}
			if got := strings.Count(stacks.String(), ").supervise"); got != 0 {
				t.Errorf("connection %d: got %d supervisors, want 0:\n%s", number, got, &stacks)
			}
			assert.Equal(t, c.State().Connections, number, "connections")
			if err := c.Reconnect(t.Context()); err != nil {
				t.Fatalf("Reconnect: %v", err)
			}
		}
	})
}
