package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/lru"
	"github.com/mcpbelt/mcpbelt/internal/origin"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A pool holds the conns of one server: that of all users, under an empty name, or those of users. Of these
// there are never more than it has places, those that are being closed included; a call that needs a place
// waits, in turn, until a conn that is not taken is ended.
type pool struct {
	host   *shared
	server string        // its name
	origin origin.Origin // what the conns of users have in common

	newConn  func(context.Context, session.Key) (*conn, error)
	unusable func() error // says why there can be no conn; nil: there can
	follow   func(*conn)  // follows the state of the conn of all users, whose client was not used yet
	settle   func()       // says that the first attempt of the server has ended

	places chan struct{} // a token for each conn of a user
	making keylock.Set   // by user: held while a conn is made

	mu      sync.Mutex // guards the following, and what changes of the conns
	conns   map[string]*conn
	idle    lru.Map[*conn, struct{}] // those of users that are not taken, the longest idle first
	waiting int                      // calls that wait for a place
	leaving int                      // conns that are being closed for these
}

// A conn is a client of a server while it is in use: that of all users, or that of
// one. A call takes it before and drops it afterwards; when it was not taken for some
// time it is idle, and its owner may end it.
type conn struct {
	key    session.Key
	client *mcp.Client

	idleAfter time.Duration // unused, it is ended then; 0 or less: it never is
	expire    func()        // ends it then, if it is idle

	reading chan struct{}            // holds a token while the tools are read
	known   atomic.Pointer[listing]  // as read last; nil: never
	unread  atomic.Pointer[readFail] // how reading failed last; nil: never

	follower *again.Task        // looks at the state of the client; nil: it is that of one user
	ctx      context.Context    // ends with the follower
	cancel   context.CancelFunc // of ctx
	stage    string             // that was told last; of the follower

	// The pool's mu guards the following.

	taken    int           // calls that have it
	starting bool          // its server has not been asked what it offers: it is not idle
	ended    bool          // it is not taken any more
	evicted  bool          // it was ended for another user, who waits for its place
	quiet    chan struct{} // closed when it is ended and not taken
	expiry   *time.Timer   // of idleAfter; may be nil
}

// take returns the conn of a user, or of all, taken, and makes it if there is none.
func (p *pool) take(ctx context.Context, user string) (*conn, error) {
	if c := p.find(user); c != nil {
		return c, nil
	}
	unlock, err := p.making.Lock(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("server %q: waiting for the user's client: %w", p.server, err)
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
	c, err := p.newConn(ctx, session.Key{User: user, Server: p.server})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.unusable(); err != nil {
		return nil, err
	}
	c.expire = func() { p.close(c, true) }
	c.takeLocked()
	p.conns[user], placed = c, true
	if user == "" {
		p.follow(c)
		c.client.Connect()
	}
	p.host.changed.Ring()
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
		return fmt.Errorf("server %q: all places for the clients of users are taken: %w", p.server, ctx.Err())
	case <-p.host.intake.Done():
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
	p.host.ending.Go(func() { _ = p.finish(p.host.ctx, c) })
}

func (p *pool) removeLocked(c *conn) {
	p.idle.Delete(c)
	if p.conns[c.key.User] == c {
		delete(p.conns, c.key.User)
		p.host.changed.Ring()
	}
}

// attempted says that the first attempt by a conn to learn what the server offers has ended.
func (p *pool) attempted(c *conn) {
	p.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	first := c.starting
	c.starting = false
	if first && c.taken == 0 && !c.ended {
		c.expireLocked()
	}
}

// finish closes the client of an ended conn when it is taken no more, or when ctx ends, and gives its place to a
// call that waits. It returns ctx's error if calls were cut off.
func (p *pool) finish(ctx context.Context, c *conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.host.ctx, cancel)()
	select {
	case <-c.quiet:
	case <-ctx.Done():
	}
	if c.follower != nil {
		c.cancel()
		c.follower.End()
		p.settle()
	}
	err := c.client.Shutdown(ctx)
	p.origin.Rest()
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.key.User != "" {
		<-p.places
	}
	if c.evicted { // it leaves no more, in the same step, so that no other call counts on it
		p.leaving--
	}
	return err
}

// end keeps the conns from being taken, and returns what closes them when their calls have finished.
func (p *pool) end() wait {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []*conn
	for _, c := range p.conns {
		c.endLocked(false)
		p.removeLocked(c)
		conns = append(conns, c)
	}
	return func(ctx context.Context) error {
		return atOnce(conns, func(c *conn) error { return p.finish(ctx, c) })
	}
}

// users returns the conns of users.
func (p *pool) users() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(p.conns)), func(c *conn) bool { return c.key.User == "" })
}

// takeLocked reports whether the conn can be used; the caller drops it then.
func (c *conn) takeLocked() bool {
	if c.ended {
		return false
	}
	c.taken++
	if c.expiry != nil {
		c.expiry.Stop()
	}
	return true
}

// dropLocked gives the conn back, and reports whether it is taken no more.
func (c *conn) dropLocked() bool {
	c.taken--
	if c.taken > 0 {
		return false
	}
	if c.ended {
		close(c.quiet)
	} else {
		c.expireLocked()
	}
	return true
}

// expireLocked has the conn be idle some time from now, if it is not taken before.
func (c *conn) expireLocked() {
	switch {
	case c.idleAfter <= 0 || c.starting:
	case c.expiry == nil:
		c.expiry = time.AfterFunc(c.idleAfter, c.expire)
	default:
		c.expiry.Reset(c.idleAfter)
	}
}

// endLocked keeps the conn from being taken again; if ifIdle is set, only if it is not taken, and was
// tried. It reports whether it did.
func (c *conn) endLocked(ifIdle bool) bool {
	if c.ended || ifIdle && (c.taken > 0 || c.starting) {
		return false
	}
	c.ended = true
	if c.expiry != nil {
		c.expiry.Stop()
	}
	if c.taken == 0 {
		close(c.quiet)
	}
	return true
}

// A readFail is an attempt to read the tools that failed.
type readFail struct {
	at  time.Time
	err error
}
