package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/pulse"
)

// A life is one connection, from its making to its end: it makes the handshake, carries
// requests, and takes what the server sends unasked. It owns the goroutines that answer the
// server's requests, one that keeps the subscriptions to changes, and one that runs for as
// long as a silent server is pinged.
type life struct {
	client *Client
	conn   Caller

	// The following are set by the handshake, before ready is.
	ready  atomic.Bool
	info   *serverInfo
	born   time.Time
	roots  int64  // changes of the roots before it began
	meta   []byte // members of _meta in every request, each followed by a comma
	number int    // State.Connections of it; set before anybody can have it

	leveled bool      // it was told what to log; guarded by the lock "level"
	passed  time.Time // when changes of lists were passed on last; for attend

	// The following belong to the handshake.
	handshaking atomic.Int64 // id of its last request
	unheard     bool         // discover was sent and not answered in time
	late        bool         // but with a result later

	changes     atomic.Int64          // announcements of other tools
	listed      atomic.Int64          // of those, how many the list of tools takes account of
	mended      atomic.Int64          // times that announcements may have been missed
	unannounced atomic.Bool           // the server does not announce other tools, whatever it says
	login       atomic.Pointer[login] // that the server wants before it answers; nil if none

	strays  atomic.Int64           // answers to requests that nobody made
	strayID atomic.Pointer[string] // id of the last of them; nil if there is none

	pulse     pulse.Pulse
	signs     uint64 // of work, as seen last by working
	sick      error  // why the server must be given up; guarded by the client's lock
	allowance allowance

	taking sync.Mutex      // held while a message is taken
	alive  context.Context // ends with the life
	die    context.CancelFunc
	ended  chan struct{} // closed when the connection cannot be read any more
	why    error         // of that; read after ended is closed
	ours   bool          // the life was over by then; as why

	landed chan struct{} // capacity 1: the last flight of a retired life has ended

	mu         sync.Mutex // guards the following, and orders wg.Add before wg.Wait
	wg         sync.WaitGroup
	waited     bool // for wg
	flights    map[*flight]struct{}
	begun      int           // flights so far
	over       error         // why it ended; no request is sent any more
	health     *time.Timer   // for the next look at a silent server; nil if there is none
	alarm      *time.Timer   // looks for flights whose time is over; nil before the first
	rings      time.Duration // when it does, since the life began; 0 if it does not; never after any is due
	unanswered unanswered
	questions  int64                   // of the server, for which none of flights was counted yet
	serving    map[jsonrpc.ID]*service // requests of the server
	granting   int                     // server requests under way
	granted    time.Time               // when the last one ended
	listener   *listener               // nil if the server announces nothing, or in its own way
}

func newLife(c *Client, conn Conn) *life {
	l := &life{
		client:  c,
		conn:    CallerOf(conn),
		ended:   make(chan struct{}),
		landed:  make(chan struct{}, 1),
		flights: make(map[*flight]struct{}),
		serving: make(map[jsonrpc.ID]*service),
	}
	l.alive, l.die = context.WithCancel(c.closing)
	l.conn.Receive(l.take, l.broke)
	return l
}

// modern reports whether revision 2026-07-28 is spoken, after the handshake.
func (l *life) modern() bool { return l.info.revision >= Revision20260728 }

// broke notes that the connection has ended, and why. Only the first call counts.
func (l *life) broke(err error) {
	l.mu.Lock()
	first := !isClosed(l.ended)
	if first {
		l.why, l.ours = err, l.over != nil
		close(l.ended)
	}
	l.mu.Unlock()
	if first {
		l.client.tell(0)
	}
}

// isClosed reports whether a channel that carries nothing is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// gone reports whether the connection has ended, even if the reader has not seen it yet.
func (l *life) gone() bool { return isClosed(l.ended) || l.conn.Info().Err != nil }

// died returns why the connection ended if that was not by close, or nil.
func (l *life) died() error {
	if isClosed(l.ended) && !l.ours {
		return l.why
	}
	return nil
}

// blame returns what is behind an error of the handshake: if the connection ended, why.
func (l *life) blame(ctx context.Context, err error) error {
	if l.conn.Info().Err != nil {
		select {
		case <-l.ended: // soon
		case <-ctx.Done():
		}
	}
	return cmp.Or(l.died(), err)
}

// errEnded ends a life for want of a better reason.
var errEnded = errors.New("the connection ended")

// close ends a life. It waits for the connection to close, as long as that
// takes, and for a while for handlers that still run.
func (l *life) close(cause error) {
	l.end(cause)
	_ = l.conn.Close()
	within(closeTimeout, func() {
		l.mu.Lock()
		l.waited = true
		l.mu.Unlock()
		l.wg.Wait()
	})
}

// goes runs f on a goroutine that close waits for. It does nothing, and reports so, once
// close waits.
func (l *life) goes(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.waited {
		l.wg.Go(f)
	}
	return !l.waited
}

// after runs f on a goroutine of its own in d, unless the life ends before.
func (l *life) after(d time.Duration, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil {
		l.health = time.AfterFunc(d, func() { l.goes(f) })
	}
}

// board binds a flight to the life.
func (l *life) board(f *flight) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.over
	}
	l.flights[f] = struct{}{}
	l.begun++
	f.number = l.begun
	f.began = l.limitLocked(f, f.request.idle)
	return nil
}

// limit has a flight expire after a time or when its total is over, unless that is set
// anew before.
func (l *life) limit(f *flight, idle time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, flies := l.flights[f]; flies {
		l.limitLocked(f, idle)
	}
}

// limitLocked sets the alarm only for the first flight of many: calls are short, and
// times to wait are long.
func (l *life) limitLocked(f *flight, idle time.Duration) (now time.Duration) {
	at := time.Now()
	now = at.Sub(l.born)
	wait := min(idle, f.request.until.Sub(at))
	f.due = max(now+wait, 1)
	l.alarmLocked(f.due, wait)
	return now
}

// unlimit ends limit.
func (l *life) unlimit(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.due = 0
}

// alarmLocked makes the alarm ring at a time that is due, in wait, or before.
func (l *life) alarmLocked(due, wait time.Duration) {
	if l.rings != 0 && l.rings <= due {
		return
	}
	l.rings = due
	if l.alarm == nil {
		l.alarm = time.AfterFunc(wait, l.ring)
	} else {
		l.alarm.Reset(wait)
	}
}

// ring ends the flights whose time is over.
func (l *life) ring() {
	l.mu.Lock()
	l.rings = 0
	var late []*flight
	now := time.Since(l.born)
	for f := range l.flights {
		switch {
		case f.due == 0:
		case f.due <= now:
			late = append(late, f)
			f.due = 0
		default:
			l.alarmLocked(f.due, f.due-now)
		}
	}
	l.mu.Unlock()
	for _, f := range late {
		f.expire()
	}
}

func (l *life) leave(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, f)
	l.settleLocked(f.request.asked)
	if l.over != nil && len(l.flights) == 0 {
		poke(l.landed)
	}
}

// working reports whether the server has shown that it is at work since the last time
// it was asked. It is called by one goroutine at a time.
func (l *life) working() bool {
	before := l.signs
	l.signs = l.conn.Info().Signs
	return l.signs != before
}

// end cancels all flights.
func (l *life) end(cause error) {
	l.mu.Lock()
	l.over = cause
	l.die()
	for _, t := range []*time.Timer{l.health, l.alarm} {
		if t != nil {
			t.Stop()
		}
	}
	flights := slices.Collect(maps.Keys(l.flights))
	l.mu.Unlock()
	for _, f := range flights {
		f.cancel(context.Canceled, cause)
	}
}

// within runs f and waits for it, but not longer than d.
func within(d time.Duration, f func()) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f()
	}()
	select {
	case <-finished:
	case <-time.After(d):
	}
}

// connect makes a connection: with the probe for the newest revision, or
// without it if the era says so, and a second time without it if the probe
// seems to have ended the first.
func (c *Client) connect(era *era) (*life, error) {
	ctx, stop := context.WithTimeout(c.closing, c.opts.ConnectTimeout)
	defer stop()
	for {
		version := era.version()
		l, err := c.attempt(ctx, version, era.patient)
		if err == nil {
			era.succeeded(l.info.revision)
			return l, nil
		}
		if ctx.Err() != nil && c.closing.Err() == nil {
			err = fmt.Errorf("no connection within %v: %w", c.opts.ConnectTimeout, err)
		}
		if l == nil || !era.failed(version, l, err) || ctx.Err() != nil {
			return nil, visible(err)
		}
		if SafeToRetry(l.died()) {
			era.suspect = false // the probe never reached the server
			return nil, visible(err)
		}
	}
}

// attempt makes one connection within ctx. With an error it is closed, and nil if there was
// none.
func (c *Client) attempt(ctx context.Context, version string, patient bool) (*life, error) {
	if c.pinned() && !isKnown(version) {
		return nil, &ProtocolVersionError{want: version, err: errors.New("this client does not know it")}
	}
	roots := c.roots.Load()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	patience := c.opts.probeTimeout()
	switch {
	case c.pinned():
		patience = noTimeout // there is nothing else to try
	case patient:
		patience = c.opts.ConnectTimeout
	}
	l := newLife(c, conn)
	l.roots = roots
	if l.info, err = l.handshake(ctx, version, patience, false); err != nil {
		if err = l.blame(ctx, err); ctx.Err() != nil {
			err = l.withStrays(err)
		}
		l.close(err)
		return l, err
	}
	l.born = time.Now()
	l.pulse.Beat()
	if l.modern() {
		l.meta = c.requestMeta(l.info.revision)
	}
	l.ready.Store(true)
	c.watchHealth(l)
	if err := c.follow(ctx, l); err != nil {
		c.sessionEnds(l, err)
		l.close(err)
		return l, err
	}
	return l, nil
}

// dial makes the transport's connection, giving up on one that outlasts ctx.
func (c *Client) dial(ctx context.Context) (Conn, error) {
	type dialed struct {
		conn Conn
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := c.transport.Connect(ctx)
		if err == nil && nils.Is(conn) {
			err = errors.New("the transport returned neither a connection nor an error")
		}
		done <- dialed{conn, err}
	}()
	select {
	case d := <-done:
		return d.conn, d.err
	case <-ctx.Done():
		within(closeTimeout, func() {
			if d := <-done; d.err == nil {
				_ = d.conn.Close()
			}
		})
		return nil, ctx.Err()
	}
}
