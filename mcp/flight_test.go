package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// newFlight returns a flight that idles for a minute at most, and two at all.
func newFlight(ctx context.Context, t *testing.T) *flight {
	t.Helper()
	l := &life{born: time.Now(), flights: map[*flight]struct{}{}}
	l.alive, l.die = context.WithCancel(context.Background())
	return newFlightOf(ctx, t, l, time.Minute)
}

// newFlightOf returns a flight of a life.
func newFlightOf(ctx context.Context, t *testing.T, l *life, idle time.Duration) *flight {
	t.Helper()
	c := NewClient("x", newWriteLog(), nil)
	t.Cleanup(func() { _ = c.Close() })
	f := &flight{}
	r := &request{idle: idle, total: 2 * idle, until: time.Now().Add(2 * idle)}
	assert.OK(t, c.launch(ctx, f, l, r))
	return f
}

// Each flight of a connection ends at its own time, whichever began first.
func TestFlightsExpireInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		first := newFlight(t.Context(), t)
		var all []*flight
		for _, idle := range []time.Duration{3, 1, 2} {
			all = append(all, newFlightOf(t.Context(), t, first.life, idle*time.Second))
		}
		first.land()
		late := newFlightOf(t.Context(), t, first.life, 4*time.Second)
		for i, want := range []time.Duration{3, 1, 2} {
			go func() {
				<-all[i].Done()
				assert.Equal(t, time.Since(start), want*time.Second, "flight %d", i)
				all[i].land()
			}()
		}
		<-late.Done()
		assert.Equal(t, time.Since(start), 4*time.Second, "the last one: the end after")
		late.land()
	})
}

// A flight is a context like any other to those who get it, whatever ends it.
func TestFlightIsAContext(t *testing.T) {
	type key struct{}
	for name, end := range map[string]struct {
		by   func(f *flight, cancel func())
		err  error
		want error
	}{
		"caller": {func(_ *flight, cancel func()) { cancel() }, context.Canceled, context.Canceled},
		"life":   {func(f *flight, _ func()) { f.life.end(errRenewed) }, context.Canceled, errRenewed},
		"time":   {func(*flight, func()) { time.Sleep(time.Minute) }, context.Canceled, context.DeadlineExceeded}, // sleep: in the bubble below
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
				defer cancel()
				f := newFlight(ctx, t)
				hooked, stopped := make(chan struct{}), false
				caller := f.Hook(func() { close(hooked) })
				child, forget := context.WithCancel(f)
				defer forget()
				stop := context.AfterFunc(f, func() { stopped = true })
				assert.OK(t, f.Err(), "a flight that goes on looks ended")
				assert.Equal(t, [...]any{stop(), child.Value(key{})}, [...]any{true, "value"}, "a flight that goes on looks ended")
				end.by(f, cancel)
				<-f.Done()
				<-child.Done()
				select {
				case <-hooked:
				case <-caller.Done(): // the hook is not for this end
				}
				synctest.Wait()
				err, cause := f.ended()
				ends := errors.Is(err, end.err) && errors.Is(f.Err(), end.err) && errors.Is(cause, end.want)
				assert.True(t, ends, "ended by %v, because of %v", err, cause)
				late := make(chan struct{}, 2)
				f.Hook(func() { late <- struct{}{} })
				context.AfterFunc(f, func() { late <- struct{}{} })
				<-late
				<-late
				assert.False(t, stopped, "what was stopped has run")
				f.land()
			})
		})
	}
}

// One that has landed ends for nobody any more: its clock and place are another's.
func TestFlightHasLanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFlight(ctx, t)
		f.Hook(func() { t.Error("the hook was called") })
		f.Unhook()
		f.land()
		second := newFlight(t.Context(), t)
		time.Sleep(30 * time.Second)
		cancel()
		f.life.end(errRenewed)
		synctest.Wait()
		assert.OK(t, f.Err())
		assert.OK(t, second.Err())
	})
}
