package transport

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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

// A stream speaks newline-delimited JSON over a duplex: the framing of stdio.
// It owns one goroutine, which reads until the duplex ends, and one that writes
// while the peer does not read as fast as is written.
type stream struct {
	router
	duplex duplex
	limit  int64
	outbox *outbox
	intake intake

	settled sync.Once
	ended   context.Context
	end     context.CancelCauseFunc
	// doomed, if set, reports that the peer will never answer any more. It is
	// asked before a frame is sent, unless others are on their way already.
	doomed func() bool
	// cause may replace the error of a read or write by what is known better,
	// such as the exit of the process. It may take a moment.
	cause func(error) error

	tasks // the reader, the writer, and senders of cancellations
}

func newStream(d duplex, limit int64, cause func(error) error, doomed func() bool) *stream {
	ended, end := context.WithCancelCause(context.Background())
	s := &stream{
		duplex: d,
		limit:  maxMessage(limit),
		ended:  ended,
		end:    end,
		cause:  cause,
		doomed: doomed,
	}
	s.outbox = newOutbox(d, s.goes, s.broke)
	s.newIntake()
	s.start = func() { s.goes(s.readAll) }
	return s
}

// broke ends the stream because it cannot be written any more.
func (s *stream) broke(err error) {
	if errors.Is(err, errTorn) || s.cause == nil {
		s.end(err) // at once, for callers that look whether it is over
	}
	s.goes(func() {
		if s.cause != nil && s.ended.Err() == nil {
			err = s.cause(err) // a pipe breaks because its reader has ended
		}
		s.fail(err)
	})
}

// fail ends the stream: no request is sent any more, and those in flight fail.
// Of a request that was written to its end the outcome is unknown. Only the first call
// counts.
func (s *stream) fail(err error) {
	s.end(err)
	s.settled.Do(func() {
		cause := context.Cause(s.ended)
		written, certain := s.outbox.stop()
		s.table.Fail(cause, func(end int64) error {
			if end == 0 || certain && end > written {
				return mcp.WithOutcome(cause, mcp.NotSent)
			}
			return mcp.WithOutcome(cause, mcp.Unknown)
		})
		s.mailbox.end(cause) // last: who hears of this end gives up the requests in flight
		s.intake.interrupt()
	})
}

// Info implements mcp.Caller.
func (s *stream) Info() mcp.ConnInfo {
	return mcp.ConnInfo{Err: context.Cause(s.ended), Signs: s.signs.Load()}
}

// deliver puts a message into the mailbox.
func (s *stream) deliver(m jsonrpc.Message) { s.mailbox.deliver(s.ended, m, 0) }

// mayWrite returns an error if a frame could not reach the peer any more.
func (s *stream) mayWrite(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	if s.ended.Err() == nil && (s.doomed == nil || !s.table.Idle() || !s.doomed()) {
		return nil
	}
	return s.afterEnd(ctx)
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

// send writes one frame that belongs to no request of the data plane. Its
// errors say whether the server can have read the whole of it.
func (s *stream) send(ctx context.Context, frame []byte) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	n := &note{done: make(chan struct{})}
	if !s.outbox.put(n, frame) {
		return s.afterEnd(ctx)
	}
	select {
	case <-n.done:
		return nil
	default:
	}
	select {
	case <-n.done:
		return nil
	case <-s.ended.Done():
		return mcp.WithOutcome(context.Cause(s.ended), s.outbox.withdraw(n))
	case <-ctx.Done():
		return mcp.WithOutcome(ctx.Err(), s.outbox.withdraw(n))
	}
}

// Call implements mcp.Caller.
func (s *stream) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if opts == nil {
		opts = &mcp.CallOptions{}
	}
	s.keep()
	if err := s.mayWrite(ctx); err != nil {
		return nil, err
	}
	alone := s.table.Lone()
	call, err := s.table.Begin(opts.ProgressToken)
	if err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	defer call.Drop()
	if opts.Numbered != nil {
		opts.Numbered(call.ID)
	}
	if !s.outbox.putRequest(call, method, params, alone) {
		return nil, s.afterEnd(ctx)
	}
	if alone {
		s.readFor(ctx, call)
	}
	answer, err := call.Wait(ctx, opts.Progress)
	switch {
	case err == nil:
		return result(method, answer)
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return nil, err // of the stream, with its outcome
	}
	outcome := s.outbox.withdraw(call)
	if outcome == mcp.Unknown && !isHandshake(method) {
		s.cancel(call.ID)
	}
	return nil, mcp.WithOutcome(err, outcome)
}

// cancel cancels a request at the server, in the background.
func (s *stream) cancel(id int64) {
	s.goes(func() {
		ctx, stop := context.WithTimeout(s.ended, cancelTimeout)
		defer stop()
		_ = s.send(ctx, cancelledFrame(id))
	})
}

// Write implements mcp.Conn.
func (s *stream) Write(ctx context.Context, m jsonrpc.Message) error {
	s.keep()
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, controlTimeout)
	defer stop()
	return s.send(ctx, frame)
}

// SessionID implements mcp.Conn: streams have no session id.
func (s *stream) SessionID() string { return "" }

// errClosed ends a connection that was closed from this side.
var errClosed = errors.New("connection closed")
