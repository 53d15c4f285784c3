// Package fairqueue bounds how much is done at one time. What is beyond that waits in a
// queue that is bounded as well, and that users take turns in.
package fairqueue

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// A Bound is what keeps something from waiting.
type Bound string

// The bounds. The user's is reached before the others: of what may wait, a user may have
// as much as is left for the others. So one user alone can fill half of the queue, two a
// third of it each, and there is room for one more user without taking a place from
// anybody who waits in it.
const (
	Count Bound = "count" // so many wait
	Bytes Bound = "bytes" // so much waits
	User  Bound = "user"  // so much of the user's waits
)

// Limits bound a Queue.
type Limits struct {
	Running int   // how many run at one time
	Waiting int   // how many wait
	Bytes   int64 // of all that wait together
}

// A Refusal says that something may not wait, and what does.
type Refusal struct {
	Bound   Bound // empty: it may wait, or run
	Waiting int
	Bytes   int64
}

// Errors of [Queue.Enter], beside those of its context.
var (
	ErrFull   = errors.New("fairqueue: full")
	ErrClosed = errors.New("fairqueue: closed")
)

// A Queue is what [New] returns. It is safe for concurrent use.
type Queue struct {
	limits Limits
	closed <-chan struct{}

	running atomic.Int64 // changed under the lock
	unused  sync.Pool    // of *ticket

	mu      sync.Mutex // guards the following
	waiting int
	bytes   int64
	lines   map[string]*line // of the users for whom something waits
	turns   list.List        // of *line: whose turn is next in front
}

// A line is what waits for one user.
type line struct {
	user    string
	at      *list.Element // in turns
	tickets ticket        // the end of their ring: the oldest is behind it
	waiting int
	bytes   int64
}

// A ticket is something that waits.
type ticket struct {
	line       *line // nil: it does not wait any more
	prev, next *ticket
	bytes      int64
	ready      chan struct{} // capacity 1: it may run
}

// New returns an empty queue, which nothing waits in once closed is closed.
func New(limits Limits, closed <-chan struct{}) *Queue {
	return &Queue{limits: limits, closed: closed, lines: map[string]*line{}}
}

// TryEnter reports whether something can run at once. If so, [Queue.Leave] ends it.
func (q *Queue) TryEnter() bool {
	if !q.IsFree() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tryEnter()
}

// Enter waits until something of so many bytes can run for a user; [Queue.Leave] ends it.
// Users take turns: what is the first of a user's waits for at most one thing of each
// other user. All for whom there is no name are one user, whose part of the queue is not
// bounded. The error is [ErrFull], at once and with a Refusal, [ErrClosed], or that of
// ctx; then nothing runs.
func (q *Queue) Enter(ctx context.Context, user string, bytes int64) (Refusal, error) {
	q.mu.Lock()
	if q.tryEnter() {
		q.mu.Unlock()
		return Refusal{}, nil
	}
	if r := q.refusal(user, bytes); r.Bound != "" {
		q.mu.Unlock()
		return r, ErrFull
	}
	t := q.join(user, bytes)
	q.mu.Unlock()
	defer q.unused.Put(t)
	var err error
	select {
	case <-t.ready:
		return Refusal{}, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-q.closed:
		err = ErrClosed
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.line != nil {
		q.remove(t)
	} else { // it has got its turn meanwhile, which it does not use
		<-t.ready
		q.leave()
	}
	return Refusal{}, err
}

// Leave ends what has entered. The next that waits runs.
func (q *Queue) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leave()
}

// IsFree reports whether something could run at once now.
func (q *Queue) IsFree() bool { return q.running.Load() < int64(q.limits.Running) }

// Look returns with what [Queue.Enter] would fail now. It reserves nothing.
func (q *Queue) Look(user string, bytes int64) Refusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.IsFree() {
		return Refusal{}
	}
	return q.refusal(user, bytes)
}

// tryEnter is TryEnter. It needs the lock, as do those below.
func (q *Queue) tryEnter() bool {
	if !q.IsFree() {
		return false
	}
	q.running.Add(1)
	return true
}

// refusal says whether something may wait.
func (q *Queue) refusal(user string, bytes int64) Refusal {
	r := Refusal{Waiting: q.waiting, Bytes: q.bytes}
	places, room := q.limits.Waiting-q.waiting, q.limits.Bytes-q.bytes // that are left
	l := q.lines[user]
	switch {
	case places <= 0:
		r.Bound = Count
	case bytes > room:
		r.Bound = Bytes
	case user != "" && l != nil && (l.waiting >= places || l.bytes > room-bytes):
		r.Bound = User
	}
	return r
}

// join has something wait behind what waits for the same user.
func (q *Queue) join(user string, bytes int64) *ticket {
	l := q.lines[user]
	if l == nil {
		l = &line{user: user}
		l.tickets.prev, l.tickets.next = &l.tickets, &l.tickets
		l.at = q.turns.PushBack(l)
		q.lines[user] = l
	}
	t, _ := q.unused.Get().(*ticket)
	if t == nil {
		t = &ticket{ready: make(chan struct{}, 1)}
	}
	t.line, t.bytes = l, bytes
	t.prev, t.next = l.tickets.prev, &l.tickets
	t.prev.next, t.next.prev = t, t
	q.count(l, 1, bytes)
	return t
}

// remove takes out of the queue what waits there.
func (q *Queue) remove(t *ticket) {
	l := t.line
	t.prev.next, t.next.prev = t.next, t.prev
	t.line, t.prev, t.next = nil, nil, nil
	q.count(l, -1, -t.bytes)
	if l.waiting == 0 {
		q.turns.Remove(l.at)
		delete(q.lines, l.user)
	}
}

// count notes how much more waits in a line.
func (q *Queue) count(l *line, waiting int, bytes int64) {
	l.waiting += waiting
	l.bytes += bytes
	q.waiting += waiting
	q.bytes += bytes
}

// leave gives the turn of what has ended to the oldest of the user who is next.
func (q *Queue) leave() {
	next := q.turns.Front()
	if next == nil {
		q.running.Add(-1)
		return
	}
	q.turns.MoveToBack(next)
	t := next.Value.(*line).tickets.next
	q.remove(t)
	t.ready <- struct{}{}
}
