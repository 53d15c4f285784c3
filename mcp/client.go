package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/fairqueue"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/nils"
)

// A Client is the connection to one server, renewed for as long as the client
// is held. Make one with [NewClient]. Its methods are safe for concurrent use.
//
// A client owns the goroutines of its connection, and one more while it makes or ends one.
// Close ends them all.
type Client struct {
	name      string
	transport Transport
	opts      ClientOptions

	closing context.Context // ends with Close
	close   context.CancelFunc
	wg      sync.WaitGroup // the supervisor

	// The following belong to supervise.
	era      *era
	failures int         // to connect, in a row
	idle     *connection // the connection with which supervise returned because nothing was to be done; nil: none

	mu             sync.Mutex // guards the following
	started        bool
	supervisorDone bool   // supervise has returned, and notify starts it again
	signals        signal // the signals that supervise has not taken yet
	state          State
	changed        feed.Bell                // rung when state or current changes
	onChange       func()                   // called then; may be nil
	current        *connection              // the connection while Ready, and while Authenticating if it is the one that needs the login
	attempts       int                      // how many attempts to connect have ended
	draining       bool                     // Shutdown was called: no new requests
	active         int                      // how many calls Shutdown waits for
	problems       map[string][]ListProblem // what was wrong in the lists last read, by method

	declinedAt time.Time // when declined questions were logged last

	wake     chan struct{} // has capacity 1 and receives when signals change
	outdated atomic.Uint32 // the lists that have changed and were not announced yet, as listKinds

	queue    *fairqueue.Queue // requests in flight, and those that wait
	service  atomic.Int64     // mean time from sending a request to its end, in nanoseconds; 0: not known
	handling atomic.Int64     // handlers that run
	locks    keylock.Set      // by what is done by one at a time
	pages    pages
	topics   topics
	roots    atomic.Int64 // times that RootsChanged was called
	tokens   atomic.Int64 // progress tokens given out
	awaiting atomic.Int64 // calls that wait for a task
	tools    toolCache
	level    atomic.Pointer[LoggingLevel] // that the server is to log
	logs     logQueue

	tracing *tracing // nil: there is no tracer
}

// NewClient returns a client for the server that t connects to. The name is
// what errors and elicitations call the server; it is usually the name under
// which it is configured. Nothing is started before the first use. NewClient
// panics if t is nil or a nil pointer.
func NewClient(name string, t Transport, opts *ClientOptions) *Client {
	if nils.Is(t) {
		panic("mcp: NewClient: transport is nil")
	}
	o := opts.withDefaults()
	closing, cancel := context.WithCancel(context.Background())
	c := &Client{
		name:      name,
		transport: t,
		opts:      o,
		closing:   closing,
		close:     cancel,
		state:     State{Phase: Idle, Since: time.Now()},
		wake:      make(chan struct{}, 1),
		queue:     fairqueue.New(fairqueue.Limits{Running: o.MaxInFlight, Waiting: o.MaxQueued, Bytes: maxQueuedBytes}, closing.Done()),
		topics:    newTopics(),
	}
	c.tracing = newTracing(name, &c.opts)
	c.level.Store(&o.LogLevel)
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
	if c.started {
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
	c.notifyLocked(0)
	if !c.started {
		c.started = true
		c.setLocked(State{Phase: Closed}, nil)
	}
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}

// acquire returns the present connection, connecting if there is none, and waiting
// while a connection is being made. A connection equal to not is waited out. A connection that
// needs a login is good enough: whoever sends something finds out.
func (c *Client) acquire(ctx context.Context, not *connection) (*connection, error) {
	return c.await(ctx, not, -1, true)
}

// connection returns the present connection, or nil.
func (c *Client) connection() *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// await is acquire for a caller that has asked for a new attempt when the given number
// of them had ended: only the failure of one that ended later is returned. Wakes brings the
// next attempt forward.
func (c *Client) await(ctx context.Context, not *connection, before int, wakes bool) (*connection, error) {
	switch {
	case c.transport == nil:
		return nil, WithOutcome(errZero, NotSent)
	case ctx == nil:
		return nil, WithOutcome(errors.New("mcp: the context is nil"), NotSent)
	}
	renewing, again := before >= 0, false
	for {
		c.mu.Lock()
		c.startLocked()
		state, current, attempts := c.state, c.current, c.attempts
		if current != nil && current != not {
			c.mu.Unlock()
			return current, nil
		}
		changed := c.changed.Rung()
		c.mu.Unlock()
		if before < 0 {
			before = attempts
		}
		switch state.Phase {
		case Closed:
			return nil, WithOutcome(fmt.Errorf("server %q: %w", c.name, ErrClosed), NotSent)
		case Authenticating:
			over := loginFor(state.Err).over()
			if attempts > before && over && !again { // the user has logged in meanwhile
				before, again = attempts, true
			}
			if current == nil && (attempts > before || !renewing && !over) {
				return nil, &UnavailableError{Server: c.name, Err: state.Err}
			}
		case Waiting:
			if attempts > before {
				return nil, &UnavailableError{Server: c.name, RetryAt: state.RetryAt, Err: state.Err}
			}
			if wakes {
				c.notify(serverNeeded)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, c.gaveUpWaiting(ctx, state)
		}
	}
}

// gaveUpWaiting is the error of a caller whose context ended before there was a
// connection. It tells what the client was waiting for.
func (c *Client) gaveUpWaiting(ctx context.Context, state State) error {
	err := fmt.Errorf("%w while %v", ctx.Err(), state.Phase)
	if state.Err != nil {
		err = fmt.Errorf("%w (before that: %w)", err, state.Err)
	}
	return &UnavailableError{Server: c.name, RetryAt: state.RetryAt, Err: err}
}

// startLocked starts the supervisor at the first use.
func (c *Client) startLocked() {
	if c.started {
		return
	}
	c.started = true
	c.era = &era{pinned: c.opts.ProtocolVersion}
	c.setLocked(State{Phase: Connecting}, nil)
	c.supervisorDone = true
	c.notifyLocked(0)
}

// setLocked is the one place where the state changes.
func (c *Client) setLocked(s State, current *connection) {
	s.Since = c.state.Since
	if s.Phase != c.state.Phase || current != c.current {
		s.Since = time.Now()
	}
	c.state, c.current = s, current
	c.changed.Ring()
	if c.onChange != nil {
		c.onChange()
	}
}

// poke leaves a note for a loop that looks at ch, unless one lies there already.
func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
