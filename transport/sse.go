package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// connectSSE opens the event stream and waits until it has named the address for
// messages, or ctx ends.
func connectSSE(ctx context.Context, e *endpoint) (mcp.Caller, error) {
	c := &sseConn{webConn: webConn{endpoint: e}}
	c.prepare(c.send)
	if err := c.open(ctx); err != nil {
		c.end(err)
		c.wait()
		c.endpoint.close()
		return nil, err
	}
	return c, nil
}

// An sseConn is one event stream and the posts that belong to it. It owns one
// goroutine, which reads the stream; the connection ends with the stream.
type sseConn struct {
	webConn
	messages *url.URL // where messages are posted
}

// open opens the stream, which ends if ctx does before it has named the address
// for messages, and starts to read it.
func (c *sseConn) open(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.end(ctx.Err()) })
	resp, err := c.do(c.ended, http.MethodGet, c.url, http.Header{"Accept": {"text/event-stream"}}, nil)
	var events *eventReader
	if err == nil {
		events = newEventReader(resp.Body, c.limit)
		err = c.awaitAddress(resp, events)
	}
	if !stop() {
		err = mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
	if err != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return err
	}
	c.start = func() {
		c.run(func() {
			defer func() { _ = resp.Body.Close() }()
			c.fail(c.readStream(events))
		})
	}
	return nil
}

// awaitAddress reads a new stream until it has named the address for messages.
func (c *sseConn) awaitAddress(resp *http.Response, events *eventReader) error {
	if resp.StatusCode != http.StatusOK {
		return statusError(resp)
	}
	if !isEventStream(resp) {
		return fmt.Errorf("the server at %s sends no event stream", c.url.Host)
	}
	for {
		ev, err := events.next()
		if err != nil {
			return fmt.Errorf("event stream: %w", err)
		}
		if ev.name == "endpoint" {
			c.messages, err = c.address(string(ev.data))
			return err
		}
	}
}

// readStream routes the stream's messages until it ends. One that is too large or cannot be read
// fails the request that it was meant to answer, and no other.
func (c *sseConn) readStream(events *eventReader) error {
	events.skip() // other calls wait for what follows
	for stray := 0; ; {
		ev, err := events.next()
		if err != nil {
			return fmt.Errorf("event stream: %w", err)
		}
		if ev.name != "" && ev.name != "message" || len(ev.data) == 0 {
			continue
		}
		if ev.oversize {
			c.unread(ev.data, tooLarge(c.limit), c.deliver)
			continue
		}
		if err = c.route(ev.data, c.deliver); err == nil || c.unread(ev.data, invalidAnswer("", err), c.deliver) {
			stray = 0
			continue
		}
		if stray++; stray == maxStray {
			return fmt.Errorf("the server sent %d events in a row that are not JSON-RPC", maxStray)
		}
	}
}

// address resolves the address that the server named, which must be on its own
// origin: messages carry the user's credentials.
func (c *sseConn) address(named string) (*url.URL, error) {
	u, err := c.url.Parse(named)
	if err != nil {
		return nil, errors.New("the event stream names an address that is no URL")
	}
	if !sameOrigin(u, c.url) {
		return nil, fmt.Errorf("the event stream of %s names an address on another origin, %s", c.url.Host, plain.Line(u.Host))
	}
	return u, nil
}

// send posts one message.
func (c *sseConn) send(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ended, cancel)()
	resp, err := c.do(ctx, http.MethodPost, c.messages, http.Header{"Content-Type": {"application/json"}}, frame)
	if err != nil && errors.Is(err, context.Canceled) && c.ended.Err() != nil {
		return mcp.WithOutcome(context.Cause(c.ended), mcp.OutcomeOf(err))
	}
	if err != nil {
		return err
	}
	defer finish(resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err := statusError(resp)
		if resp.StatusCode == http.StatusNotFound { // its address is the session
			c.fail(mcp.WithOutcome(fmt.Errorf("%w: %w", mcp.ErrSessionLost, err), mcp.NotSent))
		}
		return err
	}
	return nil
}

// Call implements mcp.Caller.
func (c *sseConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	call, opts, err := c.begin(opts)
	if err != nil {
		return nil, err
	}
	defer call.Drop()
	if err := c.send(ctx, requestFrame(call.ID, method, params)); err != nil {
		// The answer may have come all the same.
		if _, ended, failed := call.Poll(opts.Progress); !ended || failed != nil {
			if ctx.Err() != nil && !mcp.SafeToRetry(err) && !isHandshake(method) {
				c.cancel(call.ID) // it may run before its post is answered
			}
			return nil, err
		}
	}
	answer, err := call.Wait(ctx, opts.Progress)
	if err != nil {
		if ctx.Err() != nil && !isHandshake(method) {
			c.cancel(call.ID)
		}
		return nil, err
	}
	return result(method, answer)
}

// Close implements mcp.Conn: it cancels the requests in flight at the server,
// waiting at most two seconds for that, and then ends the stream.
func (c *sseConn) Close() error {
	c.closeOnce.Do(func() {
		timer := time.AfterFunc(deleteTimeout, func() { c.fail(errClosed) })
		defer timer.Stop()
		for _, id := range c.table.IDs() {
			c.cancel(id)
		}
		c.notes.wait()
		c.keep() // for the stream to be closed, if nothing has read it
		c.fail(errClosed)
		c.wait()
		c.endpoint.close()
	})
	return nil
}
