package ledger

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

// A request is something that a caller wants to be kept.
type request struct {
	op      ledgerOp
	seen    *sighting // what a server lists; nil: it is a decision
	durable bool      // seen must not be forgotten, see sighting.observe
	err     error
	done    chan struct{} // closed when it was answered, with err
}

// enqueue lets requests wait, again if they are not answered.
func (l *Ledger) enqueue(requests ...*request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, requests...)
}

// takeAll returns all requests that wait, in their order.
func (l *Ledger) takeAll() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.waiting
	l.waiting = nil
	return all
}

// withdraw takes back a request that waits.
func (l *Ledger) withdraw(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(other *request) bool { return other == r })
}

// do answers a request, and returns when what it asks for is kept. Of the callers that wait
// one gets the turn, and writes once for all: a write takes about the same time whatever has
// changed. The others take its place if its context ends first.
func (l *Ledger) do(ctx context.Context, r *request) error {
	if l == nil || l.turn == nil {
		return errNoLedger
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	l.enqueue(r)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	case l.turn <- struct{}{}:
		runtime.Gosched() // callers that are about to ask come along: a fifth fewer writes for eight of them
		l.answer(ctx, l.takeAll())
		<-l.turn
		select {
		case <-r.done:
			return r.err
		default:
		}
	}
	l.withdraw(r)
	return ctx.Err()
}

// answer works on requests. Those that it does not answer, because ctx has ended, wait
// again. It needs the turn.
func (l *Ledger) answer(ctx context.Context, group []*request) {
	if len(group) == 0 {
		return
	}
	unread := l.renew(ctx)
	if ctx.Err() != nil {
		l.enqueue(group...)
		return
	}
	group = slices.DeleteFunc(group, func(r *request) bool { return r.seen != nil && l.settle(r, unread == nil) })
	err := unread
	if err == nil && len(group) > 0 {
		err = l.commit(ctx, group...)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		l.enqueue(group...)
	case errors.Is(err, storage.ErrTooLarge) && len(group) > 1: // perhaps because of one of them
		for _, r := range group {
			l.answer(ctx, []*request{r})
		}
	default:
		for _, r := range group {
			l.finish(r, err)
		}
	}
}

// settle answers a request to note what a server lists, unless it has to be written now.
func (l *Ledger) settle(r *request, sound bool) bool {
	name := r.op.server
	e := editLedger(&ledgerState{servers: map[string]*ledgerServer{}}) // of this server only: an edit copies the map
	if srv := l.now().state.servers[name]; srv != nil {
		e.state.servers[name] = srv
	}
	r.durable = r.seen.observe(e)
	switch {
	case !e.changed && !slices.ContainsFunc(l.journal, func(op ledgerOp) bool { return op.server == name }):
	case !r.durable && sound && !l.mayNote(name, time.Now()):
		l.later(r.seen)
	default:
		return false
	}
	close(r.done)
	return true
}

// finish answers a request that was to be written, with the error of the write.
func (l *Ledger) finish(r *request, err error) {
	if err != nil && r.seen != nil && !r.durable { // what waits can be decided about all the same
		l.later(r.seen)
	}
	if r.err == nil {
		r.err = err
	} else if err != nil {
		r.err = errors.Join(r.err, err)
	}
	close(r.done)
}

// later notes a list, and leaves it to the next write to keep it.
func (l *Ledger) later(seen *sighting) {
	e := editLedger(l.now().state)
	if seen.observe(e); e.changed {
		l.postpone(seen.note())
		l.publish(e.state)
	}
}
