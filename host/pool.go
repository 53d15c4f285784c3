package host

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/lru"
	"github.com/mcpbelt/mcpbelt/internal/turnover"
	"github.com/mcpbelt/mcpbelt/session"
)

// A pool holds the conns of users. There are never more than it has places, those that
// are being closed included; a call that needs a place waits, in turn, until a conn that
// is not taken is ended. Of several servers each has three quarters of the places at most: one
// that does not answer leaves some to the users of the others.
type pool struct {
	host   *Host
	all    *quota      // all places
	making keylock.Set // by key: held while a conn is made

	mu       sync.Mutex // guards the following, and the quotas
	conns    map[session.Key]*conn
	turnover turnover.Turnover[session.Key]
}

// A quota is a number of places for conns: all, or those that one server may have. A
// conn of one of several servers takes a place in two quotas.
type quota struct {
	places chan struct{} // a token for each conn

	// The rest is guarded by the pool.
	waiting int                      // for a place
	leaving int                      // conns that are being closed for those who wait here
	idle    lru.Map[*conn, struct{}] // those that nobody has, the longest idle first
}

func newQuota(places int) *quota { return &quota{places: make(chan struct{}, places)} }

func newPool(h *Host, places int) *pool {
	return &pool{host: h, all: newQuota(places), conns: map[session.Key]*conn{}}
}

// serverQuota returns a quota for the conns of one server.
func (p *pool) serverQuota() *quota { return newQuota(cap(p.all.places) - cap(p.all.places)/4) }

// quotas returns where a new conn of a server needs places, in the order in which they
// are to be taken.
func (p *pool) quotas(s *server) []*quota {
	for _, other := range p.host.current() {
		if other.perUser() && other.slot != s.slot {
			return []*quota{s.quota, p.all}
		}
	}
	return []*quota{p.all}
}

// take returns the conn of a user at a server, taken, and makes it if there is none.
func (p *pool) take(ctx context.Context, s *server, key session.Key) (*conn, error) {
	if l := p.find(s, key); l != nil {
		return l, nil
	}
	unlock, err := p.making.Lock(ctx, key.Server+"\x00"+key.User)
	if err != nil {
		return nil, fmt.Errorf("server %q: waiting for the user's client: %w", key.Server, err)
	}
	defer unlock()
	if l := p.find(s, key); l != nil {
		return l, nil
	}
	var in []*quota
	placed := false
	defer func() {
		if !placed { // also if a callback panics
			for _, r := range in {
				<-r.places
			}
		}
	}()
	for _, r := range p.quotas(s) {
		if err := p.place(ctx, r, key); err != nil {
			return nil, err
		}
		in = append(in, r)
	}
	l, err := s.userConn(ctx, key)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.mu.Lock()
	stopped := s.stopped
	s.mu.Unlock()
	if stopped { // and its conns were ended before this one was among them
		return nil, errEnded
	}
	if old := p.conns[key]; old != nil { // of a predecessor, whose conns are about to be ended
		old.end()
		p.closeLocked(old)
	}
	l.take()
	l.quotas = in
	l.gone = func() { p.freed(l) }
	p.conns[key] = l
	p.turnover.Got(key)
	placed = true
	p.host.broadcast()
	return l, nil
}

// find returns the conn of a user at a server, taken, if there is one.
func (p *pool) find(s *server, key session.Key) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.conns[key]; l != nil && l.server == s && l.take() {
		l.busyLocked()
		return l
	}
	return nil
}

// present returns the conn of a user at a server, or nil if there is none.
func (p *pool) present(s *server, key session.Key) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.conns[key]; l != nil && l.server == s {
		return l
	}
	return nil
}

// drop gives a conn back.
func (p *pool) drop(l *conn) {
	if !l.drop() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[l.key] != l || !l.isIdle() { // it was ended, or taken in the meantime
		return
	}
	for _, r := range l.quotas {
		r.idle.Put(l, struct{}{})
	}
	for _, r := range l.quotas {
		p.expelLocked(r)
	}
}

// place waits for a place in a quota.
func (p *pool) place(ctx context.Context, r *quota, key session.Key) error {
	select {
	case r.places <- struct{}{}:
		return nil
	default:
	}
	p.mu.Lock()
	r.waiting++
	p.expelLocked(r)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		r.waiting--
		p.mu.Unlock()
	}()
	select {
	case r.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return waited(key, ctx.Err())
	case <-p.host.intake.Done():
		return ErrClosed
	}
}

func waited(key session.Key, err error) error {
	return fmt.Errorf("server %q: all places for the clients of users are taken: %w", key.Server, err)
}

// expelLocked ends the conns in a quota that were idle longest, as many as somebody waits
// for there.
func (p *pool) expelLocked(r *quota) {
	for l := range r.idle.Oldest() {
		if r.waiting <= r.leaving {
			return
		}
		l.busyLocked()
		if l.endIfIdle() {
			r.leaving++
			l.evicted = r
			p.turnover.Lost(l.key)
			p.closeLocked(l)
		}
	}
}

// wanted returns how many places would do for the users of a server and of the others,
// if they take each other's; else 0.
func (p *pool) wanted(s *server) int {
	several := len(p.quotas(s)) > 1
	p.mu.Lock()
	defer p.mu.Unlock()
	places := cap(p.all.places)
	if several {
		places = cap(s.quota.places)
	}
	n := p.turnover.Wanted(places, len(p.conns))
	if several {
		n += (n + 2) / 3 // a server has three quarters
	}
	return n
}

// rest ends an idle conn.
func (p *pool) rest(l *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.endIfIdle() {
		p.closeLocked(l)
	}
}

// retire ends the conns at a server when their calls have finished.
func (p *pool) retire(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.conns {
		if l.server == s {
			l.end()
			p.closeLocked(l)
		}
	}
}

// closeLocked closes an ended conn in the background.
func (p *pool) closeLocked(l *conn) {
	l.busyLocked()
	if p.conns[l.key] == l {
		delete(p.conns, l.key)
		p.host.broadcast()
	}
	p.host.ending.Go(func() { _ = l.close(p.host.ctx) })
}

// freed gives the places of a closed conn to calls that wait. In the same step it is said not
// to be leaving any more, so that no other call counts on it.
func (p *pool) freed(l *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range l.quotas {
		<-r.places
	}
	if l.evicted != nil {
		l.evicted.leaving--
	}
}

// abandon ends a conn when its calls have finished.
func (p *pool) abandon(l *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[l.key] == l {
		l.end()
		p.closeLocked(l)
	}
}

// halt keeps the conns at a server from being taken, and returns them to be closed.
func (p *pool) halt(s *server) []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []*conn
	for key, l := range p.conns {
		if l.server == s {
			l.end()
			l.busyLocked()
			delete(p.conns, key)
			conns = append(conns, l)
		}
	}
	return conns
}

// at returns the conns at a server.
func (p *pool) at(s *server) []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []*conn
	for _, l := range p.conns {
		if l.server == s {
			conns = append(conns, l)
		}
	}
	return conns
}
