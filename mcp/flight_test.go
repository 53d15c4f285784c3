package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// aloft returns a flight that idles for a minute at most, and two at all.
func aloft(ctx context.Context, t *testing.T) (*flight, *Client) {
	t.Helper()
	c := NewClient("x", newWriteLog(), nil)
	t.Cleanup(func() { _ = c.Close() })
	l := &life{tap: &tap{}, flights: map[*flight]struct{}{}}
	l.alive, l.die = context.WithCancel(context.Background())
	f := &flight{}
	r := &request{idle: time.Minute, total: 2 * time.Minute, until: time.Now().Add(2 * time.Minute)}
	if err := c.launch(ctx, f, l, r); err != nil {
		t.Fatal(err)
	}
	return f, c
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
				f, c := aloft(ctx, t)
				hooked, stopped := make(chan struct{}), false
				caller := f.Hook(func() { close(hooked) })
				child, forget := context.WithCancel(f)
				defer forget()
				stop := context.AfterFunc(f, func() { stopped = true })
				if !stop() || f.Err() != nil || child.Value(key{}) != "value" {
					t.Error("a flight that goes on looks ended")
				}
				end.by(f, cancel)
				<-f.Done()
				<-child.Done()
				select {
				case <-hooked:
				case <-caller.Done(): // the hook is not for this end
				}
				synctest.Wait()
				if err, cause := f.ended(); !errors.Is(err, end.err) || !errors.Is(f.Err(), end.err) || !errors.Is(cause, end.want) {
					t.Errorf("ended by %v, because of %v", err, cause)
				}
				late := make(chan struct{}, 2)
				f.Hook(func() { late <- struct{}{} })
				context.AfterFunc(f, func() { late <- struct{}{} })
				<-late
				<-late
				if stopped {
					t.Error("what was stopped has run")
				}
				f.land(c)
			})
		})
	}
}

// One that has landed ends for nobody any more: its clock and place are another's.
func TestFlightHasLanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f, c := aloft(ctx, t)
		f.Hook(func() { t.Error("the hook was called") })
		f.Unhook()
		f.land(c)
		second, _ := aloft(t.Context(), t)
		time.Sleep(30 * time.Second)
		cancel()
		f.life.end(errRenewed)
		synctest.Wait()
		if f.Err() != nil || second.Err() != nil {
			t.Errorf("%v, %v", f.Err(), second.Err())
		}
	})
}
