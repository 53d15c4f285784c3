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

	gone    func()   // called when it is closed; may be nil
	quotas  []*quota // where it has places; set once
	evicted *quota   // where another waits for its place; nil: nowhere. Guarded by the pool

	follower *follower // nil: none follows the client, which is that of one user

	mu       sync.Mutex // guards the following
	taken    int
	starting bool // its server has not been asked what it offers: it is not idle
	ended    bool // it is not taken any more
	quiet    chan struct{}
	expiry   *time.Timer
}

func newConn(s *server, key session.Key, c *mcp.Client) *conn {
	return &conn{server: s, key: key, client: c, reading: make(chan struct{}, 1), quiet: make(chan struct{})}
}

// take reports whether the conn can be used; the caller drops it then.
func (l *conn) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.taken++
	if l.expiry != nil {
		l.expiry.Stop()
	}
	return true
}

// drop gives the conn back, and reports whether it is taken no more.
func (l *conn) drop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	if l.taken > 0 {
		return false
	}
	if l.ended {
		close(l.quiet)
	} else {
		l.expireLocked()
	}
	return true
}

// expireLocked has the conn be idle some time from now, if it is not taken before.
func (l *conn) expireLocked() {
	switch {
	case l.idleAfter <= 0 || l.starting:
	case l.expiry == nil:
		l.expiry = time.AfterFunc(l.idleAfter, func() { l.idle(l) })
	default:
		l.expiry.Reset(l.idleAfter)
	}
}

// begun says that the first attempt to learn what the server offers has ended.
func (l *conn) begun() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.starting {
		return
	}
	l.starting = false
	if l.taken == 0 && !l.ended {
		l.expireLocked()
	}
}

// end keeps the conn from being taken again.
func (l *conn) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
}

// endIfIdle is end, unless the conn is taken. It reports whether the caller is to
// close it.
func (l *conn) endIfIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken == 0 && !l.starting && l.endLocked()
}

func (l *conn) endLocked() bool {
	if l.ended {
		return false
	}
	l.ended = true
	if l.expiry != nil {
		l.expiry.Stop()
	}
	if l.taken == 0 {
		close(l.quiet)
	}
	return true
}

// isIdle reports whether the conn has no user and can be given to one.
func (l *conn) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken == 0 && !l.ended
}

// isEnded reports whether the conn is not taken any more.
func (l *conn) isEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// busyLocked takes the link out of what its rooms have idle. It needs the pool's lock.
func (l *conn) busyLocked() {
	for _, r := range l.quotas {
		r.idle.Delete(l)
	}
}

// close ends the conn when it is taken no more, or when ctx ends. It returns ctx's
// error if calls were cut off.
func (l *conn) close(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.server.host.ctx, cancel)()
	l.end()
	select {
	case <-l.quiet:
	case <-ctx.Done():
	}
	if l.follower != nil {
		l.follower.end()
	}
	err := l.client.Shutdown(ctx)
	l.server.origin.Rest()
	if l.gone != nil {
		l.gone()
	}
	return err
}
