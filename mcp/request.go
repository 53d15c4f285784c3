package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/fairqueue"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// send sends r and returns its result and the connection it came from, which is nil if
// there was none, also with an error. It sends a
// second time only what was not sent, or does no harm when repeated.
func (c *Client) send(ctx context.Context, r *request) (json.RawMessage, *connection, error) {
	return c.sendWith(ctx, r, &pendingRequest{})
}

// sendWith is send with memory for the first pending request.
func (c *Client) sendWith(ctx context.Context, r *request, first *pendingRequest) (result json.RawMessage, conn *connection, err error) {
	r.caller = ctx
	work, info := c.trace(ctx, r)
	err = errBrokenOff // what the trace says if the caller's Progress panics
	defer func() { info.end(result, err) }()
	return c.deliver(work, r, first)
}

func (c *Client) deliver(ctx context.Context, r *request, first *pendingRequest) (json.RawMessage, *connection, error) {
	err := c.opts.fits(r.size())
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
		conn, err := c.await(ctx, spent, -1, spent == nil || !protocol.ListsItems(r.method))
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
		result, err := conn.sendOnce(ctx, r, p)
		if err == nil {
			return result, conn, nil
		}
		if failed != nil || ctx.Err() != nil || !c.mayRepeat(conn, r, err) {
			return nil, conn, c.explain(r, graver(failed, err))
		}
		failed = err
		r.trace.retried(ctx, err)
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

// Busy returns the [*BusyError] with which a call with so many bytes of arguments would fail
// now, the error of one that has too many, or nil if there is room. It reserves nothing and is
// cheap: it is for callers with work to do before a request.
func (c *Client) Busy(ctx context.Context, bytes int) error {
	err := c.opts.fits(int64(bytes))
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

// connected returns the present connection, connecting if there is none. It waits in the
// line of those who want to send something.
func (c *Client) connected(ctx context.Context) (*connection, error) {
	if conn := c.connection(); conn != nil {
		return conn, nil
	}
	if err := c.takeTurn(ctx, &request{}); err != nil {
		return nil, err
	}
	defer c.queue.Leave()
	return c.acquire(ctx, nil)
}
