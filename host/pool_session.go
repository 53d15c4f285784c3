package host

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// keptPerPlace is how many sessions are kept for each place of the pool.
	keptPerPlace = 16
	// endSessionsFor is how long the sessions at a server are ended that is stopped; it
	// ends the others itself some time.
	endSessionsFor = 2 * time.Second
	// endSessionsAtOnce is how many of them are ended at the same time.
	endSessionsAtOnce = 16
)

// A keptSession is what is left, at its server, of a conn that was ended for another user.
// The next conn of its user goes on with it. It is kept as long as the conn would have been
// idle.
type keptSession struct {
	server  *server
	session *transport.Session
	expiry  *time.Timer // nil: it is kept for ever
}

// sessionOf returns the session with which a new conn goes on, or an empty one.
func (p *pool) sessionOf(s *server, key session.Key) *transport.Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept.Peek(key); ok && k.server == s {
		p.forgetLocked(key)
		return k.session
	}
	return new(transport.Session)
}

// keepLocked keeps the session of a closed conn, if it has one, and returns those that are
// to be ended.
func (p *pool) keepLocked(l *conn) (ended []*transport.Session) {
	if l.session == nil || !l.session.Kept() {
		return nil
	}
	l.server.mu.Lock()
	stopped := l.server.stopped
	l.server.mu.Unlock()
	if stopped {
		return []*transport.Session{l.session}
	}
	if k, ok := p.kept.Peek(l.key); ok { // of a conn that was closed later
		p.forgetLocked(l.key)
		ended = append(ended, k.session)
	}
	for key, k := range p.kept.Oldest() {
		if p.kept.Len()/keptPerPlace < cap(p.all.places) {
			break
		}
		p.forgetLocked(key)
		ended = append(ended, k.session)
	}
	k := &keptSession{server: l.server, session: l.session}
	key := l.key // and not the conn, which is not to be held
	if l.idleAfter > 0 {
		k.expiry = time.AfterFunc(l.idleAfter, func() { p.expire(key, k) })
	}
	p.kept.Put(key, k)
	return ended
}

func (p *pool) forgetLocked(key session.Key) {
	if k, ok := p.kept.Peek(key); ok && k.expiry != nil {
		k.expiry.Stop()
	}
	p.kept.Delete(key)
}

// expire ends a session that nobody has gone on with.
func (p *pool) expire(key session.Key, k *keptSession) {
	leave, err := p.host.visit()
	if err != nil {
		return // the server is stopped, which ends its sessions
	}
	defer leave()
	p.mu.Lock()
	now, _ := p.kept.Peek(key)
	if now == k {
		p.forgetLocked(key)
	}
	p.mu.Unlock()
	if now == k {
		k.session.End()
	}
}

// endSessionsLocked ends, in the background, the sessions that are kept at a server.
func (p *pool) endSessionsLocked(s *server) {
	var all []*transport.Session
	for key, k := range p.kept.Oldest() {
		if k.server == s {
			p.forgetLocked(key)
			all = append(all, k.session)
		}
	}
	if all == nil {
		return
	}
	slices.Reverse(all) // those that were used last are the least likely to be gone there
	p.host.ending.Go(func() {
		until := time.Now().Add(endSessionsFor)
		var next atomic.Int64
		var wg sync.WaitGroup
		for range min(len(all), endSessionsAtOnce) {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(all) && time.Now().Before(until); i = int(next.Add(1)) - 1 {
					all[i].End()
				}
			})
		}
		wg.Wait()
		s.origin.Rest()
	})
}
