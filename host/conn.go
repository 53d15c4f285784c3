package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A conn is a client of a server while it is in use: that of all users, or that of
// one. A call takes it before and drops it afterwards; when it was not taken for some
// time it is idle, and its owner may end it.
type conn struct {
	server *server
	key    session.Key
	client *mcp.Client

	idleAfter time.Duration // 0 or less: it never is
	idle      func(*conn)   // called then, on a goroutine of its own

	reading chan struct{}            // holds a token while the tools are read
	known   atomic.Pointer[listing]  // as read last; nil: never
	unread  atomic.Pointer[readFail] // how reading failed last; nil: never

	gone    func() // called when it is closed; may be nil
	evicted bool   // it was ended for another user, who waits for its place; guarded by the pool

	follower *follower // nil: none follows the client, which is that of one user

	mu       sync.Mutex    // guards the following
	taken    int           // calls that have it
	starting bool          // its server has not been asked what it offers: it is not idle
	ended    bool          // it is not taken any more
	quiet    chan struct{} // closed when it is ended and not taken
	expiry   *time.Timer   // calls idle; may be nil
}

func newConn(s *server, key session.Key, client *mcp.Client) *conn {
	return &conn{server: s, key: key, client: client, reading: make(chan struct{}, 1), quiet: make(chan struct{})}
}

// take reports whether the conn can be used; the caller drops it then.
func (c *conn) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.taken++
	if c.expiry != nil {
		c.expiry.Stop()
	}
	return true
}

// drop gives the conn back, and reports whether it is taken no more.
func (c *conn) drop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
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
		c.expiry = time.AfterFunc(c.idleAfter, func() { c.idle(c) })
	default:
		c.expiry.Reset(c.idleAfter)
	}
}

// listed says that the first attempt to learn what the server offers has ended.
func (c *conn) listed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.starting {
		return
	}
	c.starting = false
	if c.taken == 0 && !c.ended {
		c.expireLocked()
	}
}

// end keeps the conn from being taken again.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
}

// endIfIdle is end, unless the conn is taken. It reports whether the caller is to
// close it.
func (c *conn) endIfIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken == 0 && !c.starting && c.endLocked()
}

func (c *conn) endLocked() bool {
	if c.ended {
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

// isIdle reports whether the conn has no user and can be given to one.
func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken == 0 && !c.ended
}

// isEnded reports whether the conn is not taken any more.
func (c *conn) isEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// close ends the conn when it is taken no more, or when ctx ends. It returns ctx's
// error if calls were cut off.
func (c *conn) close(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.server.host.ctx, cancel)()
	c.end()
	select {
	case <-c.quiet:
	case <-ctx.Done():
	}
	if c.follower != nil {
		c.follower.end()
	}
	err := c.client.Shutdown(ctx)
	c.server.origin.Rest()
	if c.gone != nil {
		c.gone()
	}
	return err
}
