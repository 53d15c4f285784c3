package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/stall"
)

// An interruptible is a duplex whose Read can be interrupted and go on later.
type interruptible interface {
	// InterruptRead ends a Read that waits, or the next, with
	// os.ErrDeadlineExceeded.
	InterruptRead()
	// ResumeRead makes Read wait again, and reports whether there is anything
	// more to wait for.
	ResumeRead() bool
}

// An intake is the reading side of a stream. One goroutine at a time reads it: the
// stream's own or, in its stead, that of a caller that is the only one to wait for an
// answer. Such a caller reads its answer instead of being woken by another thread,
// which costs as much as the whole rest of a call to a local server.
//
// After an answer, if no call follows at once, the stream's goroutine waits a moment
// before it reads on, to let such a caller begin. It does not after several calls at a
// time: their callers come back together, and it reads for them all.
type intake struct {
	duplex    duplex
	interrupt func()        // ends a Read that waits; does nothing if that is not possible
	turn      chan struct{} // holds a token while a goroutine reads
	wanted    chan struct{} // capacity 1: the goroutine shall read
	served    atomic.Int64  // answers that their callers read
	apart     bool          // callers may read
	lull      time.Duration // how long the goroutine leaves the reading to callers

	// The following belong to the goroutine that reads.
	lines lineReader
	noise int   // lines in a row that were not JSON-RPC
	err   error // why reading has ended
}

// lull is how long the goroutine leaves the reading to callers after an answer.
const lull = time.Millisecond

func (s *stream) newIntake() {
	d := s.duplex
	s.intake = intake{
		duplex:    d,
		interrupt: func() {},
		turn:      make(chan struct{}, 1),
		wanted:    make(chan struct{}, 1),
		lull:      lull,
		lines: lineReader{r: d, lazy: newLazyReader(d), limit: s.limit, heard: s.hear, stall: &stall.Watch{Over: func() {
			s.goes(func() { s.fail(stall.Err) })
		}}},
	}
	in := &s.intake
	if i, ok := d.(interruptible); ok {
		in.apart, in.interrupt = true, i.InterruptRead
	}
}

// want tells the goroutine to read.
func (in *intake) want() {
	select {
	case in.wanted <- struct{}{}:
	default:
	}
}

// resume reports whether err was only an interruption of a Read, and ends it.
func (in *intake) resume(err error) bool {
	i, ok := in.duplex.(interruptible)
	return ok && errors.Is(err, os.ErrDeadlineExceeded) && i.ResumeRead()
}

// readAll is the goroutine that reads the stream to its end.
func (s *stream) readAll() {
	in := &s.intake
	defer in.lines.stall.Stop()
	in.turn <- struct{}{}
	for in.err == nil && s.ended.Err() == nil {
		answered := s.readLine()
		if answered && in.apart && s.table.Lone() {
			<-in.turn
			s.pauseReading()
			in.turn <- struct{}{} // a caller that reads leaves when it has its answer
		}
	}
	err := in.err
	<-in.turn
	if s.cause != nil && s.ended.Err() == nil {
		err = s.cause(err)
	}
	s.fail(err)
}

// pauseReading returns when the goroutine is wanted, or has not been missed for a
// lull.
func (s *stream) pauseReading() {
	in := &s.intake
	timer := time.NewTimer(in.lull)
	defer timer.Stop()
	for served := in.served.Load(); ; {
		select {
		case <-in.wanted:
			return
		case <-s.ended.Done():
			return
		case <-timer.C:
		}
		now := in.served.Load()
		if now == served {
			return
		}
		served = now
		timer.Reset(in.lull)
	}
}

// readFor reads until call has something to see, or another goroutine must read on.
// It does nothing if another goroutine reads already.
func (s *stream) readFor(ctx context.Context, call *inflight.Call) {
	in := &s.intake
	if !in.apart || s.inbox != nil { // a mailbox that nobody empties would hold up the caller
		return
	}
	select {
	case in.turn <- struct{}{}:
	default:
		return
	}
	leaves := ctx
	if own, ok := ctx.(inflight.Hooked); ok {
		leaves = own.Hook(in.interrupt)
		defer own.Unhook()
	}
	if leaves.Done() != nil {
		defer context.AfterFunc(leaves, in.interrupt)()
	}
	for in.err == nil && !call.Told() && ctx.Err() == nil && s.ended.Err() == nil {
		s.readLine()
	}
	in.served.Add(1)
	more := in.err != nil || !s.table.Idle()
	<-in.turn
	if more {
		in.want()
	}
}

// readLine reads one line and hands it on, and reports whether it was a message.
// The goroutine that has the turn calls it. An error that ends the reading is left in the
// intake.
func (s *stream) readLine() bool {
	in := &s.intake
	line, err := in.lines.next()
	switch {
	case err != nil && in.resume(err):
		return false
	case err != nil:
		in.err = err
		return false
	case line.oversize:
		s.failAnswer(line.bytes, tooLarge(s.limit))
		return true
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(line.bytes, []byte("\xef\xbb\xbf")))
	if len(text) == 0 {
		return false
	}
	err = errNotJSONRPC
	if text[0] == '{' || text[0] == '[' {
		err = s.route(text, s.deliver)
	}
	if err == nil {
		in.noise = 0
		return true
	}
	if text[0] == '{' {
		s.failAnswer(text, invalidAnswer("", err))
	}
	if n, ok := in.duplex.(interface{ Noise(line []byte) }); ok {
		n.Noise(text)
	}
	if in.noise++; in.noise == maxNoise {
		in.err = fmt.Errorf("the server wrote %d lines in a row that are not JSON-RPC", maxNoise)
	}
	return false
}
