package mcp

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/fairqueue"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp/internal/topics"
)

// A Client is the connection to one server, renewed for as long as the client
// is held. Make one with [NewClient]. Its methods are safe for concurrent use.
//
// A client owns the goroutines of its connection, and one more while it makes or ends one.
// Close ends them all.
type Client struct {
	supervisor
	queue *fairqueue.Queue // requests in flight, and those that wait

	// The following are guarded by mu.
	draining bool                     // Shutdown was called: no new requests
	active   int                      // how many calls Shutdown waits for
	problems map[string][]ListProblem // what was wrong in the lists last read, by method
	tools    toolCache
}

// NewClient returns a client for the server that t connects to. The name is
// what errors and elicitations call the server; it is usually the name under
// which it is configured. Nothing is started before the first use. NewClient
// panics if t is nil or a nil pointer.
func NewClient(name string, t Transport, opts *ClientOptions) *Client {
	if nils.Is(t) {
		panic("mcp: NewClient: transport is nil")
	}
	c := &Client{}
	c.name, c.transport, c.opts = name, t, opts.withDefaults()
	c.closing, c.close = context.WithCancel(context.Background())
	c.state.Since = time.Now()
	c.wake, c.supervise = make(chan struct{}, 1), c.run
	c.era.pinned = c.opts.ProtocolVersion
	c.queue = fairqueue.New(fairqueue.Limits{Running: c.opts.MaxInFlight, Waiting: c.opts.MaxQueued, Bytes: maxQueuedBytes}, c.closing.Done())
	c.topics = topics.New()
	if c.opts.Tracer != nil {
		c.tracing = &tracing{c.opts.Tracer, name, c.opts.Logger}
	}
	c.level.Store(&c.opts.LogLevel)
	return c
}

// errZero is the error of the zero Client.
var errZero = errors.New("mcp: the zero Client is not usable: make one with NewClient")

// Name returns the name given to [NewClient].
func (c *Client) Name() string { return c.name }

// State returns where the client stands now.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Watch yields the present state and then each later one, until ctx ends or the
// client is closed. A consumer that is slower than the changes sees the newest
// state, not every one between.
func (c *Client) Watch(ctx context.Context) iter.Seq[State] {
	return func(yield func(State) bool) {
		for {
			c.mu.Lock()
			state, changed := c.state, c.changed.Rung()
			c.mu.Unlock()
			if !yield(state) || state.Phase == Closed {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// OnChange has f called after each change of the state, in place of a goroutine that ranges
// over [Client.Watch]. The client is locked meanwhile: f must return at once, and call
// nothing of the client. OnChange is called once, before the first use of the client.
func (c *Client) OnChange(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onChange = f
}

// Ready connects if necessary and returns when the server answers. It returns an
// [*UnavailableError] when an attempt to connect that was made meanwhile has failed,
// though the client keeps trying, or when the server requires a login, and ctx's error
// when ctx ends. Function AwaitLogin of package auth calls it until the user has logged
// in.
func (c *Client) Ready(ctx context.Context) error {
	conn, err := c.acquire(ctx, nil)
	if err == nil && conn.hasEnded() {
		conn, err = c.acquire(ctx, conn)
	}
	if err != nil {
		return err
	}
	if n := conn.login.Load(); n != nil && !n.over() {
		return &UnavailableError{Server: c.name, Err: n.err}
	}
	return nil
}

// Connect begins to connect, unless that has begun already, and does not wait.
func (c *Client) Connect() {
	if c.transport == nil {
		panic(errZero.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startLocked()
}

// Reconnect ends the present connection, if there is one, makes a new one at
// once, and returns as [Client.Ready] does.
func (c *Client) Reconnect(ctx context.Context) error {
	if c.transport == nil {
		return WithOutcome(errZero, NotSent)
	}
	c.mu.Lock()
	present, attempts := c.current, c.attempts
	if c.step != stepIdle {
		c.notifyLocked(renewalWanted)
	}
	c.startLocked()
	c.mu.Unlock()
	_, err := c.await(ctx, present, attempts, true)
	return err
}

// Shutdown stops taking calls, waits for those under way until ctx ends, and
// closes the client. It returns ctx's error if calls were cut off.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	err := c.drained(ctx)
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	return err
}

// enter begins a use of the client that Shutdown waits for. Without an error
// leave must end it.
func (c *Client) enter() error {
	if c.transport == nil {
		return WithOutcome(errZero, NotSent)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.closing.Err() != nil {
		return WithOutcome(ErrClosed, NotSent)
	}
	c.active++
	return nil
}

// enterConnected is enter for a request that needs a connection at once, and returns the present
// connection.
func (c *Client) enterConnected(ctx context.Context, r *request) (*connection, error) {
	if err := c.enter(); err != nil {
		return nil, c.explain(r, err)
	}
	conn, err := c.acquire(ctx, nil)
	if err != nil {
		c.leave()
		c.traceUnsent(ctx, r, err)
	}
	return conn, err
}

func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active == 0 && c.draining {
		c.changed.Ring()
	}
}

func (c *Client) drained(ctx context.Context) error {
	for {
		c.mu.Lock()
		active, changed := c.active, c.changed.Rung()
		c.mu.Unlock()
		if active == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the connection and every request under way, and returns when all
// goroutines of the client have ended. The time it takes is bounded by the
// transport's own time for closing, and 5 s for handlers, such as Elicit, that do not
// return when their context ends. Later calls do nothing.
func (c *Client) Close() error {
	if c.transport == nil {
		return nil
	}
	c.close()
	c.mu.Lock()
	if c.step == stepIdle {
		c.enterLocked(onClose)
	}
	c.notifyLocked(0)
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}

// SetLogLevel asks the server for log messages of this severity and above, now
// and on later connections: "debug", "info", "notice", "warning", "error",
// "critical", "alert" or "emergency". The empty level asks for none.
//
// It does not connect. A server of revision 2026-07-28 learns of the level with each
// request. An older one gets logging/setLevel at once, and with each new connection, if
// it declares logging; its answer is the error. The protocol has no level for no
// messages, so the empty level asks for emergencies if more was asked for on this
// connection. A server that never got a level may choose one itself.
//
// Deprecated: Protocol revision 2026-07-28 deprecates logging (SEP-2577). It works with
// older servers, and with newer ones that still use it.
func (c *Client) SetLogLevel(ctx context.Context, level LoggingLevel) error {
	r := &request{method: protocol.SetLogLevel}
	if level != "" {
		if err := validLevel(level); err != nil {
			return c.explain(r, WithOutcome(err, NotSent))
		}
	}
	if err := c.enter(); err != nil {
		return c.explain(r, err)
	}
	defer c.leave()
	c.level.Store(&level)
	conn := c.connection()
	if conn == nil {
		return nil
	}
	err := conn.tellLevel(ctx)
	if err != nil && conn.hasEnded() && ctx.Err() == nil && c.closing.Err() == nil {
		return nil // the next connection is told
	}
	return err
}

// LogLevel returns the level that SetLogLevel or [ClientOptions] set last; it may be empty.
//
// Deprecated: As [Client.SetLogLevel].
func (c *Client) LogLevel() LoggingLevel {
	return c.logLevel()
}

var errRootsNotDeclared = errors.New("the server was told that there are no roots: set ListRoots of ClientOptions")

// RootsChanged notifies a server of an older revision that ListRoots of [ClientOptions]
// returns other roots than before. Without a connection there is nobody to notify; a server
// asks by itself. It fails if ListRoots is nil.
//
// Deprecated: Protocol revision 2026-07-28 deprecates roots (SEP-2577). They work with
// older servers, and with newer ones that still use them.
func (c *Client) RootsChanged(ctx context.Context) error {
	r := &request{method: protocol.NoteRootsChanged}
	if !c.opts.declares(protocol.ListRoots) {
		return c.explain(r, WithOutcome(errRootsNotDeclared, NotSent))
	}
	if err := c.enter(); err != nil {
		return c.explain(r, err)
	}
	defer c.leave()
	conn := c.connection()
	if conn == nil || conn.modern() {
		return nil
	}
	if err := conn.tellRoots(ctx); err != nil && !conn.hasEnded() {
		return c.explain(r, err)
	}
	return nil
}
