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

// newSilentServer returns a server that shakes hands and never says anything again.
func newSilentServer(t testing.TB) *mcptest.Server {
	return legacy(t, mcptest.Script{"ping": mcptest.Hang, "tools/call": mcptest.Hang})
}

// whyNotReady waits until a client is not ready, and returns the error that its state tells.
func whyNotReady(t *testing.T, c *mcp.Client) error {
	for s := range c.Watch(t.Context()) {
		if s.Phase != mcp.Ready {
			return s.Err
		}
	}
	return nil
}

func TestSilentServerIsGivenUp(t *testing.T) {
	everyRevisionInBubble(t, func(t *testing.T, revision string) {
		script := mcptest.Handshake(revision, "")
		script["ping"] = mcptest.Hang
		if probe := script["server/discover"]; probe != nil {
			script["server/discover"] = mcptest.Sequence(probe, mcptest.Hang, mcptest.Hang, mcptest.Hang, slowly(time.Second, probe)) // the state between is seen
		} else {
			script["initialize"] = mcptest.Sequence(script["initialize"], slowly(time.Second, script["initialize"]))
		}
		server, c := withReady(t, mcptest.NewServer(t, script), nil)
		assert.Between(t, assert.As[*mcp.UnresponsiveError](t, whyNotReady(t, c)).For, 3*time.Minute, 5*time.Minute, "silence")
		ready(t, c)
		assert.Equal(t, server.Connections(), 2, "connections")
	})
}

// What a server is asked keeps it busy, and so may what it was asked.
func TestBusyServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withReady(t, newSilentServer(t), nil)
		ctx, giveUp := context.WithCancel(t.Context())
		failed := inBackground(func() error {
			return assert.Err(c.CallTool(ctx, "slow", nil, &mcp.RequestOptions{IdleTimeout: time.Hour, CallTimeout: time.Hour}))
		})
		pass(59 * time.Minute)
		giveUp()
		wantOutcome(t, <-failed, mcp.Unknown)
		pass(59 * time.Minute) // it may still run
		assert.Equal(t, server.Connections(), 1)
		wantCount(t, server, "ping", 0)
		pass(10 * time.Minute)
		assert.Between(t, server.Connections(), 2, math.MaxInt, "connections")
	})
}

// working returns a transport to a process that works until a time without saying anything.
func working(to mcp.Transport, until time.Time) mcp.Transport {
	return wrapped(to, func(conn mcp.Conn) mcp.Conn { return &workingConn{Caller: mcp.CallerOf(conn), until: until} })
}

type workingConn struct {
	mcp.Caller
	until time.Time
	signs atomic.Uint64
}

func (w *workingConn) Info() mcp.ConnInfo {
	info := w.Caller.Info()
	if time.Now().Before(w.until) {
		w.signs.Add(1)
	}
	info.Signs += w.signs.Load()
	return info
}

func TestWorkingServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newSilentServer(t)
		newReady(t, working(server, time.Now().Add(10*time.Minute)), nil)
		pass(10 * time.Minute)
		assert.Equal(t, server.Connections(), 1, "connections while it works")
		pass(10 * time.Minute)
		assert.Between(t, server.Connections(), 2, 9, "connections afterwards")
	})
}

// Only silence is asked about, and not where a connection has no state. A server that refuses
// pings is not silent.
func TestPings(t *testing.T) {
	stateless := func(to mcp.Transport) mcp.Transport {
		return wrapped(to, func(conn mcp.Conn) mcp.Conn { return statelessConn{mcp.CallerOf(conn)} })
	}
	same := func(to mcp.Transport) mcp.Transport { return to }
	for name, test := range map[string]struct {
		interval time.Duration
		ping     mcptest.Handler
		to       func(mcp.Transport) mcp.Transport
		pings    int
	}{
		"silent": {0, mcptest.Result(`{}`), same, 10}, "refused": {0, mcptest.Error(-32601, "no such method"), same, 10},
		"talking": {0, mcptest.Result(`{}`), same, 0}, "off": {-1, mcptest.Result(`{}`), same, 0},
		"often": {time.Second, mcptest.Result(`{}`), same, 600}, "stateless": {0, mcptest.Result(`{}`), stateless, 0},
	} {
		runInBubble(t, name, func(t *testing.T) {
			server := legacy(t, mcptest.Script{"ping": test.ping})
			newReady(t, test.to(server), &mcp.ClientOptions{HealthInterval: test.interval})
			for range 20 {
				if name == "talking" {
					server.Notify("notifications/tools/list_changed", "")
				}
				pass(30 * time.Second)
			}
			assert.Between(t, len(server.Received("ping")), test.pings*9/10, test.pings, "ping")
			assert.Equal(t, server.Connections(), 1, "connections")
		})
	}
}

type statelessConn struct{ mcp.Caller }

func (statelessConn) Info() mcp.ConnInfo { return mcp.ConnInfo{Stateless: true} }

// onSecond returns a handler that answers on no connection but the second.
func onSecond(answer mcptest.Handler) mcptest.Handler {
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
	script["ping"] = onSecond(mcptest.Result("{}"))
	script["tools/call"] = onSecond(text("fine"))
	if discover := script["server/discover"]; discover != nil {
		script["server/discover"] = mcptest.Sequence(discover, onSecond(discover))
	}
	return mcptest.NewServer(t, script)
}

// A server that says nothing any more is replaced though it is called all the time, by
// one caller or by many.
func TestWedgedServerInUse(t *testing.T) {
	for _, callers := range []int{1, 10} {
		inBubbles(t, func(t *testing.T, revision string, p plane) {
			server, c := p.withReady(t, newWedgedServer(t, revision), nil)
			why := inBackground(func() error { return whyNotReady(t, c) })
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					pause(time.Duration(i) * 7 * time.Second)
					wantSuccess(t, c)
				})
			}
			all.Wait()
			assert.Equal(t, server.Connections(), 2, "connections")
			assert.As[*mcp.UnresponsiveError](t, <-why)
		})
	}
}

// wantSuccess calls until a call succeeds.
func wantSuccess(t *testing.T, c *mcp.Client) {
	for range 10 {
		if _, err := call(t, c, "x"); err == nil {
			return
		}
	}
	t.Error("got ten calls that failed, want one of them to succeed")
}

// A call that has not been given up is waited for, however many later ones were.
func TestSlowCallIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{}) // the only thread
		server, c := withReady(t, legacy(t, mcptest.Script{
			"tools/call": held(free, text("fine")), "ping": held(free, mcptest.Result("{}"))}), nil)
		time.AfterFunc(9*time.Minute, func() { close(free) })
		slow := inBackground(func() error {
			return assert.Err(c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{IdleTimeout: time.Hour, CallTimeout: time.Hour}))
		})
		synctest.Wait()
		for range 8 {
			assert.Fails(t, assert.Err(call(t, c, "x")), "a call beside the slow one")
		}
		assert.OK(t, <-slow)
		assert.Equal(t, server.Connections(), 1, "connections")
	})
}

// A process that works is left alone, however many calls were given up.
func TestWorkingServerInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newWedgedServer(t, mcp.Revision20251125)
		end := time.Now().Add(30 * time.Minute)
		c := newReady(t, working(server, end), nil)
		for time.Now().Before(end) {
			assert.Fails(t, assert.Err(call(t, c, "x")), "a call of a server that says nothing")
		}
		assert.Equal(t, server.Connections(), 1, "connections")
		wantSuccess(t, c)
	})
}

// A server that is too slow for its callers, and answers pings, is not replaced.
func TestTooSlowServerIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withReady(t, legacy(t, mcptest.Script{"tools/call": mcptest.Hang}), nil)
		for range 20 {
			assert.Fails(t, assert.Err(c.CallTool(within(t, 20*time.Second), "x", nil, nil)))
		}
		assert.Equal(t, server.Connections(), 1, "connections")
	})
}

// A server with one thread that answers all, too late for those who asked, is not
// replaced: it is at work.
func TestLateServerIsNotReplaced(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		thread := make(chan struct{}, 1)
		late := func(answer mcptest.Handler) mcptest.Handler {
			return func(c *mcptest.Call) {
				thread <- struct{}{}
				slowly(70*time.Second, answer)(c)
				<-thread
			}
		}
		server, c := p.withReady(t, legacy(t, mcptest.Script{"tools/call": late(text("fine")), "ping": late(mcptest.Result("{}"))}), nil)
		for range 30 {
			assert.Fails(t, assert.Err(call(t, c, "x")), "an answer in time")
		}
		assert.Equal(t, server.Connections(), 1, "connections")
		_ = c.Close()
		pass(2 * time.Hour) // the handlers end
	})
}
