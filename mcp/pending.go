package mcp

import (
	"context"
	"sync"
	"time"
)

// A pendingRequest is a request between being sent and being answered. It is the context of
// its Call, which ends with the caller's context, with the connection, and when a time limit
// of the request is over. It replaces three contexts and two timers.
type pendingRequest struct {
	context.Context // its caller's
	conn            carrier
	request         *request
	opts            CallOptions
	number          int           // 1 for the first request of the connection
	id              int64         // the JSON-RPC id; 0: not known; guarded by conn.mu
	started         time.Duration // when it was sent, since conn.opened
	deadline        time.Duration // when the next time limit is over, since conn.opened; 0: none runs; guarded by conn.mu

	mu       sync.Mutex    // guards the following
	done     chan struct{} // made when Done is first called
	unbind   func() bool   // stops waiting for the end of the caller's context; nil while nothing waits
	err      error
	cause    error
	finished bool
	hook     func()         // runs at the end; see Hook
	after    map[int]func() // run at the end; see AfterFunc
	afters   int            // how many functions were given to AfterFunc
}

// A carrier carries pending requests: a connection.
type carrier interface {
	remove(p *pendingRequest)
	withStrays(err error) error
}

// finish ends the context of a request that has ended.
func (p *pendingRequest) finish() {
	p.conn.remove(p)
	p.mu.Lock()
	p.finished = true
	unbind := p.unbind
	p.mu.Unlock()
	if unbind != nil {
		unbind()
	}
}

// cancel ends the pending request before it has finished. Only the first call counts.
func (p *pendingRequest) cancel(err, cause error) {
	p.mu.Lock()
	if p.err != nil || p.finished {
		p.mu.Unlock()
		return
	}
	p.err, p.cause = err, cause
	hook, after := p.hook, p.after
	p.hook, p.after = nil, nil
	if p.done != nil {
		close(p.done)
	}
	p.mu.Unlock()
	if hook != nil {
		go hook()
	}
	for _, run := range after {
		go run()
	}
}

// Done implements context.Context.
func (p *pendingRequest) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		return p.done
	}
	p.done = make(chan struct{})
	if p.err != nil {
		close(p.done)
	}
	p.bindLocked()
	return p.done
}

// bindLocked makes the pending request hear of the end of its caller's context.
func (p *pendingRequest) bindLocked() {
	if p.unbind == nil && p.err == nil && !p.finished && p.Context.Done() != nil {
		p.unbind = context.AfterFunc(p.Context, func() { p.ended() })
	}
}

// Err implements context.Context.
func (p *pendingRequest) Err() error {
	err, _ := p.ended()
	return err
}

// ended returns how and why the pending request was cancelled, if it was.
func (p *pendingRequest) ended() (err, cause error) {
	if err := p.Context.Err(); err != nil {
		p.cancel(err, p.conn.withStrays(context.Cause(p.Context)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err, p.cause
}

// AfterFunc is known to package context: with it a context that is derived from
// this one needs no goroutine to wait for its end.
func (p *pendingRequest) AfterFunc(run func()) (stop func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		go run()
		return func() bool { return false }
	}
	p.bindLocked()
	if p.after == nil {
		p.after = make(map[int]func())
	}
	id := p.afters
	p.afters++
	p.after[id] = run
	return func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, waits := p.after[id]
		delete(p.after, id)
		return waits
	}
}

// Hook makes run be called when the pending request ends, unless that is the end of its caller's
// context, which it returns. It is a cheaper AfterFunc for a connection, which needs one
// function at most at a time.
func (p *pendingRequest) Hook(run func()) (caller context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		go run()
	} else {
		p.hook = run
	}
	return p.Context
}

// Unhook ends Hook. The function may still be called if it was already due.
func (p *pendingRequest) Unhook() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = nil
}
