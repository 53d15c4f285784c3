package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// A flight is one request on its way: the context of its Call. It ends with its
// caller's context, with the life that carries it, and when a time limit of the
// request is over.
//
// It does what three contexts and two timers would do, for the price of one.
type flight struct {
	context.Context // its caller's
	life            *life
	request         *request
	opts            CallOptions
	number          int           // among those of its life
	id              int64         // on the wire; 0 if unknown; guarded by the life's mu
	began           time.Duration // when it was launched, since the life began
	due             time.Duration // when a limit is over, since the life began; 0 while none runs; guarded by the life's mu

	mu     sync.Mutex    // guards the following
	done   chan struct{} // made when Done is first called
	unbind func() bool   // from its caller's context; nil while it need not hear of its end
	err    error
	cause  error
	landed bool
	hook   func()         // to be run at the end; see Hook
	after  map[int]func() // the same; see AfterFunc
	afters int            // how many were given to AfterFunc
}

// launch prepares f to be the context of a request. Without an error land must
// follow.
func (c *Client) launch(ctx context.Context, f *flight, l *life, r *request) error {
	f.Context, f.life, f.request = ctx, l, r
	f.opts.Header = r.header
	if r.call != nil {
		f.opts.ProgressToken = c.tokens.Add(1)
		f.opts.Progress = f.progress
	}
	if err := ctx.Err(); err != nil {
		return WithOutcome(err, NotSent)
	}
	if err := l.board(f); err != nil {
		return WithOutcome(err, NotSent)
	}
	return nil
}

// noteID has the transport tell the id of the request, by which questions and log messages of
// the server are matched to it. There are no questions in revision 2026-07-28, nor without a
// handler, and the log messages matter to a caller with [WithLog] alone.
func (f *flight) noteID() {
	c, r := f.life.client, f.request
	if r.asked == nil {
		return
	}
	questions := !f.life.modern() && (c.declares(protocol.Elicit) || c.declares(protocol.Sample))
	if !questions && r.caller.Value(logKey{}) == nil {
		return
	}
	traced := f.opts.Numbered
	f.opts.Numbered = func(id int64) {
		f.life.mu.Lock()
		f.id = id
		f.life.mu.Unlock()
		if traced != nil {
			traced(id)
		}
	}
}

// land ends the flight of a request that has ended.
func (f *flight) land() {
	f.life.leave(f)
	f.mu.Lock()
	f.landed = true
	unbind := f.unbind
	f.mu.Unlock()
	if unbind != nil {
		unbind()
	}
}

// cancel ends the flight before it has landed. Only the first call counts.
func (f *flight) cancel(err, cause error) {
	f.mu.Lock()
	if f.err != nil || f.landed {
		f.mu.Unlock()
		return
	}
	f.err, f.cause = err, cause
	hook, after := f.hook, f.after
	f.hook, f.after = nil, nil
	if f.done != nil {
		close(f.done)
	}
	f.mu.Unlock()
	if hook != nil {
		go hook()
	}
	for _, run := range after {
		go run()
	}
}

// expire is called when that time is over.
func (f *flight) expire() {
	if rest := f.life.patience(f.request.idle); rest > 0 && time.Now().Before(f.request.until) {
		f.life.limit(f, rest)
		return
	}
	timeout := &TimeoutError{"idle", f.request.idle}
	if !time.Now().Before(f.request.until) {
		timeout = &TimeoutError{"total", f.request.total}
	}
	f.cancel(context.Canceled, f.life.withStrays(timeout))
}

// progress hands a notification on. What the caller does with it takes none of
// the server's time.
func (f *flight) progress(params json.RawMessage) {
	f.life.pulse.Beat()
	f.life.unlimit(f)
	f.request.call.report(params)
	f.life.limit(f, f.request.idle)
}

// Done implements context.Context.
func (f *flight) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done != nil {
		return f.done
	}
	f.done = make(chan struct{})
	if f.err != nil {
		close(f.done)
	}
	f.bindLocked()
	return f.done
}

// bindLocked makes the flight hear of the end of its caller's context.
func (f *flight) bindLocked() {
	if f.unbind == nil && f.err == nil && !f.landed && f.Context.Done() != nil {
		f.unbind = context.AfterFunc(f.Context, func() { f.ended() })
	}
}

// Err implements context.Context.
func (f *flight) Err() error {
	err, _ := f.ended()
	return err
}

// ended returns how and why the flight was cancelled, if it was.
func (f *flight) ended() (err, cause error) {
	if err := f.Context.Err(); err != nil {
		f.cancel(err, f.life.withStrays(context.Cause(f.Context)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err, f.cause
}

// AfterFunc is known to package context: with it a context that is derived from
// this one needs no goroutine to wait for its end.
func (f *flight) AfterFunc(run func()) (stop func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		go run()
		return func() bool { return false }
	}
	f.bindLocked()
	if f.after == nil {
		f.after = make(map[int]func())
	}
	id := f.afters
	f.afters++
	f.after[id] = run
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, waits := f.after[id]
		delete(f.after, id)
		return waits
	}
}

// Hook makes run be called when the flight ends, unless that is the end of its caller's
// context, which it returns. It is a cheaper AfterFunc for a connection, which needs one
// function at most at a time.
func (f *flight) Hook(run func()) (caller context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		go run()
	} else {
		f.hook = run
	}
	return f.Context
}

// Unhook ends Hook. The function may still be called if it was already due.
func (f *flight) Unhook() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = nil
}
