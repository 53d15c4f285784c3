package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/lru"
	"github.com/mcpbelt/mcpbelt/session"
)

// A pool holds the conns of one server: that of all users, under an empty name, or those of users. Of these
// there are never more than it has places, those that are being closed included; a call that needs a place
// waits, in turn, until a conn that is not taken is ended.
type pool struct {
	server *server
	places chan struct{} // a token for each conn of a user
	making keylock.Set   // by user: held while a conn is made

	mu      sync.Mutex // guards the following, and what changes of the conns
	conns   map[string]*conn
	idle    lru.Map[*conn, struct{}] // those of users that are not taken, the longest idle first
	waiting int                      // calls that wait for a place
	leaving int                      // conns that are being closed for these
}

func newPool(s *server, places int) *pool {
	return &pool{server: s, places: make(chan struct{}, places), conns: map[string]*conn{}}
}

// take returns the conn of a user, or of all, taken, and makes it if there is none.
func (p *pool) take(ctx context.Context, user string) (*conn, error) {
	if c := p.find(user); c != nil {
		return c, nil
	}
	name := p.server.entry.Name
	unlock, err := p.making.Lock(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("server %q: waiting for the user's client: %w", name, err)
	}
	defer unlock()
	if c := p.find(user); c != nil {
		return c, nil
	}
	placed := user == ""
	if !placed {
		if err := p.place(ctx); err != nil {
			return nil, err
		}
	}
	defer func() {
		if !placed { // also if a callback panics
			<-p.places
		}
	}()
	c, err := p.server.newConn(ctx, session.Key{User: user, Server: name})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.server.unusable(); err != nil {
		return nil, err
	}
	c.takeLocked()
	p.conns[user], placed = c, true
	if user == "" {
		c.follow()
		c.client.Connect()
	}
	p.server.host.changed.Ring()
	return c, nil
}

// find returns the conn of a user, taken, if there is one.
func (p *pool) find(user string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[user]; c != nil && c.takeLocked() {
		p.idle.Delete(c)
		return c
	}
	return nil
}

// get returns the conn of a user, or nil if there is none.
func (p *pool) get(user string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[user]
}

// drop gives a conn back.
func (p *pool) drop(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.dropLocked() && c.key.User != "" && p.conns[c.key.User] == c { // else it was ended
		p.idle.Put(c, struct{}{})
		p.evictLocked()
	}
}

// place waits for a place.
func (p *pool) place(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		return nil
	default:
	}
	p.mu.Lock()
	p.waiting++
	p.evictLocked()
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
	}()
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("server %q: all places for the clients of users are taken: %w", p.server.entry.Name, ctx.Err())
	case <-p.server.host.intake.Done():
		return ErrClosed
	}
}

// evictLocked ends the conns that were idle longest, as many as calls wait for.
func (p *pool) evictLocked() {
	for c := range p.idle.Oldest() {
		if p.waiting <= p.leaving {
			return
		}
		p.idle.Delete(c)
		if c.endLocked(true) {
			p.leaving++
			c.evicted = true
			p.closeLocked(c)
		}
	}
}

// close ends a conn when its calls have finished; if ifIdle is set, only if it has none.
func (p *pool) close(c *conn, ifIdle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.endLocked(ifIdle) {
		p.closeLocked(c)
	}
}

// closeLocked closes an ended conn in the background.
func (p *pool) closeLocked(c *conn) {
	p.removeLocked(c)
	p.server.host.ending.Go(func() { _ = c.close(p.server.host.ctx) })
}

func (p *pool) removeLocked(c *conn) {
	p.idle.Delete(c)
	if p.conns[c.key.User] == c {
		delete(p.conns, c.key.User)
		p.server.host.changed.Ring()
	}
}

// free gives the place of a closed conn to a call that waits. In the same step the conn is
// said not to be leaving any more, so that no other call counts on it.
func (p *pool) free(c *conn) {
	if c.key.User == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	<-p.places
	if c.evicted {
		p.leaving--
	}
}

// end keeps the conns from being taken, and returns them to be closed.
func (p *pool) end() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []*conn
	for _, c := range p.conns {
		c.endLocked(false)
		p.removeLocked(c)
		conns = append(conns, c)
	}
	return conns
}

// users returns the conns of users.
func (p *pool) users() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(p.conns)), func(c *conn) bool { return c.key.User == "" })
}

// closing returns what closes conns when their calls have finished.
func closing(conns []*conn) wait {
	return func(ctx context.Context) error {
		return atOnce(conns, func(c *conn) error { return c.close(ctx) })
	}
}
