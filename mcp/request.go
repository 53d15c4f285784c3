package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A request is one request of the client, which may be sent more than once.
type request struct {
	method string
	tool   string // for errors
	// params writes the parameters around the given _meta, which may be nil.
	params func(meta json.RawMessage) json.RawMessage
	header map[string]string // further HTTP header fields
	meta   Meta              // the caller's own members of _meta

	progress func(json.RawMessage) // nil if the request can have none
	idle     time.Duration
	total    time.Duration
	until    time.Time // when total is over, for all requests that make up a call
	// repeatable says whether running twice does no harm. It is asked only
	// after the outcome has become unknown.
	repeatable func() bool
}

// send sends r and returns its result and the life it came from. It sends a
// second time only what was not sent, or does no harm when repeated.
func (c *Client) send(ctx context.Context, r *request) (json.RawMessage, *life, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, nil, c.explain(r, err)
	}
	defer func() { <-c.turns }()
	var spent *life
	for {
		l, err := c.acquire(ctx, spent)
		if err != nil {
			return nil, nil, c.explain(r, err)
		}
		result, err := c.sendOnce(ctx, l, r)
		if err == nil {
			return result, l, nil
		}
		if spent != nil || ctx.Err() != nil || !c.mayRepeat(l, r, err) {
			return nil, nil, c.explain(r, err)
		}
		spent = l
	}
}

// mayRepeat reports whether a failed request can be sent on a new connection.
func (c *Client) mayRepeat(l *life, r *request, err error) bool {
	if !l.tap.over() {
		return false // no new connection is coming
	}
	return SafeToRetry(err) || OutcomeOf(err) == Unknown && r.repeatable != nil && r.repeatable()
}

// takeTurn waits until another request may be in flight.
func (c *Client) takeTurn(ctx context.Context) error {
	select {
	case c.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return WithOutcome(ctx.Err(), NotSent)
	case <-c.closing.Done():
		return WithOutcome(ErrClosed, NotSent)
	}
}

func (c *Client) sendOnce(ctx context.Context, l *life, r *request) (json.RawMessage, error) {
	opts := &CallOptions{Header: r.header}
	if r.progress != nil {
		opts.ProgressToken = c.tokens.Add(1)
	}
	meta, err := metaJSON(l, opts.ProgressToken, r.meta)
	if err != nil {
		return nil, WithOutcome(err, NotSent)
	}
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	total := time.AfterFunc(time.Until(r.until), func() { cancel(&TimeoutError{"total", r.total}) })
	defer total.Stop()
	idle := time.AfterFunc(r.idle, func() { cancel(&TimeoutError{"idle", r.idle}) })
	defer idle.Stop()
	if r.progress != nil {
		opts.Progress = func(params json.RawMessage) {
			idle.Stop() // what the caller does with it takes none of the server's time
			r.progress(params)
			idle.Reset(r.idle)
		}
	}
	result, err := l.caller.Call(callCtx, r.method, r.params(meta), opts)
	if err != nil && ctx.Err() == nil && callCtx.Err() != nil && errors.Is(err, callCtx.Err()) {
		err = WithOutcome(context.Cause(callCtx), OutcomeOf(err))
	}
	return result, err
}

// metaJSON writes _meta, or nothing if it would be empty.
func metaJSON(l *life, token int64, own Meta) (json.RawMessage, error) {
	meta := append([]byte{'{'}, l.meta...)
	if token != 0 {
		meta = append(meta, `"progressToken":`...)
		meta = strconv.AppendInt(meta, token, 10)
		meta = append(meta, ',')
	}
	for key, value := range own {
		if key == "progressToken" || len(l.meta) > 0 && isRequestMeta(key) {
			continue // set already, and two of a key mean nothing
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		}
		meta = fmt.Appendf(meta, "%s:%s,", quote(key), text)
	}
	if len(meta) == 1 {
		return nil, nil
	}
	meta[len(meta)-1] = '}'
	return meta, nil
}

func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // a string always encodes
	return quoted
}

// explain gives an error its final form: it names the server and the request,
// and tells the outcome.
func (c *Client) explain(r *request, err error) error {
	var unavailable *UnavailableError
	var answer *JSONRPCError
	var invalid *ProtocolError
	switch {
	case errors.As(err, &unavailable):
		return err
	case errors.As(err, &answer):
		return &ServerError{Server: c.name, Method: r.method, Err: answer}
	case errors.As(err, &invalid):
		return &ProtocolError{Server: c.name, Method: r.method, Path: invalid.Path, Err: invalid.Err}
	}
	switch OutcomeOf(err) {
	case Unknown:
		return &OutcomeUnknownError{Server: c.name, Method: r.method, Tool: r.tool, Err: err}
	case NotSent:
		return WithOutcome(fmt.Errorf("mcp: server %q: %s not sent: %w", c.name, r.method, err), NotSent)
	default:
		return fmt.Errorf("mcp: server %q: %s: %w", c.name, r.method, err)
	}
}

// Ping asks the server for a sign of life: by ping, or in revision 2026-07-28,
// which has no ping, by server/discover.
func (c *Client) Ping(ctx context.Context) error {
	r := &request{
		method:     "ping",
		params:     func(meta json.RawMessage) json.RawMessage { return object(member{"_meta", meta}) },
		idle:       c.opts.IdleTimeout,
		total:      c.opts.CallTimeout,
		until:      time.Now().Add(c.opts.CallTimeout),
		repeatable: func() bool { return true },
	}
	if err := c.enter(); err != nil {
		return c.explain(r, err)
	}
	defer c.leave()
	l, err := c.acquire(ctx, nil)
	if err != nil {
		return err
	}
	if l.modern() {
		r.method = methodDiscover
	}
	_, _, err = c.send(ctx, r)
	return err
}

// A member is one member of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// object writes a JSON object, leaving out members without a value.
func object(members ...member) json.RawMessage {
	out := []byte{'{'}
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(m.key)...), ':'), m.value...)
	}
	return append(out, '}')
}
