package activity

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/internal/eventlog"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

const (
	// maxQueued is how many events wait for the sinks; most take about 1 KB, none more
	// than 40 KB.
	maxQueued = 4096
	// maxBatch is how many events one Write of a sink gets at most, not counting one
	// that says how many are missing.
	maxBatch = 256
	// writeTimeout bounds one Write of a sink.
	writeTimeout = 30 * time.Second
)

// Options configure a [Log]. The zero value, and nil, mean the defaults.
type Options struct {
	// KeepArguments has events hold the arguments of calls, without secrets of known
	// forms; those of more than 16 KiB are left out. A secret without a form of its
	// own, such as a password, stays in. Default: false.
	KeepArguments bool
	// Logger is told when a sink begins to fail and when it works again. Default: nothing
	// is logged.
	Logger *slog.Logger
}

// A Log passes events on to its sinks. Make one with [New]. All methods are safe for
// concurrent use, and a nil *Log is one that does nothing.
//
// The events wait in one bounded queue. One goroutine, which belongs to the log and
// ends with [Log.Close], gives them to the sinks, one sink after the other. A sink that
// fails or panics loses its events; the others get theirs.
type Log struct {
	keepArguments bool
	logger        *slog.Logger
	key           []byte // of the hashes of arguments
	redactor      *redact.Redactor
	sinks         []*outlet
	stop          context.CancelFunc // ends the writing of the sinks
	queue         chan *queued
	closing       chan struct{} // closed by Close
	ended         chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards the following, and is held to queue an event
	closed  bool
	missing uint64 // events for which the queue had no room, and no event says so yet
}

// A queued is an event, or what Flush waits for.
type queued struct {
	event   Event
	missing uint64       // events before it for which the queue had no room
	flushed chan<- error // not nil: gets the error of the last Write of each sink
}

// An outlet is a sink with what the log knows of it. The log's goroutine alone uses it.
type outlet struct {
	sink Sink
	lost uint64 // events that it could not write, and no event says so yet
	err  error  // of its last Write
}

// New returns a log with these sinks; nil ones are skipped. It keeps them open when
// it is closed: the caller that opened one closes it afterwards.
func New(opts *Options, sinks ...Sink) *Log {
	o := *cmp.Or(opts, new(Options))
	l := &Log{
		keepArguments: o.KeepArguments, logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), key: make([]byte, 32), redactor: redact.Known(),
		queue: make(chan *queued, maxQueued), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	_, _ = rand.Read(l.key) // never fails
	for _, sink := range sinks {
		if sink != nil {
			l.sinks = append(l.sinks, &outlet{sink: sink})
		}
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	go l.run(eventlog.With(ctx, l))
	return l
}

// Record passes an event on to the sinks. If Time, ID, Parent or User of e are empty they
// are taken from the clock and from ctx, see registry.WithCallID and session.WithUser; a
// missing ID is made. Of e.Arguments a hash is kept and, by option, the rest.
//
// Record does not wait: when 4096 events are waiting the event is dropped, and an event of
// the kind "dropped" says in its place how many are missing. After Close events are dropped, too.
func (l *Log) Record(ctx context.Context, e Event) {
	if l == nil || len(l.sinks) == 0 {
		return
	}
	e = l.complete(ctx, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.queue <- &queued{event: e, missing: l.missing}:
		l.missing = 0
	default:
		l.missing++
	}
}

// missingEvent returns an event that says how many others are missing.
func (l *Log) missingEvent(n uint64) Event {
	return l.complete(context.Background(), Event{Kind: "dropped", Detail: map[string]string{"events": strconv.FormatUint(n, 10)}})
}

// run gives events to the sinks until the log is closed and empty, or ctx ends.
func (l *Log) run(ctx context.Context) {
	defer close(l.ended)
	var err error // of the last Write of each sink
	for {
		next := l.next(ctx)
		if next == nil || ctx.Err() != nil {
			return
		}
		var batch []Event
		for next != nil && next.flushed == nil {
			if next.missing > 0 {
				batch = append(batch, l.missingEvent(next.missing))
			}
			if batch = append(batch, next.event); len(batch) >= maxBatch {
				next = nil
				break
			}
			select {
			case next = <-l.queue:
			default:
				next = nil
			}
		}
		if len(batch) > 0 {
			err = l.write(ctx, batch)
		}
		if next != nil {
			next.flushed <- err
		}
	}
}

// next waits for what was queued; nil if there will never be more.
func (l *Log) next(ctx context.Context) *queued {
	select {
	case q := <-l.queue:
		return q
	default:
	}
	l.mu.Lock()
	missing := l.missing
	l.missing = 0
	l.mu.Unlock()
	if missing > 0 { // nothing may come for a while that would say it
		return &queued{event: l.missingEvent(missing)}
	}
	select {
	case q := <-l.queue:
		return q
	case <-ctx.Done():
	case <-l.closing:
		select {
		case q := <-l.queue:
			return q
		default:
		}
	}
	return nil
}

// write has each sink write a batch, and returns what failed.
func (l *Log) write(ctx context.Context, batch []Event) error {
	var errs []error
	for _, o := range l.sinks {
		if err := l.writeTo(ctx, o, batch); err != nil {
			errs = append(errs, fmt.Errorf("activity: %T: %w", o.sink, err))
		}
	}
	return errors.Join(errs...)
}

func (l *Log) writeTo(ctx context.Context, o *outlet, batch []Event) error {
	events := slices.Clone(batch) // sinks may keep events, and must not see each other's changes
	if o.lost > 0 {
		events = slices.Insert(events, 0, l.missingEvent(o.lost))
	}
	before := o.err
	o.err = o.write(ctx, events)
	logger := l.logger.With("sink", fmt.Sprintf("%T", o.sink))
	switch {
	case o.err != nil:
		o.lost += uint64(len(batch))
		if before == nil {
			logger.Error("activity: events are lost, as they cannot be written", "err", l.redactor.Text(cut(o.err.Error(), maxError)))
		}
	case o.lost > 0:
		logger.Warn("activity: events are written again", "missing", o.lost)
		o.lost = 0
	}
	return o.err
}

// write has the sink write events. A panic of the sink is an error.
func (o *outlet) write(ctx context.Context, events []Event) (err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return o.sink.Write(ctx, events)
}

// Flush waits until the sinks have been given what was recorded before, or ctx ends.
// The error is that of ctx, or of the last Write of each sink.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil || l.stop == nil { // nil, or the zero Log
		return nil
	}
	flushed := make(chan error, 1)
	select {
	case l.queue <- &queued{flushed: flushed}:
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-flushed:
		return err
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes what was recorded before, ends the goroutine of the log and returns
// when it has ended. If ctx ends before, it ends the contexts of the sinks and
// returns an error; what is left is given up, and the goroutine ends when a sink that
// does not heed its context returns. Further calls wait as the first does.
func (l *Log) Close(ctx context.Context) error {
	if l == nil || l.stop == nil { // nil, or the zero Log
		return nil
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	l.mu.Unlock()
	defer l.stop()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("activity: not all events are written: %w", ctx.Err())
	}
}
