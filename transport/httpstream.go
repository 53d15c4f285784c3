package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// maxResumes is how often in a row a stream is resumed that delivers
	// nothing new in between.
	maxResumes = 5
	// maxEventID bounds the ids of events that are sent back, in bytes: a stream
	// is not resumed behind an event with a longer one.
	maxEventID = 4 << 10
	// defaultRetry is the wait before a stream is opened again when the server
	// set none; longestRetry bounds the waits of repeated attempts.
	defaultRetry = time.Second
	longestRetry = 30 * time.Second
	// shortestRetry bounds the wait that a server can ask for before the
	// listening stream is opened again, of which there is no end.
	shortestRetry = 100 * time.Millisecond
)

func reopenDelay(attempt int) time.Duration {
	return backoff.Full(attempt, defaultRetry/2, defaultRetry, longestRetry)
}

// A reopening is when a listening stream that broke was opened again at once.
type reopening struct{ last time.Time }

// reopenSoon is the wait after a stream that broke. A server that is being stopped may cut
// its streams a moment before it stops to listen, and would wait for another one.
const reopenSoon = 15 * time.Millisecond

// delay is the wait before a stream is opened again. A stream that breaks is opened almost
// at once, unless that was done within the last second; attempts that fail are spread.
func (r *reopening) delay(attempt int) time.Duration {
	if attempt == 0 && time.Since(r.last) >= defaultRetry {
		r.last = time.Now()
		return reopenSoon
	}
	return reopenDelay(attempt)
}

// pause waits for d and reports whether ctx lasted that long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A cursor is a place in a server's event stream.
type cursor struct {
	lastID string        // empty if the stream cannot be resumed there
	retry  time.Duration // as the server asked; zero if it did not
}

// note moves the cursor behind an event. To resume behind an earlier one would
// repeat what has been routed, so an id that is too long leaves none.
func (c *cursor) note(ev *event) {
	switch {
	case len(ev.id) > maxEventID:
		c.lastID = ""
	case ev.id != "" && httpfield.ValidValue(ev.id):
		c.lastID = ev.id
	}
	if ev.retry > 0 {
		c.retry = ev.retry
	}
}

// resumable routes the events of an answering stream until done reports that the
// answer has come. A stream of a legacy session whose events have ids is
// resumed when it breaks. It returns the response that it read last.
func (c *httpConn) resumable(ctx context.Context, resp *http.Response, legacy bool, deliver func(jsonrpc.Message), done func() bool) (*http.Response, error) {
	var at cursor
	for attempt := 0; ; {
		seen := at.lastID
		err := c.events(resp, &at, deliver, done)
		if err == nil {
			return resp, nil
		}
		_ = resp.Body.Close()
		if at.lastID != seen {
			attempt = 0
		}
		var limit *mcp.LimitError
		var invalid *mcp.ProtocolError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &limit), errors.As(err, &invalid):
			return nil, err
		case at.lastID == "" || !legacy || attempt == maxResumes:
			return nil, errNoAnswer
		}
		if resp, err = c.resume(ctx, at, &attempt); err != nil {
			return nil, err
		}
	}
}

// events routes the events of one response until done, and returns nil then; a nil done is
// that of a listening stream, which no answer ends. The
// caller's handler of progress runs in it, and may panic: nothing else would then
// end the response.
func (c *httpConn) events(resp *http.Response, at *cursor, deliver func(jsonrpc.Message), done func() bool) error {
	panics := true
	defer func() {
		if panics {
			_ = resp.Body.Close()
		}
	}()
	err := c.routeEvents(resp, at, deliver, done)
	panics = false
	return err
}

func (c *httpConn) routeEvents(resp *http.Response, at *cursor, deliver func(jsonrpc.Message), done func() bool) error {
	events := newEventReader(resp.Body, c.limit)
	for {
		ev, err := events.next()
		if err != nil {
			return err
		}
		at.note(&ev)
		if len(ev.data) == 0 || ev.name != "" && ev.name != "message" {
			continue
		}
		if err := c.route(ev.data, deliver); err != nil {
			return invalidAnswer("", fmt.Errorf("event: %w", err))
		}
		if done != nil && done() {
			if events.lines.over { // so that nothing is left to be read
				_ = resp.Body.Close()
				resp.Body = http.NoBody
			}
			return nil
		}
	}
}

// resume opens the stream again behind the last event, after the wait that the
// server asked for. attempt counts the tries since the last progress.
func (c *httpConn) resume(ctx context.Context, at cursor, attempt *int) (*http.Response, error) {
	for {
		wait := at.retry
		if wait == 0 {
			wait = reopenDelay(*attempt)
		}
		*attempt++
		if !pause(ctx, wait) {
			return nil, ctx.Err()
		}
		resp, err := c.get(ctx, at.lastID)
		if err == nil {
			return resp, nil
		}
		var status *StatusError
		if ctx.Err() != nil || errors.As(err, &status) || errors.Is(err, mcp.ErrSessionLost) || *attempt >= maxResumes {
			// The request itself was sent, whatever became of its stream.
			return nil, mcp.WithOutcome(fmt.Errorf("resuming the answer's stream: %w", err), mcp.Unknown)
		}
	}
}

// get opens an event stream of the session.
func (c *httpConn) get(ctx context.Context, lastID string) (*http.Response, error) {
	header, session := c.bareHeader()
	header.Set("Accept", kindEvents)
	if lastID != "" {
		header.Set(headerLastSeen, lastID)
	}
	resp, err := c.do(ctx, http.MethodGet, c.url, header, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && isEventStream(resp) {
		return resp, nil
	}
	defer finish(resp)
	if resp.StatusCode == http.StatusNotFound && lastID != "" {
		return nil, c.refusal(ctx, resp, session)
	}
	return nil, statusError(resp)
}

// listenWait is how long the handshake waits for the listening stream to open.
func (c *httpConn) listenWait() time.Duration { return cmp.Or(c.patience, listenHeadersWait) }

// listen opens the stream on which a legacy session receives what the server
// sends by itself, and waits a moment for it, so that a server which answers
// the next request by asking back finds it open.
func (c *httpConn) listen() {
	opened := make(chan struct{})
	if !c.goes(func() { c.keepStream(opened) }) {
		return
	}
	timer := time.NewTimer(c.listenWait())
	defer timer.Stop()
	select {
	case <-opened:
	case <-timer.C:
	case <-c.ended.Done():
	}
}

// keepStream reads the listening stream, opening it again when it breaks, until
// the connection ends. A server without one is fine. opened is closed after the
// first attempt.
func (c *httpConn) keepStream(opened chan struct{}) {
	var at cursor
	var again reopening
	for attempt := 0; ; attempt++ {
		c.enter()
		asked := time.Now()
		resp, err := c.get(c.ended, at.lastID)
		c.leave()
		var unreachable *unreachableError
		var status *StatusError
		if attempt == 0 {
			close(opened)
		}
		switch {
		case err == nil:
			if attempt > 0 || time.Since(asked) >= c.listenWait() { // nothing has waited for it
				c.listChanged()
			}
			attempt = 0
			// An event that is no JSON-RPC ends this stream, not the session.
			_ = c.events(resp, &at, c.deliver, nil)
			_ = resp.Body.Close()
		case errors.As(err, &unreachable):
			c.fail(err)
			return
		case needsRights(err), errors.As(err, &status) && !status.passing() && status.Code != http.StatusUnauthorized:
			return
		}
		wait := max(at.retry, shortestRetry)
		if at.retry == 0 && err == nil {
			wait = again.delay(attempt)
		} else if err != nil {
			wait = reopenDelay(attempt)
		}
		if !awaitLogin(c.ended, err) || !pause(c.ended, wait) {
			return
		}
	}
}
