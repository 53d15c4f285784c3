package mcp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// mute returns a server that shakes hands and never says anything again.
func mute(t testing.TB) *mcptest.Server {
	return legacy(t, mcptest.Script{"ping": mcptest.Hang, "tools/call": mcptest.Hang})
}

func TestMuteServerIsGivenUp(t *testing.T) {
	for _, revision := range eras() {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := mcptest.Handshake(revision, "")
				script["ping"] = mcptest.Hang
				if probe := script["server/discover"]; probe != nil {
					script["server/discover"] = mcptest.Sequence(probe, mcptest.Hang, mcptest.Hang, mcptest.Hang, probe)
				}
				server := mcptest.NewServer(t, script)
				c := newClient(t, server, nil)
				ready(t, c)
				var why error
				for s := range c.Watch(t.Context()) {
					if s.Phase != mcp.Ready {
						why = s.Err
						break
					}
				}
				mute := assert.As[*mcp.UnresponsiveError](t, why)
				if mute.For < 3*time.Minute || mute.For > 5*time.Minute {
					t.Errorf("the connection ended with %v after three unanswered pings", why)
				}
				ready(t, c)
				assert.Equal(t, server.Connections(), 2, "connections")
			})
		})
	}
}

// What a server is asked keeps it busy, and so may what it was asked.
func TestBusyServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mute(t)
		c := newClient(t, server, nil)
		ready(t, c)
		ctx, giveUp := context.WithCancel(t.Context())
		failed := inBackground(func() error {
			return errOf(c.CallTool(ctx, "slow", nil, &mcp.CallToolOptions{IdleTimeout: time.Hour, CallTimeout: time.Hour}))
		})
		time.Sleep(59 * time.Minute)
		giveUp()
		wantOutcome(t, <-failed, mcp.Unknown)
		time.Sleep(59 * time.Minute) // it may still run
		assert.Equal(t, server.Connections(), 1)
		wantCount(t, server, "ping", 0)
		time.Sleep(10 * time.Minute)
		if n := server.Connections(); n < 2 {
			t.Errorf("%d connections long after the call can have ended", n)
		}
	})
}

// A worker is a connection to a process that works without saying anything.
type worker struct {
	to    mcp.Transport
	works func() bool
}

func (w worker) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := w.to.Connect(ctx)
	return &workerConn{Caller: mcp.CallerOf(conn), works: w.works}, err
}

type workerConn struct {
	mcp.Caller
	works func() bool
	signs atomic.Uint64
}

func (w *workerConn) Info() mcp.ConnInfo {
	info := w.Caller.Info()
	if w.works() {
		w.signs.Add(1)
	}
	info.Signs += w.signs.Load()
	return info
}

func TestWorkingServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mute(t)
		end := time.Now().Add(10 * time.Minute)
		c := newClient(t, worker{server, func() bool { return time.Now().Before(end) }}, nil)
		ready(t, c)
		time.Sleep(time.Until(end))
		assert.Equal(t, server.Connections(), 1, "a working server has connections")
		time.Sleep(10 * time.Minute)
		if n := server.Connections(); n < 2 {
			t.Errorf("%d connections long after the work ended", n)
		}
	})
}

// Only silence is asked about.
func TestPings(t *testing.T) {
	for _, test := range []struct {
		name     string
		interval time.Duration
		talk     func(*mcptest.Server)
		pings    int
	}{
		{"silent", 0, nil, 10},
		{"talking", 0, func(s *mcptest.Server) { s.Notify("notifications/tools/list_changed", "") }, 0},
		{"off", -1, nil, 0},
		{"often", time.Second, nil, 600},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := legacy(t)
				c := newClient(t, server, &mcp.ClientOptions{HealthInterval: test.interval})
				ready(t, c)
				for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(30 * time.Second) {
					if test.talk != nil {
						test.talk(server)
						synctest.Wait()
					}
				}
				if n := len(server.Received("ping")); n < test.pings*9/10 || n > test.pings {
					t.Errorf("%d pings in ten minutes, want about %d", n, test.pings)
				}
				assert.Equal(t, server.Connections(), 1, "connections")
			})
		})
	}
}

// A server that refuses pings is not mute.
func TestRefusedPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"ping": mcptest.Error(-32601, "no such method")})
		c := newClient(t, server, nil)
		ready(t, c)
		time.Sleep(time.Hour)
		assert.Equal(t, server.Connections(), 1, "connections")
	})
}

// stateless is a transport whose connections hold no state.
type stateless struct{ mcp.Transport }

func (s stateless) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := s.Transport.Connect(ctx)
	return statelessConn{mcp.CallerOf(conn)}, err
}

type statelessConn struct{ mcp.Caller }

func (statelessConn) Info() mcp.ConnInfo { return mcp.ConnInfo{Stateless: true} }

func TestStatelessIsNotPinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		c := newClient(t, stateless{server}, nil)
		ready(t, c)
		time.Sleep(time.Hour)
		wantCount(t, server, "ping", 0)
	})
}
