package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// maxNoise is how many lines in a row may be something else than JSON-RPC
	// before the connection is given up.
	maxNoise = 100
	// cancelTimeout bounds the telling of a server that a request is cancelled.
	cancelTimeout = 5 * time.Second
	// controlTimeout bounds the writing of one message of the control plane,
	// some of which the session sends without any deadline.
	controlTimeout = 30 * time.Second
)

// A duplex is the byte stream under a [stream]. Deadlines must interrupt a
// Write that waits; a duplex that cannot do so returns an error from
// SetWriteDeadline, and is closed instead when a write runs out of time.
type duplex interface {
	io.ReadWriter
	SetWriteDeadline(time.Time) error
	// CloseWrite tells the peer that nothing more comes and ends a waiting Write.
	CloseWrite() error
	// TakeBack takes what was written last and not read by the peer out of the
	// duplex, so that nobody can read it any more, and returns its size. It
	// returns 0 if that is not possible. No Write is under way.
	TakeBack() int64
}

// A stream speaks newline-delimited JSON over a duplex: the framing of stdio.
// It owns one goroutine, which reads until the duplex ends.
type stream struct {
	router
	duplex duplex
	limit  int64

	writing chan struct{} // holds a token while a frame is being written
	written int64         // bytes; belongs to the holder of the token
	settled sync.Once
	ended   context.Context
	end     context.CancelCauseFunc
	// doomed, if set, reports that the peer cannot read any more, before a frame
	// is sent on a stream that has been quiet.
	doomed func() bool
	heard  atomic.Int64 // when the last line came, in nanoseconds of the clock
	// cause may replace the reader's error by what is known better, such as
	// the exit of the process. It is called on the reading goroutine.
	cause func(error) error

	tasks // the reader, and senders of cancellations
}

func newStream(d duplex, limit int64, cause func(error) error, doomed func() bool) *stream {
	ended, end := context.WithCancelCause(context.Background())
	s := &stream{
		router:  router{inbox: newInbox()},
		duplex:  d,
		limit:   maxMessage(limit),
		writing: make(chan struct{}, 1),
		ended:   ended,
		end:     end,
		cause:   cause,
		doomed:  doomed,
	}
	s.goes(s.readAll)
	return s
}

// fail ends the stream: no request is sent any more, and those in flight fail.
// Only the first call counts.
func (s *stream) fail(err error) {
	s.end(err)
	_ = s.duplex.SetWriteDeadline(time.Unix(1, 0))
	s.writing <- struct{}{} // a writer ends now that the stream has ended
	s.settle()
	<-s.writing
}

// settle fails the requests in flight on an ended stream. What the peer has not
// read to its end is taken back, and so was certainly not sent; of all else the
// outcome is unknown. The caller holds the writing token.
func (s *stream) settle() {
	s.settled.Do(func() {
		cause := context.Cause(s.ended)
		read := s.written - s.duplex.TakeBack()
		s.table.Fail(cause, func(end int64) error {
			if end > read || end == 0 {
				return mcp.WithOutcome(cause, mcp.NotSent)
			}
			return mcp.WithOutcome(cause, mcp.Unknown)
		})
		s.inbox.end(cause) // last: who reads this end gives up the requests in flight
	})
}

// Err returns why the stream ended, or nil while it lives.
func (s *stream) Err() error { return context.Cause(s.ended) }

func (s *stream) readAll() {
	err := s.readLines()
	if s.cause != nil && s.ended.Err() == nil {
		err = s.cause(err)
	}
	s.fail(err)
}

func (s *stream) readLines() error {
	lines := lineReader{r: s.duplex, limit: s.limit}
	toSession := func(m jsonrpc.Message) bool { return s.inbox.put(s.ended, m) }
	for noise := 0; ; {
		line, err := lines.next()
		if err != nil {
			return err
		}
		s.heard.Store(time.Now().UnixNano())
		if line.oversize {
			s.failAnswer(line.bytes, tooLarge(s.limit))
			continue
		}
		text := bytes.TrimSpace(bytes.TrimPrefix(line.bytes, []byte("\xef\xbb\xbf")))
		if len(text) == 0 {
			continue
		}
		err = errNotJSONRPC
		if text[0] == '{' || text[0] == '[' {
			err = s.route(text, toSession)
		}
		if err == nil {
			noise = 0
			continue
		}
		if text[0] == '{' {
			s.failAnswer(text, invalidAnswer("", err))
		}
		if noise++; noise == maxNoise {
			return fmt.Errorf("the server wrote %d lines in a row that are not JSON-RPC", maxNoise)
		}
	}
}

// failAnswer ends the request that a broken message was meant to answer, if
// that can be told, so that its caller need not wait for its deadline.
func (s *stream) failAnswer(text []byte, err error) {
	for id := range answeredBy(text) {
		if s.table.FailOne(id, err) {
			return
		}
	}
}

// send writes one frame and its newline, of the given request if it is one of
// the data plane. Its errors tell whether the server can have read the whole
// frame. A frame that was cut off leaves the stream unusable.
func (s *stream) send(ctx context.Context, frame []byte, call *inflight.Call) error {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-s.ended.Done():
		return mcp.WithOutcome(context.Cause(s.ended), mcp.NotSent)
	case <-ctx.Done():
		return mcp.WithOutcome(ctx.Err(), mcp.NotSent)
	}
	if err := ctx.Err(); err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	if s.quiet() && s.doomed != nil && s.doomed() {
		select {
		case <-s.ended.Done():
		case <-ctx.Done():
			return mcp.WithOutcome(ctx.Err(), mcp.NotSent)
		}
	}
	if s.ended.Err() != nil {
		return mcp.WithOutcome(context.Cause(s.ended), mcp.NotSent)
	}
	whole := len(frame) // without the newline, which not every server waits for
	if call != nil {
		call.SetEnd(s.written + int64(whole))
	}
	n, err := s.write(ctx, append(frame, '\n'))
	s.written += int64(n)
	if err == nil {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case s.ended.Err() != nil:
		err = context.Cause(s.ended) // and the write was interrupted for it
	case s.cause != nil:
		err = s.cause(err) // a pipe breaks because its reader has ended
	}
	if n > 0 || ctx.Err() == nil {
		// What follows a torn frame would be read as its end.
		s.end(fmt.Errorf("writing to the server: %w", err))
		s.settle()
	}
	if n >= whole {
		return mcp.WithOutcome(err, mcp.Unknown)
	}
	return mcp.WithOutcome(err, mcp.NotSent)
}

// quiet reports whether nothing has come for so long that the peer may have
// been killed meanwhile. A busy stream is spared the question.
func (s *stream) quiet() bool {
	const short = int64(50 * time.Microsecond)
	return time.Now().UnixNano()-s.heard.Load() > short
}

// write writes all of frame, giving up when ctx or the stream ends.
func (s *stream) write(ctx context.Context, frame []byte) (int, error) {
	// The end of ctx interrupts the write, not a deadline of the duplex, which
	// could pass a moment before ctx knows of it.
	if err := s.duplex.SetWriteDeadline(time.Time{}); err != nil {
		return s.writeWithoutDeadline(ctx, frame)
	}
	if s.ended.Err() != nil {
		return 0, context.Cause(s.ended) // the deadline that fail set may be gone
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = s.duplex.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := s.duplex.Write(frame)
	if !stop() {
		<-interrupted // or it would cut off the next frame
	}
	if n == len(frame) {
		err = nil
	}
	return n, err
}

// writeWithoutDeadline serves duplexes whose writes cannot be interrupted, such
// as pipes on Windows: the write goes on in the background, and when it runs
// out of time the stream ends.
func (s *stream) writeWithoutDeadline(ctx context.Context, frame []byte) (int, error) {
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	if !s.goes(func() {
		n, err := s.duplex.Write(frame)
		done <- written{n, err}
	}) {
		return 0, errClosed
	}
	select {
	case w := <-done:
		return w.n, w.err
	case <-s.ended.Done():
		return 1, context.Cause(s.ended)
	case <-ctx.Done():
		return 1, ctx.Err()
	}
}

// Call implements mcp.Caller.
func (s *stream) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if opts == nil {
		opts = &mcp.CallOptions{}
	}
	call, err := s.table.Begin(opts.ProgressToken)
	if err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	defer call.Drop()
	if err := s.send(ctx, requestFrame(call.ID, method, params), call); err != nil {
		return nil, err
	}
	answer, err := call.Wait(ctx, opts.Progress)
	if err != nil {
		if ctx.Err() != nil {
			s.cancel(call.ID)
		}
		return nil, err
	}
	return result(answer)
}

// cancel tells the server, in the background, that nobody waits for id any more.
func (s *stream) cancel(id int64) {
	s.goes(func() {
		ctx, stop := context.WithTimeout(s.ended, cancelTimeout)
		defer stop()
		_ = s.send(ctx, cancelledFrame(id), nil)
	})
}

// Read implements mcp.Conn.
func (s *stream) Read(ctx context.Context) (jsonrpc.Message, error) { return s.inbox.read(ctx) }

// Write implements mcp.Conn.
func (s *stream) Write(ctx context.Context, m jsonrpc.Message) error {
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, controlTimeout)
	defer stop()
	return s.send(ctx, frame, nil)
}

// SessionID implements mcp.Conn: streams have no session id.
func (s *stream) SessionID() string { return "" }

// errClosed ends a connection that was closed from this side.
var errClosed = errors.New("connection closed")
