package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A Notification is a notification of a server that the client has no use for itself,
// such as one of an extension. See [ClientOptions].
type Notification struct {
	// Server is the name of the server, as given to [NewClient].
	Server string
	// Method is what the server calls it: text of an untrusted party.
	Method string
	// Params are its parameters, as the server wrote them: a JSON object, or nil.
	Params json.RawMessage
	// Dropped is how many notifications before this one were lost because the handler
	// was too slow.
	Dropped int
}

// Notify sends a notification of any method, such as one of an extension. Params must be
// a JSON object, or empty. Those with which the client itself notifies the server are
// refused: notifications/initialized, notifications/cancelled and
// notifications/roots/list_changed.
//
// It connects if necessary, and returns when the notification is written, for HTTP when
// the server has accepted it, at most after IdleTimeout of [ClientOptions]. A server does
// not answer a notification, so nil does not say that it knows it; one over HTTP may refuse
// what it does not know, which is an error. A notification is sent once. The errors are
// [*UnavailableError] if there is no connection, [*OutcomeUnknownError] if the server may
// have got it, and others; see [OutcomeOf].
func (c *Client) Notify(ctx context.Context, method string, params json.RawMessage) error {
	r := &request{method: method}
	if err := checkNotification(method, params); err != nil {
		return c.explain(r, WithOutcome(err, NotSent))
	}
	if err := c.enter(); err != nil {
		return c.explain(r, err)
	}
	defer c.leave()
	l, err := c.acquire(ctx, nil)
	if err == nil && l.tap.over() {
		l, err = c.acquire(ctx, l)
	}
	if err != nil {
		return c.explain(r, err)
	}
	bounded, stop := context.WithTimeoutCause(ctx, c.opts.IdleTimeout, &TimeoutError{"idle", c.opts.IdleTimeout})
	defer stop()
	before := l.login.Load()
	err = l.tap.notify(bounded, &jsonrpc.Request{Method: method, Params: oneLine(params)})
	c.heed(l, before, err)
	if err == nil {
		return nil
	}
	if ended := bounded.Err(); ended != nil && errors.Is(err, ended) {
		err = WithOutcome(context.Cause(bounded), OutcomeOf(err))
	}
	return c.explain(r, err)
}

func checkNotification(method string, params json.RawMessage) error {
	switch method {
	case "", noteInitialized, noteCancelled, noticeRoots:
		return errors.New("this notification is the client's own")
	}
	if len(params) == 0 {
		return nil
	}
	if err := jsonscan.Valid(params); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	walk := jsonscan.Walk(params)
	if kind := walk.Kind(); kind != '{' {
		return fmt.Errorf("params: %w", &kindError{kind, anObject})
	}
	return nil
}

// size returns what a notification holds, in bytes.
func (n *Notification) size() int { return len(n.Method) + len(n.Params) }

func (n *Notification) setDropped(count int) { n.Dropped = count }

// unknown takes a notification that means nothing to the client. It does not wait.
func (t *tap) unknown(method string, params json.RawMessage) {
	handler := t.client.opts.Notification
	if handler == nil {
		return
	}
	n := &Notification{Server: t.client.name, Method: method, Params: bytes.Clone(params)}
	handOn(t, &t.client.notes, n, "notifications", handler)
}

const (
	// maxQueue bounds the notifications that wait for a slow handler, and maxQueueBytes
	// what they hold; the last one always has room.
	maxQueue      = 256
	maxQueueBytes = 4 << 20
)

// A queued is what can be in a queue.
type queued interface {
	size() int // in bytes
	setDropped(count int)
}

// A queue holds notifications on their way to a handler of the program. If there are too
// many the oldest are dropped, and the next one says how many.
type queue[N queued] struct {
	mu      sync.Mutex // guards the following
	waiting []N
	bytes   int
	dropped int
	running bool // there is a goroutine that hands them on
}

// handOn puts a notification into a queue, and starts a goroutine of the connection that
// hands them to the handler, unless there is one. Of is what they are, for the log.
func handOn[N queued](t *tap, q *queue[N], n N, of string, handler func(N)) {
	c := t.client
	if q.add(n) && !t.goes(func() { q.handOn(c, of, handler) }) {
		q.stop()
	}
}

// add reports whether a goroutine must be started that hands the notifications on.
func (q *queue[N]) add(n N) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && (len(q.waiting) == maxQueue || q.bytes+n.size() > maxQueueBytes) {
		q.dropped++
		q.takeLocked()
	}
	q.waiting = append(q.waiting, n)
	q.bytes += n.size()
	start := !q.running
	q.running = true
	return start
}

func (q *queue[N]) takeLocked() N {
	var none N
	n := q.waiting[0]
	q.waiting[0] = none
	q.waiting = q.waiting[1:]
	q.bytes -= n.size()
	return n
}

// next returns the next notification, and whether there was one.
func (q *queue[N]) next() (n N, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.running = nil, false
		return n, false
	}
	n = q.takeLocked()
	n.setDropped(q.dropped)
	q.dropped = 0
	return n, true
}

// stop drops what is left.
func (q *queue[N]) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.bytes, q.running = nil, 0, false
}

// handOn runs until no notification is left or the client is closed.
func (q *queue[N]) handOn(c *Client, of string, handler func(N)) {
	hand := func(n N) {
		defer func() {
			if r := recover(); r != nil {
				c.opts.Logger.Error("mcp: the handler of "+of+" panicked", "server", c.name, "panic", r)
			}
		}()
		handler(n)
	}
	for n, ok := q.next(); ok; n, ok = q.next() {
		if c.closing.Err() != nil {
			q.stop()
			return
		}
		hand(n)
	}
}
