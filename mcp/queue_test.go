package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// Requests beyond what may be in flight wait, those beyond what may wait are
// turned away, and say so.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waits = 3
		release := make(chan struct{})
		server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			<-release
			text("done")(c)
		}})
		c := newClient(t, server, &mcp.ClientOptions{MaxInFlight: 2, MaxQueued: waits})
		ready(t, c)
		var wg sync.WaitGroup
		for range 2 + waits {
			wg.Go(func() {
				assert.Is(t, errOf(call(t, c, "slow")), nil)
			})
		}
		synctest.Wait()
		wantCount(t, server, "tools/call", 2)
		_, err := call(t, c, "slow")
		want := mcp.BusyError{Server: "scripted", InFlight: 2, Queued: waits, QueuedBytes: 8 * waits, Bound: "count", RetryAfter: time.Second}
		busy := assert.As[*mcp.BusyError](t, err, "beyond the queue")
		assert.Equal(t, *busy, want, "beyond the queue: busy")
		busy = assert.As[*mcp.BusyError](t, c.Busy(t.Context(), 0), "a look at the full queue")
		assert.Equal(t, *busy, want, "a look at the full queue: busy")
		wantOutcome(t, err, mcp.NotSent)
		close(release)
		wg.Wait()
		assert.OK(t, c.Busy(t.Context(), 0), "a look at the empty queue")
		mustCall(t, c, "slow")
		wantCount(t, server, "tools/call", 3+waits)
	})
}

// RetryAfter is how long those that wait will take, by the mean of what has ended.
func TestRetryAfter(t *testing.T) {
	for _, test := range []struct{ takes, want time.Duration }{
		{time.Microsecond, 10 * time.Millisecond},
		{100 * time.Millisecond, 200 * time.Millisecond}, // 2 in flight, 3 wait
		{5 * time.Minute, time.Minute},
	} {
		t.Run(test.takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
					time.Sleep(test.takes) // sleep: on the bubble's clock
					text("done")(c)
				}})
				c := newClient(t, server, &mcp.ClientOptions{MaxInFlight: 2, MaxQueued: 3, IdleTimeout: time.Hour, CallTimeout: time.Hour, HealthInterval: -1})
				mustCall(t, c, "slow")
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() { mustCall(t, c, "slow") })
				}
				synctest.Wait()
				_, err := call(t, c, "slow")
				busy := assert.As[*mcp.BusyError](t, err)
				assert.Equal(t, busy.RetryAfter, test.want)
				wg.Wait()
			})
		})
	}
}

// One that gives up while it waits makes room in the queue.
func TestQueueIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Hang})
		c := newClient(t, server, &mcp.ClientOptions{MaxInFlight: 1, MaxQueued: 1})
		ready(t, c)
		ctx, stop := context.WithCancel(t.Context())
		first := inBackground(func() error { return errOf(c.CallTool(ctx, "slow", nil, nil)) })
		synctest.Wait()
		for range 3 {
			ctx, giveUp := context.WithCancel(t.Context())
			waiting := inBackground(func() error { return errOf(c.CallTool(ctx, "slow", nil, nil)) })
			synctest.Wait()
			giveUp()
			err := <-waiting
			assert.Is(t, err, context.Canceled)
			wantOutcome(t, err, mcp.NotSent)
		}
		stop()
		<-first
		wantCount(t, server, "tools/call", 1)
	})
}

// Users take turns, and none takes the places that are left for the others.
func TestQueueOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := make(chan struct{})
		server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			<-turns
			text("done")(c)
		}})
		user := func(ctx context.Context) string { name, _ := ctx.Value(userKey{}).(string); return name }
		c := newClient(t, server, &mcp.ClientOptions{MaxInFlight: 1, MaxQueued: 6, User: user, HealthInterval: -1})
		ready(t, c)
		var served []string
		enter := func(name string) {
			ctx := context.WithValue(t.Context(), userKey{}, name)
			go func() {
				assert.Is(t, errOf(c.CallTool(ctx, "slow", nil, nil)), nil)
				served = append(served, name) // one at a time
			}()
			synctest.Wait()
		}
		for _, name := range []string{"first", "ann", "ann", "ann", "ben"} {
			enter(name)
		}
		ctx := context.WithValue(t.Context(), userKey{}, "ann")
		_, err := c.CallTool(ctx, "slow", nil, nil)
		busy := assert.As[*mcp.BusyError](t, err, "a fourth call of ann's")
		assert.Equal(t, busy.Bound, "user", "the bound")
		busy = assert.As[*mcp.BusyError](t, c.Busy(ctx, 0), "a look for ann")
		assert.OK(t, c.Busy(t.Context(), 0), "a look for nobody")
		enter("")
		for range 6 {
			turns <- struct{}{}
			synctest.Wait()
		}
		wantList(t, served, []string{"first", "ann", "ben", "", "ann", "ann"})
	})
}

// What waits is bounded in bytes as well.
func TestQueueOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": mcptest.Hang})
		c := newClient(t, server, &mcp.ClientOptions{MaxInFlight: 1, MaxQueuedBytes: 1000})
		ready(t, c)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		args := json.RawMessage(`{"a":"` + strings.Repeat("x", 600) + `"}`)
		for range 2 { // one is sent, and one waits
			go func() { _, _ = c.CallTool(ctx, "slow", args, nil) }()
			synctest.Wait()
		}
		_, err := c.CallTool(ctx, "slow", args, nil)
		busy := assert.As[*mcp.BusyError](t, err)
		assert.Equal(t, busy.Bound, "bytes", "the bound")
		busy = assert.As[*mcp.BusyError](t, c.Busy(ctx, len(args)), "a look with as many bytes")
		assert.OK(t, c.Busy(ctx, 100), "a look with a few bytes")
	})
}
