package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A link is a client of a server while it is in use: that of all users, or that of
// one. Who makes calls takes it before and drops it afterwards; when it was not taken
// for some time it is idle, and its owner may end it.
type link struct {
	server *server
	key    session.Key
	client *mcp.Client

	idleAfter time.Duration // 0 or less: it never is
	idle      func(*link)   // called then, on a goroutine of its own

	reading chan struct{}            // holds a token while the tools are read
	known   atomic.Pointer[listing]  // as read last; nil: never
	unread  atomic.Pointer[readFail] // how reading failed last; nil: never

	gone     func()  // called when it is closed; may be nil
	rooms    []*room // where it has places; set once
	expelled *room   // where somebody waits for its place; nil: nowhere. Guarded by the pool

	stop   context.CancelFunc // ends who follows the client; nil if nobody does
	follow sync.WaitGroup

	mu       sync.Mutex // guards the following
	taken    int
	starting bool      // nobody knows yet what its server offers: it is not idle
	used     time.Time // when it was taken or dropped last
	ended    bool      // it is not taken any more
	quiet    chan struct{}
	expiry   *time.Timer
}

func newLink(s *server, key session.Key, c *mcp.Client) *link {
	return &link{server: s, key: key, client: c, reading: make(chan struct{}, 1), quiet: make(chan struct{}), used: time.Now()}
}

// take reports whether the link can be used; the caller drops it then.
func (l *link) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.taken++
	l.used = time.Now()
	if l.expiry != nil {
		l.expiry.Stop()
	}
	return true
}

// drop gives the link back, and reports whether nobody has it now.
func (l *link) drop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	if l.taken > 0 {
		return false
	}
	l.used = time.Now()
	if l.ended {
		close(l.quiet)
	} else {
		l.expireLocked()
	}
	return true
}

// expireLocked has the link be idle some time from now, if it is not taken before.
func (l *link) expireLocked() {
	switch {
	case l.idleAfter <= 0 || l.starting:
	case l.expiry == nil:
		l.expiry = time.AfterFunc(l.idleAfter, func() { l.idle(l) })
	default:
		l.expiry.Reset(l.idleAfter)
	}
}

// begun says that the first attempt to learn what the server offers has ended.
func (l *link) begun() {
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

// end keeps the link from being taken again.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
}

// endIfIdle is end, unless somebody has the link. It reports whether the caller is to
// close it.
func (l *link) endIfIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken == 0 && !l.starting && l.endLocked()
}

func (l *link) endLocked() bool {
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

// unused returns since when nobody has the link, and whether nobody has.
func (l *link) unused() (since time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used, l.taken == 0 && !l.ended
}

// unfollow ends who follows the client.
func (l *link) unfollow() {
	if l.stop != nil {
		l.stop()
	}
	l.follow.Wait()
}

// close ends the link when nobody has it any more, or when ctx ends. It returns ctx's
// error if calls were cut off.
func (l *link) close(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.server.host.ctx, cancel)()
	l.end()
	select {
	case <-l.quiet:
	case <-ctx.Done():
	}
	l.unfollow()
	err := l.client.Shutdown(ctx)
	if l.gone != nil {
		l.gone()
	}
	return err
}
