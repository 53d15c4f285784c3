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
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/internal/pulse"
)

// A connection is one connection of the transport from its handshake to its end. It carries
// requests and receives what the server sends unasked. It owns the goroutines that answer the
// server's requests, the one that keeps the subscriptions to changes, and the one that runs
// while a silent server is pinged.
type connection struct {
	client *Client
	wire   Caller

	// The handshake sets the following before it sets ready.
	ready  atomic.Bool
	info   *serverInfo
	opened time.Time
	roots  int64  // Client.roots when the connection was made
	meta   []byte // the members of _meta in every request, each followed by a comma
	number int    // State.Connections of this connection; set before it is published

	levelSet    bool      // the server was told which messages to log; guarded by the lock "level"
	announcedAt time.Time // when changes of lists were announced last; for watchConnection

	// The following belong to the handshake.
	handshaking      atomic.Int64 // the id of the handshake's last request
	discoverTimedOut bool         // discover was sent and was not answered in time
	discoverLate     bool         // discover was answered with a result after that time

	changes     atomic.Int64          // how often the server announced that its tools changed
	listed      atomic.Int64          // the value of changes when the list of tools was last read
	mended      atomic.Int64          // how often announcements may have been missed
	unannounced atomic.Bool           // the server does not announce changed tools, although it declares it
	login       atomic.Pointer[login] // the login that the server wants before it answers; nil if none

	strays  atomic.Int64           // responses to requests that were not made
	strayID atomic.Pointer[string] // the id of the last of these; nil if there is none

	pulse     pulse.Pulse
	lastSigns uint64 // ConnInfo.Signs when working was called last
	unhealthy error  // why the connection has to be given up; nil: it need not be; guarded by the client's mu
	allowance allowance

	receiving  sync.Mutex      // held while a message is received
	ctx        context.Context // ends with the connection
	cancel     context.CancelFunc
	ended      chan struct{} // closed when nothing more can be read
	readErr    error         // why nothing more can be read; valid once ended is closed
	closedByUs bool          // endErr was set before ended was closed; valid as readErr is

	drained chan struct{} // has capacity 1 and receives when the last request of a superseded connection has ended

	mu            sync.Mutex // guards the following, and orders wg.Add before wg.Wait
	wg            sync.WaitGroup
	closed        bool // wg is waited for: run starts no goroutine any more
	pending       map[*pendingRequest]struct{}
	started       int           // how many requests were added to pending
	endErr        error         // why the connection ended; once set, no request is sent
	health        *time.Timer   // runs the next check of a silent server; nil before the first
	deadlineTimer *time.Timer   // runs expireDue; nil before the first request
	deadlineAt    time.Duration // when deadlineTimer expires, since opened, at the earliest deadline or before; 0: it is stopped
	unanswered    unanswered
	questions     int64                   // questions of the server that were counted for no pending request yet
	serving       map[jsonrpc.ID]*service // the server requests that are handled, by their ids
	answering     int                     // how many handlers of server requests run
	answeredAt    time.Time               // when the last of them returned
	listener      *listener               // nil if the server announces nothing, or in its own way
}

func newConnection(c *Client, wire Conn) *connection {
	conn := &connection{
		client:  c,
		wire:    CallerOf(wire),
		ended:   make(chan struct{}),
		drained: make(chan struct{}, 1),
		pending: make(map[*pendingRequest]struct{}),
		serving: make(map[jsonrpc.ID]*service),
	}
	conn.ctx, conn.cancel = context.WithCancel(c.closing)
	conn.wire.Receive(conn.receive, conn.noteEnd)
	return conn
}

// modern reports whether a stateless revision is spoken, after the handshake.
func (conn *connection) modern() bool { return protocol.IsStateless(conn.info.revision) }

// noteEnd notes that the connection has ended, and why. Only the first call counts.
func (conn *connection) noteEnd(err error) {
	conn.mu.Lock()
	first := !isClosed(conn.ended)
	if first {
		conn.readErr, conn.closedByUs = err, conn.endErr != nil
		close(conn.ended)
	}
	conn.mu.Unlock()
	if first {
		conn.client.notify(0)
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

// hasEnded reports whether the connection has ended, even if the reader has not seen it yet.
func (conn *connection) hasEnded() bool { return isClosed(conn.ended) || conn.wire.Info().Err != nil }

// lossErr returns why the connection ended if that was not by close, or nil.
func (conn *connection) lossErr() error {
	if isClosed(conn.ended) && !conn.closedByUs {
		return conn.readErr
	}
	return nil
}

// handshakeErr returns what is behind an error of the handshake: if the connection ended, why.
func (conn *connection) handshakeErr(ctx context.Context, err error) error {
	if conn.wire.Info().Err != nil {
		select {
		case <-conn.ended: // soon
		case <-ctx.Done():
		}
	}
	return cmp.Or(conn.lossErr(), err)
}

// errEnded ends a connection for want of a better reason.
var errEnded = errors.New("the connection ended")

// close ends a connection. It waits for the connection to close, as long as that
// takes, and for a while for handlers that still run.
func (conn *connection) close(cause error) {
	conn.end(cause)
	_ = conn.wire.Close()
	within(closeTimeout, func() {
		conn.mu.Lock()
		conn.closed = true
		conn.mu.Unlock()
		conn.wg.Wait()
	})
}

// run runs f on a goroutine that close waits for. It does nothing, and reports so, once
// close waits.
func (conn *connection) run(f func()) bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if !conn.closed {
		conn.wg.Go(f)
	}
	return !conn.closed
}

// after runs f on a goroutine of its own in d, unless the connection ends before.
func (conn *connection) after(d time.Duration, f func()) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.endErr == nil {
		conn.health = time.AfterFunc(d, func() { conn.run(f) })
	}
}

// add binds a pending request to the connection.
func (conn *connection) add(p *pendingRequest) error {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.endErr != nil {
		return conn.endErr
	}
	conn.pending[p] = struct{}{}
	conn.started++
	p.number = conn.started
	p.started = conn.setDeadlineLocked(p, p.request.idle)
	return nil
}

// setDeadline has a pending request expire after a time or when its total is over, unless that is set
// anew before.
func (conn *connection) setDeadline(p *pendingRequest, idle time.Duration) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if _, flies := conn.pending[p]; flies {
		conn.setDeadlineLocked(p, idle)
	}
}

// setDeadlineLocked sets the timer only for the first of many requests: calls are short, and
// times to wait are long.
func (conn *connection) setDeadlineLocked(p *pendingRequest, idle time.Duration) (now time.Duration) {
	at := time.Now()
	now = at.Sub(conn.opened)
	wait := min(idle, p.request.until.Sub(at))
	p.deadline = max(now+wait, 1)
	conn.armTimerLocked(p.deadline, wait)
	return now
}

// clearDeadline ends setDeadline.
func (conn *connection) clearDeadline(p *pendingRequest) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	p.deadline = 0
}

// armTimerLocked has the timer expire at a time that is due, in wait, or before.
func (conn *connection) armTimerLocked(due, wait time.Duration) {
	if conn.deadlineAt != 0 && conn.deadlineAt <= due {
		return
	}
	conn.deadlineAt = due
	if conn.deadlineTimer == nil {
		conn.deadlineTimer = time.AfterFunc(wait, conn.expireDue)
	} else {
		conn.deadlineTimer.Reset(wait)
	}
}

// expireDue ends the pending requests whose time is over.
func (conn *connection) expireDue() {
	conn.mu.Lock()
	conn.deadlineAt = 0
	var late []*pendingRequest
	now := time.Since(conn.opened)
	for p := range conn.pending {
		switch {
		case p.deadline == 0:
		case p.deadline <= now:
			late = append(late, p)
			p.deadline = 0
		default:
			conn.armTimerLocked(p.deadline, p.deadline-now)
		}
	}
	conn.mu.Unlock()
	for _, p := range late {
		p.expire()
	}
}

func (conn *connection) remove(p *pendingRequest) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	delete(conn.pending, p)
	conn.settleLocked(p.request.asked)
	if conn.endErr != nil && len(conn.pending) == 0 {
		poke(conn.drained)
	}
}

// working reports whether the server has shown that it is at work since the last time
// it was asked. It is called by one goroutine at a time.
func (conn *connection) working() bool {
	before := conn.lastSigns
	conn.lastSigns = conn.wire.Info().Signs
	return conn.lastSigns != before
}

// end cancels all pending requests.
func (conn *connection) end(cause error) {
	conn.mu.Lock()
	conn.endErr = cause
	conn.cancel()
	for _, t := range []*time.Timer{conn.health, conn.deadlineTimer} {
		if t != nil {
			t.Stop()
		}
	}
	pending := slices.Collect(maps.Keys(conn.pending))
	conn.mu.Unlock()
	for _, p := range pending {
		p.cancel(context.Canceled, cause)
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
func (c *Client) connect(era *era) (*connection, error) {
	ctx, stop := context.WithTimeout(c.closing, c.opts.ConnectTimeout)
	defer stop()
	for {
		version := era.version()
		conn, err := c.attempt(ctx, version, era.patient)
		if err == nil {
			era.succeeded(conn.info.revision)
			return conn, nil
		}
		if ctx.Err() != nil && c.closing.Err() == nil {
			err = fmt.Errorf("no connection within %v: %w", c.opts.ConnectTimeout, err)
		}
		if conn == nil || !era.failed(version, conn, err) || ctx.Err() != nil {
			return nil, visible(err)
		}
		if SafeToRetry(conn.lossErr()) {
			era.suspect = false // the probe never reached the server
			return nil, visible(err)
		}
	}
}

// attempt makes one connection within ctx. With an error it is closed, and nil if there was
// none.
func (c *Client) attempt(ctx context.Context, version string, patient bool) (*connection, error) {
	if c.pinned() && !protocol.IsKnown(version) {
		return nil, &ProtocolVersionError{want: version, err: errors.New("this client does not know it")}
	}
	roots := c.roots.Load()
	wire, err := c.dial(ctx)
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
	conn := newConnection(c, wire)
	conn.roots = roots
	if conn.info, err = conn.handshake(ctx, version, patience, false); err != nil {
		if err = conn.handshakeErr(ctx, err); ctx.Err() != nil {
			err = conn.withStrays(err)
		}
		conn.close(err)
		return conn, err
	}
	conn.opened = time.Now()
	conn.pulse.Beat()
	if conn.modern() {
		conn.meta = c.requestMeta(conn.info.revision)
	}
	conn.ready.Store(true)
	c.watchHealth(conn)
	if err := c.follow(ctx, conn); err != nil {
		c.sessionEnds(conn, err)
		conn.close(err)
		return conn, err
	}
	return conn, nil
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
