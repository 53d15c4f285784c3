package mcp_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
				if _, err := call(t, c, "slow"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		wantCount(t, server, "tools/call", 2)
		_, err := call(t, c, "slow")
		var busy *mcp.BusyError
		want := mcp.BusyError{Server: "scripted", InFlight: 2, Queued: waits, RetryAfter: time.Second}
		if !errors.As(err, &busy) || *busy != want {
			t.Errorf("beyond the queue: got %v, want %v", err, &want)
		}
		if !errors.As(c.Busy(), &busy) || *busy != want {
			t.Errorf("a look at the full queue: got %v, want %v", c.Busy(), &want)
		}
		wantOutcome(t, err, mcp.NotSent)
		close(release)
		wg.Wait()
		if err := c.Busy(); err != nil {
			t.Errorf("a look at the empty queue: got %v, want none", err)
		}
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
				var busy *mcp.BusyError
				if !errors.As(err, &busy) {
					t.Fatalf("got %v, want a BusyError", err)
				}
				if got := busy.RetryAfter; got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
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
		first := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "slow", nil, nil)
			first <- err
		}()
		synctest.Wait()
		for range 3 {
			ctx, giveUp := context.WithCancel(t.Context())
			waiting := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, "slow", nil, nil)
				waiting <- err
			}()
			synctest.Wait()
			giveUp()
			err := <-waiting
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			wantOutcome(t, err, mcp.NotSent)
		}
		stop()
		<-first
		wantCount(t, server, "tools/call", 1)
	})
}
