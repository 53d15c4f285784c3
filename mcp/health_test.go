package mcp_test

import (
	"context"
	"math"
	"sync"
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
	everyRevisionInBubble(t, func(t *testing.T, revision string) {
		script := mcptest.Handshake(revision, "")
		script["ping"] = mcptest.Hang
		if probe := script["server/discover"]; probe != nil {
			script["server/discover"] = mcptest.Sequence(probe, mcptest.Hang, mcptest.Hang, mcptest.Hang, probe)
		}
		server, c := withClient(t, mcptest.NewServer(t, script), nil)
		ready(t, c)
		var why error
		for s := range c.Watch(t.Context()) {
			if s.Phase != mcp.Ready {
				why = s.Err
				break
			}
		}
		mute := assert.As[*mcp.UnresponsiveError](t, why)
		wantBetween(t, mute.For, 3*time.Minute, 5*time.Minute, "silence")
		ready(t, c)
		assert.Equal(t, server.Connections(), 2, "connections")
	})
}

// What a server is asked keeps it busy, and so may what it was asked.
func TestBusyServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, mute(t), nil)
		ready(t, c)
		ctx, giveUp := context.WithCancel(t.Context())
		failed := inBackground(func() error {
			return errOf(c.CallTool(ctx, "slow", nil, &mcp.CallToolOptions{IdleTimeout: time.Hour, CallTimeout: time.Hour}))
		})
		pass(59 * time.Minute)
		giveUp()
		wantOutcome(t, <-failed, mcp.Unknown)
		pass(59 * time.Minute) // it may still run
		assert.Equal(t, server.Connections(), 1)
		wantCount(t, server, "ping", 0)
		pass(10 * time.Minute)
		wantBetween(t, server.Connections(), 2, math.MaxInt, "connections")
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
		pass(time.Until(end))
		assert.Equal(t, server.Connections(), 1, "a working server has connections")
		pass(10 * time.Minute)
		wantBetween(t, server.Connections(), 2, math.MaxInt, "connections")
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
				server, c := withClient(t, legacy(t), &mcp.ClientOptions{HealthInterval: test.interval})
				ready(t, c)
				for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(30 * time.Second) {
					if test.talk != nil {
						test.talk(server)
						synctest.Wait()
					}
				}
				wantBetween(t, len(server.Received("ping")), test.pings*9/10, test.pings, "ping")
				assert.Equal(t, server.Connections(), 1, "connections")
			})
		})
	}
}

// A server that refuses pings is not mute.
func TestRefusedPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t, mcptest.Script{"ping": mcptest.Error(-32601, "no such method")}), nil)
		ready(t, c)
		pass(time.Hour)
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
		pass(time.Hour)
		wantCount(t, server, "ping", 0)
	})
}

// wedges returns a handler that answers on no connection but the second.
func wedges(answer mcptest.Handler) mcptest.Handler {
	return func(c *mcptest.Call) {
		if c.Connection == 1 {
			mcptest.Hang(c)
			return
		}
		answer(c)
	}
}

// newWedgedServer returns a server that shakes hands, and whose first connection never
// says anything again.
func newWedgedServer(t testing.TB, revision string) *mcptest.Server {
	script := mcptest.Handshake(revision, "")
	script["ping"] = wedges(mcptest.Result("{}"))
	script["tools/call"] = wedges(text("fine"))
	if discover := script["server/discover"]; discover != nil {
		script["server/discover"] = mcptest.Sequence(discover, wedges(discover))
	}
	return mcptest.NewServer(t, script)
}

// A server that says nothing any more is replaced though it is called all the time, by
// one caller or by many.
func TestWedgedServerInUse(t *testing.T) {
	for _, callers := range []int{1, 10} {
		everywhere(t, func(t *testing.T, revision string, p plane) {
			synctest.Test(t, func(t *testing.T) {
				server, c := p.withClient(t, newWedgedServer(t, revision), nil)
				ready(t, c)
				var all sync.WaitGroup
				for i := range callers {
					all.Go(func() {
						time.Sleep(time.Duration(i) * 7 * time.Second)
						for range 10 {
							if _, err := call(t, c, "x"); err == nil {
								return
							}
						}
						t.Error("got ten calls that failed, want one of them to succeed")
					})
				}
				all.Wait()
				assert.Equal(t, server.Connections(), 2, "connections")
			})
		})
	}
}

// The state says why the connection ended.
func TestWedgedServerIsUnresponsive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, newWedgedServer(t, mcp.Revision20251125), nil)
		ready(t, c)
		var calls sync.WaitGroup
		calls.Go(func() {
			for range 10 {
				if _, err := call(t, c, "x"); err == nil {
					return
				}
			}
		})
		var why error
		for s := range c.Watch(t.Context()) {
			if s.Phase != mcp.Ready {
				why = s.Err
				break
			}
		}
		assert.As[*mcp.UnresponsiveError](t, why)
		calls.Wait()
	})
}

// A call that has not been given up is waited for, however many later ones were.
func TestSlowCallIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const work = 9 * time.Minute // of one call, on the only thread
		free := make(chan struct{})
		waits := func(answer mcptest.Handler) mcptest.Handler {
			return func(c *mcptest.Call) {
				<-free
				answer(c)
			}
		}
		server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": waits(text("fine")), "ping": waits(mcptest.Result("{}"))}), nil)
		ready(t, c)
		time.AfterFunc(work, func() { close(free) })
		var all sync.WaitGroup
		all.Go(func() {
			assert.Is(t, errOf(c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{IdleTimeout: time.Hour, CallTimeout: time.Hour})), nil)
		})
		synctest.Wait()
		for range 8 {
			assert.Fails(t, errOf(call(t, c, "x")), "a call beside the slow one succeeded")
		}
		all.Wait()
		assert.Equal(t, server.Connections(), 1, "connections")
	})
}

// A process that works is left alone, however many calls were given up.
func TestWorkingServerInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newWedgedServer(t, mcp.Revision20251125)
		end := time.Now().Add(30 * time.Minute)
		c := newClient(t, worker{server, func() bool { return time.Now().Before(end) }}, nil)
		ready(t, c)
		for time.Now().Before(end) {
			assert.Fails(t, errOf(call(t, c, "x")), "a call of a wedged server succeeded")
		}
		assert.Equal(t, server.Connections(), 1)
		for range 10 {
			if _, err := call(t, c, "x"); err == nil {
				return
			}
		}
		t.Error("got ten calls that failed after the work, want one of them to succeed")
	})
}

// A server that is too slow for its callers, and answers pings, is not replaced.
func TestTooSlowServerIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": mcptest.Hang}), nil)
		ready(t, c)
		for range 20 {
			ctx, giveUp := context.WithTimeout(t.Context(), 20*time.Second)
			assert.Fails(t, errOf(c.CallTool(ctx, "x", nil, nil)), "a call succeeded")
			giveUp()
		}
		assert.Equal(t, server.Connections(), 1, "connections")
	})
}

// A server with one thread that answers all, too late for those who asked, is not
// replaced: it is at work.
func TestLateServerIsNotReplaced(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			thread := make(chan struct{}, 1)
			slowly := func(answer mcptest.Handler) mcptest.Handler {
				return func(c *mcptest.Call) {
					thread <- struct{}{}
					defer func() { <-thread }()
					time.Sleep(70 * time.Second)
					answer(c)
				}
			}
			server, c := p.withClient(t, legacy(t, mcptest.Script{"tools/call": slowly(text("fine")), "ping": slowly(mcptest.Result("{}"))}), nil)
			ready(t, c)
			for range 30 {
				assert.Fails(t, errOf(call(t, c, "x")), "got an answer in time, want none")
			}
			assert.Equal(t, server.Connections(), 1, "connections")
			synctest.Wait()
			_ = c.Close()
			pass(2 * time.Hour) // the handlers end
		})
	})
}
