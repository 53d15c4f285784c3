package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/again"
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

	idleAfter time.Duration // unused, it is ended then; 0 or less: it never is

	reading chan struct{}            // holds a token while the tools are read
	known   atomic.Pointer[listing]  // as read last; nil: never
	unread  atomic.Pointer[readFail] // how reading failed last; nil: never

	follower *again.Task        // looks at the state of the client; nil: it is that of one user
	ctx      context.Context    // ends with the follower
	cancel   context.CancelFunc // of ctx
	stage    Stage              // that was told last; of the follower

	// The pool's mu guards the following.

	taken    int           // calls that have it
	starting bool          // its server has not been asked what it offers: it is not idle
	ended    bool          // it is not taken any more
	evicted  bool          // it was ended for another user, who waits for its place
	quiet    chan struct{} // closed when it is ended and not taken
	expiry   *time.Timer   // of idleAfter; may be nil
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
		c.expiry = time.AfterFunc(c.idleAfter, func() { c.server.pool.close(c, true) })
	default:
		c.expiry.Reset(c.idleAfter)
	}
}

// attempted says that the first attempt to learn what the server offers has ended.
func (c *conn) attempted() {
	c.server.settle()
	c.server.pool.mu.Lock()
	defer c.server.pool.mu.Unlock()
	first := c.starting
	c.starting = false
	if first && c.taken == 0 && !c.ended {
		c.expireLocked()
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

// close closes an ended conn when it is taken no more, or when ctx ends. It returns ctx's
// error if calls were cut off.
func (c *conn) close(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.server.host.ctx, cancel)()
	select {
	case <-c.quiet:
	case <-ctx.Done():
	}
	if c.follower != nil {
		c.cancel()
		c.follower.End()
		c.server.settle()
	}
	err := c.client.Shutdown(ctx)
	c.server.origin.Rest()
	c.server.pool.free(c)
	return err
}
