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
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
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
	// steadyStream is how long a listening stream must last for those that ended before
	// it to be forgotten, and idleRetry bounds the waits for one after streams that
	// ended sooner and brought nothing, of which there is no end.
	steadyStream = 30 * time.Second
	idleRetry    = 5 * time.Minute
	// reopenSoon is the wait after a stream that lasted. A server that is being stopped may
	// cut its streams a moment before it stops to listen, and would wait for another one.
	reopenSoon = 15 * time.Millisecond
)

func reopenDelay(attempt int, longest time.Duration) time.Duration {
	return backoff.Full(attempt, defaultRetry/2, defaultRetry, longest)
}

// A listening is a listening stream, which is opened again and again.
type listening struct {
	short  int       // streams and failures one after the other since one lasted
	opened time.Time // when the present stream was asked for; zero if there is none
	brings bool      // it has brought a message
	missed bool      // a change may have been missed since the lists were said to have changed
}

// open notes that a stream was opened. It lasts since it was asked for: some proxies hold its
// headers back until there is an event.
func (l *listening) open(asked time.Time) { l.opened, l.brings = asked, false }

// note notes a message. A sign of life brings nothing.
func (l *listening) note(m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	l.brings = l.brings || !ok || req.Method != protocol.Ping && req.Method != protocol.NoteAcknowledged
}

// next returns the wait before the stream is opened again, which the server wants to be no shorter
// than asked, after the present one ended or could not be opened. One that lasted is opened
// again almost at once. Those that end at once are no better than failures: the waits grow,
// and lists are not read for them.
func (l *listening) next(asked time.Duration) time.Duration {
	ended := !l.opened.IsZero()
	if ended && time.Since(l.opened) >= steadyStream {
		l.short = 0
	}
	l.missed = l.missed || ended && (l.short == 0 || l.brings)
	longest := idleRetry
	if ended && l.brings {
		longest = longestRetry
		if asked > 0 {
			longest = defaultRetry
		}
	}
	wait := reopenSoon
	if !ended || l.short > 0 {
		wait = reopenDelay(l.short, longest)
	}
	l.short++
	l.opened = time.Time{}
	return max(wait, asked)
}

// tell reports, once, whether the lists may have changed while there was no stream.
func (l *listening) tell() bool {
	missed := l.missed
	l.missed = false
	return missed
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
	answered := false
	defer func() {
		if !answered && resp != nil {
			_ = resp.Body.Close() // the caller's handler of progress, which runs in events, may have panicked
		}
	}()
	for attempt := 0; ; {
		seen := at.lastID
		err := c.events(resp, &at, deliver, done)
		if answered = err == nil; answered {
			return resp, nil
		}
		_ = resp.Body.Close()
		if at.lastID != seen {
			attempt = 0
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, new(*mcp.LimitError)), errors.As(err, new(*mcp.ProtocolError)):
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
// that of a listening stream, which no answer ends.
func (c *httpConn) events(resp *http.Response, at *cursor, deliver func(jsonrpc.Message), done func() bool) error {
	events := newEventReader(resp.Body, c.limit)
	for stray := 0; ; {
		ev, err := events.next()
		if err != nil {
			return err
		}
		at.note(&ev)
		if len(ev.data) == 0 || ev.name != "" && ev.name != "message" {
			continue
		}
		switch err := c.route(ev.data, deliver); {
		case err == nil, begunRequest(ev.data) != nil && c.unread(ev.data, err, deliver):
			stray = 0
		case done != nil && ev.data[0] == '{' && (!errors.Is(err, errNotJSONRPC) || answeredBy(ev.data) != nil): // it may be the answer
			return invalidAnswer("", fmt.Errorf("event: %w", err))
		default: // such as a sign of life
			if stray++; stray == maxStray {
				return invalidAnswer("", fmt.Errorf("%d events in a row: %w", maxStray, err))
			}
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
		wait := cmp.Or(at.retry, reopenDelay(*attempt, longestRetry))
		*attempt++
		if feed.Sleep(ctx, wait) != nil {
			return nil, ctx.Err()
		}
		resp, err := c.get(ctx, at.lastID, true)
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil || errors.As(err, new(*StatusError)) || errors.Is(err, mcp.ErrSessionLost) || *attempt >= maxResumes {
			// The request itself was sent, whatever became of its stream.
			return nil, mcp.WithOutcome(fmt.Errorf("resuming the answer's stream: %w", err), mcp.Unknown)
		}
	}
}

// get opens an event stream of the session, which was open before if again or lastID is set.
func (c *httpConn) get(ctx context.Context, lastID string, again bool) (*http.Response, error) {
	header, session := c.bareHeader()
	header.Set("Accept", kindEvents)
	if lastID != "" {
		header.Set(protocol.HeaderEvent, lastID)
	}
	resp, err := c.do(ctx, http.MethodGet, c.url, header, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && isEventStream(resp) {
		return resp, nil
	}
	defer finish(resp)
	if resp.StatusCode == http.StatusNotFound && (again || lastID != "") {
		return nil, c.refusal(ctx, resp, session)
	}
	return nil, statusError(resp)
}

// listenWait is how long the handshake waits for the listening stream to open.
func (c *httpConn) listenWait() time.Duration { return cmp.Or(c.patience, listenHeadersWait) }

// listen opens the stream on which a legacy session receives what the server
// sends by itself, and waits a moment for it, so that a server which answers
// the next request by asking back finds it open. Where nothing is to be missed the first requests go before it.
func (c *httpConn) listen() {
	opened, silent := make(chan struct{}), c.silent.Load()
	if !c.run(func() {
		if !silent || feed.Sleep(c.ended, listenLater) == nil {
			c.keepStream(opened)
		}
	}) || silent {
		return
	}
	select {
	case <-opened:
	case <-time.After(c.listenWait()):
	case <-c.ended.Done():
	}
}

// keepStream reads the listening stream, opening it again when it breaks, until
// the connection ends. A server without one is fine. opened is closed after the
// first attempt.
func (c *httpConn) keepStream(opened chan struct{}) {
	var at cursor
	var stream listening
	deliver := func(m jsonrpc.Message) {
		stream.note(m)
		c.deliver(m)
	}
	again := false
	for first := true; ; first = false {
		c.enter()
		asked := time.Now()
		resp, err := c.get(c.ended, at.lastID, again)
		c.leave()
		var status *StatusError
		if first {
			close(opened)
		}
		switch {
		case err == nil:
			again = true
			stream.open(asked)
			if stream.tell() || first && time.Since(asked) >= c.listenWait() { // nothing has waited for it
				c.listChanged()
			}
			// What is no JSON-RPC may end this stream, but not the session.
			_ = c.events(resp, &at, deliver, nil)
			_ = resp.Body.Close()
		case errors.As(err, new(*unreachableError)):
			c.fail(err)
			return
		case again && errors.As(err, &status) && (status.Code == http.StatusBadRequest || status.Code == http.StatusConflict):
			// The server takes the stream that broke for one that is open still.
		case needsRights(err), errors.As(err, &status) && !status.passing() && status.Code != http.StatusUnauthorized:
			return
		}
		if !awaitLogin(c.ended, err) || feed.Sleep(c.ended, stream.next(at.retry)) != nil {
			return
		}
	}
}
