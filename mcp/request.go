package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/fairqueue"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// A request is one request of the client, which may be sent more than once.
type request struct {
	method string
	tool   string            // for errors
	params [numParams]member // those without a value are left out
	more   []member          // further parameters
	meta   Meta              // the caller's own members of _meta
	header map[string]string // further HTTP header fields
	call   *exchange         // that it belongs to; may be nil
	asked  *asked            // questions in the course of it; nil if it is no reason for any
	caller context.Context   // of its caller; set when it is sent
	trace  *RequestInfo      // while it is traced

	capabilities json.RawMessage // declared in the place of the client's own; nil: those are

	effectUnknown  bool // nothing is known of what it does
	onlyConnection int  // number of the only connection that it may be sent on; 0: any

	idle  time.Duration
	total time.Duration
	until time.Time // when total is over, for all requests that make up a call
}

// fill makes a request that may take that time in all, and be without an answer or progress
// for idle.
func (r *request) fill(method string, idle, total time.Duration, params []member) {
	r.method, r.idle, r.total, r.until = method, idle, total, time.Now().Add(total)
	copy(r.params[:], params)
}

// newRequest returns a request with the client's own limits of time.
func (c *Client) newRequest(method string, params ...member) *request {
	r := &request{}
	r.fill(method, c.opts.IdleTimeout, c.opts.CallTimeout, params)
	return r
}

// briefRequest returns a request that must not take longer than it may be without progress.
func (c *Client) briefRequest(method string, params ...member) *request {
	r := &request{}
	r.fill(method, c.opts.IdleTimeout, c.opts.IdleTimeout, params)
	return r
}

// repeatable reports whether running the request twice does no harm.
func (r *request) repeatable() bool { return r.call == nil || r.call.repeatable() }

// task returns the id of the task that the request is about; empty if it is about none.
func (r *request) task() string {
	if r.params[0].key != "taskId" {
		return ""
	}
	id, _ := jsonscan.String(r.params[0].value)
	return id
}

// size returns how many bytes the parameters have.
func (r *request) size() (bytes int64) {
	for _, m := range r.params {
		bytes += int64(len(m.value))
	}
	for _, m := range r.more {
		bytes += int64(len(m.value))
	}
	return bytes
}

// send sends r and returns its result and the connection it came from, which is nil if
// there was none, also with an error. It sends a
// second time only what was not sent, or does no harm when repeated.
func (c *Client) send(ctx context.Context, r *request) (json.RawMessage, *connection, error) {
	return c.sendWith(ctx, r, &pendingRequest{})
}

// sendWith is send with memory for the first pending request.
func (c *Client) sendWith(ctx context.Context, r *request, first *pendingRequest) (result json.RawMessage, conn *connection, err error) {
	r.caller = ctx
	if c.tracing == nil {
		return c.deliver(ctx, r, first)
	}
	work, info := c.trace(ctx, r)
	err = errBrokenOff // what the trace says if the caller's Progress panics
	defer func() { info.end(result, err) }()
	return c.deliver(work, r, first)
}

func (c *Client) deliver(ctx context.Context, r *request, first *pendingRequest) (json.RawMessage, *connection, error) {
	err := c.fits(r.size())
	if err == nil {
		err = c.takeTurn(ctx, r)
	}
	if err != nil {
		return nil, nil, c.explain(r, err)
	}
	defer c.queue.Leave()
	var spent *connection
	var failed error // of the first attempt
	for {
		// A list with which the connection ended, such as one that is read on each new one, can wait.
		conn, err := c.await(ctx, spent, -1, spent == nil || !listsItems(r.method))
		if err != nil {
			return nil, nil, c.explain(r, graver(failed, err))
		}
		if r.onlyConnection != 0 && r.onlyConnection != conn.number {
			err, outcome := ErrOtherConnection, NotSent
			if failed != nil {
				err, outcome = fmt.Errorf("%w: %w", err, failed), OutcomeOf(failed)
			}
			return nil, nil, c.explain(r, WithOutcome(err, outcome))
		}
		p := first
		if failed != nil {
			p = &pendingRequest{} // something may still refer to the first
		}
		result, err := c.sendOnce(ctx, conn, r, p)
		if err == nil {
			return result, conn, nil
		}
		if failed != nil || ctx.Err() != nil || !c.mayRepeat(conn, r, err) {
			return nil, conn, c.explain(r, graver(failed, err))
		}
		failed = err
		c.retried(ctx, r.trace, err)
		if conn.hasEnded() || isRevisionError(err) {
			spent = conn
		}
	}
}

// graver returns what to tell of a request that failed twice: that the second
// attempt was not sent is no news of a first that may have run.
func graver(first, second error) error {
	if first != nil && OutcomeOf(first) == Unknown && SafeToRetry(second) {
		return first
	}
	return second
}

// mayRepeat reports whether a failed request can be sent once more: on a new
// connection, or where only its answer was lost on the same.
func (c *Client) mayRepeat(conn *connection, r *request, err error) bool {
	if !conn.hasEnded() && !isRevisionError(err) {
		return errors.Is(err, ErrAnswerLost) && r.repeatable()
	}
	if r.onlyConnection != 0 && errors.Is(err, ErrCutOff) {
		return false // or its caller would follow the server from one end to the next
	}
	return SafeToRetry(err) || OutcomeOf(err) == Unknown && r.repeatable()
}

// takeTurn waits until another request may be in flight, unless too many wait
// already. The caller gives the turn back to the queue.
func (c *Client) takeTurn(ctx context.Context, r *request) error {
	if c.queue.TryEnter() {
		return nil
	}
	full, err := c.queue.Enter(ctx, onbehalf.Owner(ctx), r.size())
	switch {
	case errors.Is(err, fairqueue.ErrFull):
		return c.busyError(full)
	case errors.Is(err, fairqueue.ErrClosed):
		err = ErrClosed
	}
	return WithOutcome(err, NotSent)
}

// fits returns the error of a request with so many bytes of parameters, or nil.
func (c *Client) fits(bytes int64) error {
	if bytes <= c.opts.MaxArguments {
		return nil
	}
	return WithOutcome(fmt.Errorf("it has %d bytes of arguments: %w: set maxArgumentBytes in \"limits\" of the server's entry, or MaxArguments of ClientOptions, if the server takes more",
		bytes, &LimitError{"argument bytes", c.opts.MaxArguments}), NotSent)
}

// Busy returns the [*BusyError] with which a call with so many bytes of arguments would fail
// now, the error of one that has too many, or nil if there is room. It reserves nothing and is
// cheap: it is for callers with work to do before a request.
func (c *Client) Busy(ctx context.Context, bytes int) error {
	err := c.fits(int64(bytes))
	switch {
	case c.transport == nil || c.closing.Err() != nil:
		return nil // the request itself says what else is wrong
	case err != nil:
		return c.explain(&request{method: protocol.CallTool}, err)
	case c.queue.IsFree():
		return nil
	}
	if full := c.queue.Look(onbehalf.Owner(ctx), int64(bytes)); full.Bound != "" {
		return c.busyError(full)
	}
	return nil
}

func (c *Client) busyError(full fairqueue.Refusal) *BusyError {
	e := &BusyError{c.name, time.Second, c.opts.MaxInFlight, full.Waiting, full.Bytes, string(full.Bound)}
	if mean := c.service.Load(); mean > 0 {
		wait := float64(mean) * (float64(e.queued) + 1) / float64(e.inFlight) // a float, lest it overflow
		e.RetryAfter = time.Duration(min(max(wait, float64(10*time.Millisecond)), float64(time.Minute)))
	}
	return e
}

func (c *Client) sendOnce(ctx context.Context, conn *connection, r *request, p *pendingRequest) (json.RawMessage, error) {
	if err := c.start(ctx, p, conn, r); err != nil {
		return nil, err
	}
	defer p.finish()
	params, err := r.encode(conn, p.opts.ProgressToken)
	if err != nil {
		return nil, WithOutcome(err, NotSent)
	}
	r.trace.departs(conn, &p.opts)
	p.noteID()
	result, err := c.exchangeOn(p, conn, r.method, params, &p.opts)
	now := time.Now() // of which a call needs few: it is a large part of a small one
	took := int64(now.Sub(conn.opened) - p.started)
	mean := cmp.Or(c.service.Load(), took)
	c.service.Store(max(mean+(took-mean)/16, 1)) // one of several at the same time may be lost
	outcome := OutcomeOf(err)
	given, _ := p.ended()
	switch {
	case outcome == Answered:
		conn.pulse.BeatAt(now)
	case given != nil:
		conn.noteGivenUp()
	}
	if outcome == Unknown {
		conn.pulse.Abandoned(r.total)
	}
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	err = c.lookInto(p, conn, err)
	if ended, cause := p.ended(); ended != nil && errors.Is(err, ended) {
		err = WithOutcome(cause, OutcomeOf(err))
	}
	return nil, err
}

// encode writes the parameters of the request for one connection.
func (r *request) encode(conn *connection, token int64) (json.RawMessage, error) {
	size := len(conn.meta) + 64
	for _, m := range r.params {
		size += len(m.key) + len(m.value) + 4
	}
	if !conn.info.tasks.calls {
		r.params[paramTask].value = nil // whatever the server before this one could
	}
	out := append(make([]byte, 0, size), `{"_meta":{`...)
	empty := len(out)
	out = append(out, conn.metaWith(r.capabilities)...)
	if _, own := r.meta[protocol.MetaLogLevel]; conn.modern() && !own {
		if level := conn.client.LogLevel(); level != "" {
			out = append(append(append(out, `"`+protocol.MetaLogLevel+`":"`...), level...), `",`...)
		}
	}
	if token != 0 {
		out = append(out, `"progressToken":`...)
		out = strconv.AppendInt(out, token, 10)
		out = append(out, ',')
	}
	for key, value := range r.meta {
		if key == "progressToken" || len(conn.meta) > 0 && isRequestMeta(key) {
			continue // set already, and two of a key mean nothing
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		}
		out = append(append(append(appendQuoted(out, key), ':'), text...), ',')
	}
	out = r.trace.appendMeta(out)
	if len(out) == empty {
		return r.appendParams(append(out[:0], '{')), nil
	}
	out[len(out)-1] = '}'
	return r.appendParams(out), nil
}

// appendParams appends the parameters to an object, and its end.
func (r *request) appendParams(object []byte) []byte {
	object = appendMembers(object, r.params[:]...)
	if len(r.more) == 0 {
		return object
	}
	return appendMembers(object[:len(object)-1], r.more...)
}

// appendQuoted appends text as a JSON string.
func appendQuoted(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a string always encodes
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}

// explain gives an error its final form: it names the server and the request,
// and tells the outcome.
func (c *Client) explain(r *request, err error) error {
	var answer *JSONRPCError
	var invalid *ProtocolError
	outcome := OutcomeOf(err)
	answered := outcome == Answered // else what is inside ended the connection, and answers another request
	switch {
	case errors.As(err, new(*UnavailableError)), errors.As(err, new(*BusyError)):
		return err
	case answered && errors.As(err, &invalid):
		return &ProtocolError{Server: c.name, Method: r.method, Path: invalid.Path, Err: invalid.Err}
	case answered && errors.As(err, &answer):
		return &ServerError{Server: c.name, Method: r.method, Err: answer}
	}
	switch outcome {
	case Unknown:
		return &OutcomeUnknownError{Server: c.name, Method: r.method, Tool: r.tool, Err: err}
	case NotSent:
		return WithOutcome(fmt.Errorf("mcp: server %q: %s not sent: %w", c.name, r.method, err), NotSent)
	default:
		return WithOutcome(fmt.Errorf("mcp: server %q: %s: %w", c.name, r.method, err), outcome)
	}
}

// Ping asks the server for a sign of life: by ping, or in revision 2026-07-28,
// which has no ping, by server/discover.
func (c *Client) Ping(ctx context.Context) error {
	conn, err := c.enterConnected(ctx, &request{method: protocol.Ping})
	if err != nil {
		return err
	}
	defer c.leave()
	_, last, err := c.send(ctx, c.newRequest(conn.ping()))
	if err != nil && last != nil && last.modern() != conn.modern() {
		_, _, err = c.send(ctx, c.newRequest(last.ping())) // to each revision its own
	}
	return err
}

// ping is the method by which a server is asked for a sign of life.
func (conn *connection) ping() string {
	if conn.modern() {
		return protocol.Discover
	}
	return protocol.Ping
}

// A member is one member of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// object writes a JSON object, leaving out members without a value.
func object(members ...member) json.RawMessage {
	return appendMembers([]byte{'{'}, members...)
}

// appendMembers appends members to an object, and its end. Those without a
// value are left out.
func appendMembers(object []byte, members ...member) []byte {
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(appendQuoted(object, m.key), ':'), m.value...)
	}
	return append(object, '}')
}
