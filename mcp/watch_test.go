package mcp_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		c := newClient(t, server, nil)
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
			wantList(t, seen, want)
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
		states := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range c.Watch(ctx) {
				states++
			}
		}()
		synctest.Wait()
		cancel()
		<-ended
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
		server := legacy(t)
		c := newClient(t, server, nil)
		woken := make(chan struct{}, 1)
		c.OnChange(func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		for _, step := range []struct {
			do   func()
			want mcp.Phase
		}{
			{func() { ready(t, c) }, mcp.Ready},
			{func() { server.Down(errDown); server.Disconnect() }, mcp.Waiting},
			{func() { _ = c.Close() }, mcp.Closed},
		} {
			step.do()
			synctest.Wait()
			select {
			case <-woken:
			default:
				t.Errorf("got no call before %v", step.want)
			}
			assert.Equal(t, c.State().Phase, step.want)
		}
	})
}
