// Package lines reads what a user types, line by line, for questions that can
// end before the user has answered.
package lines

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Max bounds a line, in bytes.
const Max = 64 << 10

var (
	// ErrEnded reports that there will be no more lines.
	ErrEnded = errors.New("the input has ended")
	// ErrTooLong reports a line of more than Max bytes. It was dropped.
	ErrTooLong = errors.New("too long")
	// ErrStale reports a line that may be the answer to an earlier question, as
	// its reading was begun for that. It was dropped.
	ErrStale = errors.New("begun before")
	// ErrUntil reports that until was closed first.
	ErrUntil = errors.New("no answer needed any more")
)

// A Reader reads lines. One goroutine at a time calls Read; the others of its
// methods are safe for concurrent use.
type Reader struct {
	in *bufio.Reader
	// deadline ends a read of in that waits, if in has deadlines.
	deadline func(time.Time) error

	closed chan struct{} // closed by Close

	mu       sync.Mutex // guards the following
	shut     bool       // Close was called
	stopping bool       // Stop ends the read under way
	over     bool       // nothing can be read any more
	waiting  chan<- typed
	reading  <-chan struct{} // closed when the read under way has ended; nil if none is
}

// typed is what one read has brought.
type typed struct {
	line string
	err  error
}

// New returns a Reader of in. Only what is asked for is read.
func New(in io.Reader) *Reader {
	r := &Reader{in: bufio.NewReaderSize(in, Max), closed: make(chan struct{})}
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		r.deadline = d.SetReadDeadline
	}
	return r
}

// Read returns a line without its end. It waits until ctx ends, until is closed
// (which may be nil) or the Reader is closed. The line that was waited for is
// then lost: a later Read gets ErrStale for it.
func (r *Reader) Read(ctx context.Context, until <-chan struct{}) (string, error) {
	line := make(chan typed, 1) // room for a line without a reader
	r.mu.Lock()
	if r.shut || r.over {
		r.mu.Unlock()
		return "", ErrEnded
	}
	r.waiting = line
	begunBefore := r.reading != nil
	if !begunBefore {
		done := make(chan struct{})
		r.reading = done
		go r.read(done)
	}
	r.mu.Unlock()
	select {
	case t := <-line:
		if begunBefore && t.err == nil {
			return "", ErrStale
		}
		return t.line, t.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-until:
		return "", ErrUntil
	case <-r.closed:
		return "", ErrEnded
	}
}

// read reads one line and gives it to the caller that waits for it.
func (r *Reader) read(done chan<- struct{}) {
	t := scan(r.in)
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.err != nil && !errors.Is(t.err, ErrTooLong) {
		r.over = !r.stopping || !errors.Is(t.err, os.ErrDeadlineExceeded)
		t.err = ErrEnded
	}
	if r.waiting != nil {
		r.waiting <- t
		r.waiting = nil
	}
	r.reading = nil
	close(done)
}

// scan reads one line.
func scan(in *bufio.Reader) typed {
	line, err := in.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err == nil {
			err = ErrTooLong
		}
	}
	if err != nil && errors.Is(err, io.EOF) && text != "" {
		err = nil // the last line has no end
	}
	return typed{text, err}
}

// Stop ends the read that an ended Read has left behind, if in has read deadlines,
// as pipes and network connections have; and waits for it. Otherwise that read
// ends with the next line or with in. Lines can be read again afterwards.
func (r *Reader) Stop() {
	r.mu.Lock()
	reading := r.reading
	r.stopping = reading != nil && r.deadline != nil
	r.mu.Unlock()
	if reading == nil || r.deadline == nil || r.deadline(time.Unix(1, 0)) != nil {
		return
	}
	<-reading
	_ = r.deadline(time.Time{})
	r.mu.Lock()
	r.stopping = false
	r.mu.Unlock()
}

// Close ends the Read under way and all later ones, as Stop does. It leaves in
// open. Of the Reader's own there is at most one goroutine, which reads a line.
func (r *Reader) Close() {
	r.mu.Lock()
	if !r.shut {
		r.shut = true
		close(r.closed)
	}
	r.mu.Unlock()
	r.Stop()
}
