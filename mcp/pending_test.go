// Tests of pending.go and pending_set.go: the ends of requests.

package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// newPending returns a pending request that idles for a minute at most, and two at all.
func newPending(ctx context.Context, t *testing.T) *pendingRequest {
	t.Helper()
	conn := &connection{opened: time.Now(), pending: map[*pendingRequest]struct{}{}}
	conn.ctx, conn.cancel = context.WithCancel(context.Background())
	return newPendingOn(ctx, t, conn, time.Minute)
}

// newPendingOn returns a pending request of a connection.
func newPendingOn(ctx context.Context, t *testing.T, on carrier, idle time.Duration) *pendingRequest {
	t.Helper()
	c := NewClient("x", newWriteLog(), nil)
	t.Cleanup(func() { _ = c.Close() })
	p, conn := &pendingRequest{}, on.(*connection)
	conn.shared = &c.shared
	r := &request{idle: idle, total: 2 * idle, until: time.Now().Add(2 * idle)}
	assert.OK(t, conn.start(ctx, p, r))
	return p
}

// Each pending request of a connection ends at its own time, whichever began first.
func TestRequestsExpireInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		first := newPending(t.Context(), t)
		var all []*pendingRequest
		for _, idle := range []time.Duration{3, 1, 2} {
			all = append(all, newPendingOn(t.Context(), t, first.conn, idle*time.Second))
		}
		first.finish()
		late := newPendingOn(t.Context(), t, first.conn, 4*time.Second)
		for i, want := range []time.Duration{3, 1, 2} {
			go func() {
				<-all[i].Done()
				assert.Equal(t, time.Since(start), want*time.Second, "request %d", i)
				all[i].finish()
			}()
		}
		<-late.Done()
		assert.Equal(t, time.Since(start), 4*time.Second, "the last one: the end after")
		late.finish()
	})
}

// A pending request is a context like any other to those who get it, whatever ends it.
func TestPendingRequestIsAContext(t *testing.T) {
	type key struct{}
	for name, end := range map[string]struct {
		by   func(p *pendingRequest, cancel func())
		err  error
		want error
	}{
		"caller": {func(_ *pendingRequest, cancel func()) { cancel() }, context.Canceled, context.Canceled},
		"conn":   {func(p *pendingRequest, _ func()) { p.conn.(*connection).end(errRenewed) }, context.Canceled, errRenewed},
		"time":   {func(*pendingRequest, func()) { time.Sleep(time.Minute) }, context.Canceled, context.DeadlineExceeded}, // sleep: in the bubble below
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
				defer cancel()
				p := newPending(ctx, t)
				hooked, stopped := make(chan struct{}), false
				caller := p.Hook(func() { close(hooked) })
				child, forget := context.WithCancel(p)
				defer forget()
				stop := context.AfterFunc(p, func() { stopped = true })
				assert.OK(t, p.Err(), "a pending request that goes on looks ended")
				assert.Equal(t, [...]any{stop(), child.Value(key{})}, [...]any{true, "value"}, "a pending request that goes on looks ended")
				end.by(p, cancel)
				<-p.Done()
				<-child.Done()
				select {
				case <-hooked:
				case <-caller.Done(): // the hook is not for this end
				}
				synctest.Wait()
				err, cause := p.ended()
				ends := errors.Is(err, end.err) && errors.Is(p.Err(), end.err) && errors.Is(cause, end.want)
				assert.True(t, ends, "ended by %v, because of %v", err, cause)
				late := make(chan struct{}, 2)
				p.Hook(func() { late <- struct{}{} })
				context.AfterFunc(p, func() { late <- struct{}{} })
				<-late
				<-late
				assert.False(t, stopped, "what was stopped has run")
				p.finish()
			})
		})
	}
}

// One that has finished ends for nobody any more: its clock and place are another's.
func TestRequestHasFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPending(ctx, t)
		p.Hook(func() { t.Error("the hook was called") })
		p.Unhook()
		p.finish()
		second := newPending(t.Context(), t)
		time.Sleep(30 * time.Second)
		cancel()
		p.conn.(*connection).end(errRenewed)
		synctest.Wait()
		assert.OK(t, p.Err())
		assert.OK(t, second.Err())
	})
}
