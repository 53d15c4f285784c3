package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/stall"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// maxStray is how many lines in a row may be something else than JSON-RPC
	// before the connection is given up.
	maxStray = 100
	// cancelTimeout bounds the telling of a server that a request is cancelled.
	cancelTimeout = 5 * time.Second
	// controlTimeout bounds the writing of one message of the control plane,
	// some of which the session sends without any deadline.
	controlTimeout = 30 * time.Second
)

// A duplex is the byte stream under a [stream]. Its owner closes it, which ends a Write that
// waits.
type duplex interface {
	io.ReadWriter
	// SetWriteDeadline interrupts a Write that waits. A duplex that cannot do so returns
	// an error.
	SetWriteDeadline(time.Time) error
}

// A stream speaks newline-delimited JSON over a duplex: the framing of stdio.
// It owns one goroutine, which reads until the duplex ends.
type stream struct {
	connection
	duplex  duplex
	limit   int64
	writing chan struct{}     // holds a token while a frame is written, and guards the following two
	until   time.Time         // deadline of writes, that was set last
	endless bool              // writes can have none
	stray   func(line []byte) // gets lines that are no messages; may be nil

	// doomed, if set, reports that the peer will never answer any more. It is
	// asked before a frame is sent, unless others are on their way already.
	doomed func() bool
	// cause may replace the error of a read or write by what is known better,
	// such as the exit of the process. It may take a moment.
	cause func(error) error
}

func newStream(d duplex, limit int64, cause func(error) error, doomed func() bool) *stream {
	s := &stream{
		duplex:  d,
		limit:   maxMessage(limit),
		writing: make(chan struct{}, 1),
		cause:   cause,
		doomed:  doomed,
	}
	s.prepare(s.send)
	s.start = func() { s.run(s.readAll) }
	return s
}

// readAll is the goroutine that reads the stream to its end.
func (s *stream) readAll() {
	lines := &lineReader{r: s.duplex, limit: s.limit, skips: true, heard: s.hear, stall: &stall.Watch{Over: func() {
		s.run(func() { s.fail(stall.Err) })
	}}}
	defer lines.stall.Stop()
	var err error
	for stray := 0; err == nil && s.ended.Err() == nil; {
		var line []byte
		var oversize bool
		line, oversize, err = lines.next()
		text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
		switch {
		case err != nil || len(text) == 0:
		case oversize:
			s.unread(line, tooLarge(s.limit), s.deliver)
		case s.take(text):
			stray = 0
		default:
			if stray++; stray == maxStray {
				err = fmt.Errorf("the server wrote %d lines in a row that are not JSON-RPC", maxStray)
			}
		}
	}
	if s.cause != nil && s.ended.Err() == nil {
		err = s.cause(err)
	}
	s.fail(err)
}

// take hands a line on, and reports whether it was a message.
func (s *stream) take(text []byte) bool {
	err := errNotJSONRPC
	if text[0] == '{' || text[0] == '[' {
		err = s.route(text, s.deliver)
	}
	if err == nil {
		return true
	}
	if text[0] == '{' && s.unread(text, invalidAnswer("", err), s.deliver) && begunRequest(text) != nil {
		return true
	}
	if s.stray != nil {
		s.stray(text)
	}
	return false
}

// broke ends the stream because it cannot be written any more.
func (s *stream) broke(err error) {
	s.run(func() {
		if s.cause != nil && s.ended.Err() == nil {
			err = s.cause(err) // a pipe breaks because its reader has ended
		}
		s.fail(err)
	})
}

// fail ends the stream: no request is sent any more, and of those in flight the outcome is
// unknown. Only the first call counts.
func (s *stream) fail(err error) {
	s.end(err)
	_ = s.duplex.SetWriteDeadline(time.Unix(1, 0))
	s.connection.fail(err)
}

// afterEnd waits for the end of a stream that is about to end, and returns why
// it ended, for a caller that has sent nothing.
func (s *stream) afterEnd(ctx context.Context) error {
	select {
	case <-s.ended.Done():
		return mcp.WithOutcome(context.Cause(s.ended), mcp.NotSent)
	case <-ctx.Done():
		return mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
}

// errTorn ends a stream whose last frame was given up in the middle: the server would read
// the next one as its end.
var errTorn = errors.New("writing to the server: given up in the middle of a message that the server does not read")

// fullPause is how often a caller whose frame does not fit into a full pipe looks whether it
// is still to be sent.
const fullPause = 20 * time.Millisecond

// send writes one frame, when those before it are written. If ctx or the stream ends before
// its first byte, none of it is written. Its errors say whether the server can have read the
// whole of it.
func (s *stream) send(ctx context.Context, frame []byte) error {
	if err := ctx.Err(); err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	select {
	case s.writing <- struct{}{}:
	default: // only now, since ctx.Done takes memory
		select {
		case s.writing <- struct{}{}:
		case <-s.ended.Done():
			return s.afterEnd(ctx)
		case <-ctx.Done():
			return s.afterEnd(ctx)
		}
	}
	defer func() { <-s.writing }()
	rest := append(frame, '\n')
	whole := len(rest)
	outcome := func() mcp.Outcome {
		if len(rest) > 1 {
			return mcp.NotSent
		}
		return mcp.Unknown // perhaps it reads the frame without its newline
	}
	for {
		if err := context.Cause(s.ended); err != nil {
			if len(rest) < whole {
				err = fmt.Errorf("%w: %w", mcp.ErrCutOff, err)
			}
			return mcp.WithOutcome(err, outcome())
		}
		n, err := s.write(ctx, rest)
		rest = rest[n:]
		switch {
		case len(rest) == 0:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			s.broke(err)
			select {
			case <-s.ended.Done():
			case <-ctx.Done():
			}
		case ctx.Err() != nil && len(rest) < whole:
			s.end(errTorn)
			s.broke(errTorn)
		}
		// The end of a stream ends the context, too, and says more.
		if ended := context.Cause(s.ended); ctx.Err() != nil && (ended == nil || errors.Is(ended, errTorn)) {
			return mcp.WithOutcome(ctx.Err(), outcome())
		}
	}
}

// write writes what fits within a moment. A write that cannot be interrupted goes on in the
// background when its caller does not wait for it any more, and that ends the stream.
func (s *stream) write(ctx context.Context, frame []byte) (n int, err error) {
	if now := time.Now(); s.until.Sub(now) < fullPause/2 { // each time would cost more than many a write
		s.until = now.Add(fullPause)
		s.endless = s.duplex.SetWriteDeadline(s.until) != nil
	}
	if !s.endless {
		return s.duplex.Write(frame)
	}
	written, failed := 0, errClosed
	done := make(chan struct{})
	s.run(func() {
		defer close(done)
		written, failed = s.duplex.Write(frame)
	})
	select {
	case <-done:
		return written, failed
	case <-s.ended.Done():
	case <-ctx.Done():
		s.end(errTorn)
	}
	return len(frame) - 1, errTorn // how far it comes is not known
}

// Call implements mcp.Caller.
func (s *stream) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	s.keep()
	if s.ended.Err() != nil || s.doomed != nil && s.table.Idle() && s.doomed() {
		return nil, s.afterEnd(ctx)
	}
	call, opts, err := s.begin(opts)
	if err != nil {
		return nil, err
	}
	defer call.Drop()
	if err := s.send(ctx, requestFrame(call.ID, method, params)); err != nil {
		return nil, err
	}
	answer, err := call.Wait(ctx, opts.Progress)
	switch {
	case err == nil:
		return result(method, answer)
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return nil, err // of the stream, with its outcome
	case !isHandshake(method):
		s.cancel(call.ID)
	}
	return nil, mcp.WithOutcome(err, mcp.Unknown)
}

// errClosed ends a connection that was closed from this side.
var errClosed = errors.New("connection closed")
