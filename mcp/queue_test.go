package mcp_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

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
		if !errors.As(err, &busy) || *busy != (mcp.BusyError{Server: "scripted", InFlight: 2, Queued: waits}) {
			t.Errorf("beyond the queue: %v", err)
		}
		wantOutcome(t, err, mcp.NotSent)
		close(release)
		wg.Wait()
		mustCall(t, c, "slow")
		wantCount(t, server, "tools/call", 3+waits)
	})
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
