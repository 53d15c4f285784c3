package activity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/redact"
)

const (
	// defaultMaxQueued is how many events wait for the sinks if MaxQueued is zero.
	defaultMaxQueued = 4096
	// maxBatch is how many events one Write of a sink gets at most, not counting one
	// that says how many are missing.
	maxBatch = 256
	// writeTimeout bounds one Write of a sink.
	writeTimeout = 30 * time.Second
)

// Options configure a [Log]. The zero value, and nil, mean the defaults.
type Options struct {
	// HashKey is the key of Event.ArgumentHash. Without a key, short arguments could
	// be found out by trying. Default: a random one, so that hashes can be compared
	// within one log only. Give 32 random bytes that are kept secret for hashes that
	// are the same in several processes and after a restart.
	HashKey []byte
	// KeepArguments has events hold the arguments of calls, without secrets of known
	// forms; those of more than 16 KiB bytes are left out. A secret without a form of its
	// own, such as a password, stays in. Default: false.
	KeepArguments bool
	// Secrets are further secrets that are taken out, the kind of each with what
	// matches it; if the expression has a group, the group alone is. It is done before
	// Record returns, so let them be cheap.
	Secrets map[string]*regexp.Regexp
	// MaxQueued bounds the events that wait to be written. Most take about 1 KB, none
	// more than 40 KB. Default: 4096. Negative: no limit.
	MaxQueued int
	// Logger is told when a sink begins to fail, when it works again, and when events
	// are missing. Default: nothing is logged; [Log.Status] tells in any case.
	Logger *slog.Logger
}

// A Log passes events on to its sinks. Make one with [New]. All methods are safe for
// concurrent use, and a nil *Log is one that does nothing.
//
// The events wait in one bounded queue. One goroutine, which belongs to the log and
// ends with [Log.Close], gives them to the sinks, one sink after the other. A sink that
// fails or panics loses its events; the others get theirs.
type Log struct {
	opts     Options
	key      []byte
	redactor *redact.Redactor
	sinks    []*outlet
	stop     context.CancelFunc // ends the writing of the sinks
	wake     chan struct{}      // holds a token when there is something to do
	ended    chan struct{}      // closed when the goroutine has ended

	mu      sync.Mutex // guards the following
	queue   []Event
	writing int // events that the sinks have at the moment
	closed  bool
	untold  uint64        // events that are missing, and no event says so yet
	moved   chan struct{} // closed, and replaced, when something was written
	offered uint64        // how many were queued
	settled uint64        // how many of them are written, or will never be
	status  Status
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
	l := &Log{wake: make(chan struct{}, 1), ended: make(chan struct{}), moved: make(chan struct{})}
	if opts != nil {
		l.opts = *opts
	}
	o := &l.opts
	if o.MaxQueued == 0 {
		o.MaxQueued = defaultMaxQueued
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l.key = slices.Clone(o.HashKey)
	if len(l.key) == 0 {
		l.key = make([]byte, 32)
		_, _ = rand.Read(l.key) // never fails
	}
	var patterns []redact.Pattern
	for _, kind := range slices.Sorted(maps.Keys(o.Secrets)) {
		patterns = append(patterns, redact.Pattern{Kind: kind, Regexp: o.Secrets[kind]})
	}
	o.HashKey, o.Secrets = nil, nil
	l.redactor = redact.New(patterns)
	for _, sink := range sinks {
		if sink != nil {
			l.sinks = append(l.sinks, &outlet{sink: sink})
		}
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	go l.run(ctx)
	return l
}

// Record passes an event on to the sinks. If Time, ID, Parent or User of e are empty they
// are taken from the clock and from ctx, see registry.WithCallID and session.WithUser; a
// missing ID is made. Of e.Arguments a hash is kept and, by option, the rest.
//
// Record does not wait: when the queue is full the event is dropped, counted in
// [Log.Status], and a [KindDropped] event says in its place how many are missing. After
// Close events are dropped, too.
func (l *Log) Record(ctx context.Context, e Event) {
	if l == nil || len(l.sinks) == 0 {
		return
	}
	e = l.complete(ctx, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		l.status.Dropped++
	case l.opts.MaxQueued > 0 && len(l.queue)+l.writing >= l.opts.MaxQueued:
		l.status.Dropped++
		l.untold++
	default:
		l.tell()
		l.put(e)
		l.signal()
	}
}

// tell queues an event that says how many are missing, if any are. It needs the lock.
func (l *Log) tell() {
	if l.untold > 0 {
		l.put(l.missing(l.untold))
		l.untold = 0
	}
}

// missing returns an event that says how many others are missing.
func (l *Log) missing(n uint64) Event {
	return l.complete(context.Background(), Event{
		Kind:   KindDropped,
		Detail: map[string]string{DetailEvents: strconv.FormatUint(n, 10)},
	})
}

func (l *Log) put(e Event) {
	l.queue = append(l.queue, e)
	l.offered++
}

func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run gives events to the sinks until the log is closed and empty, or ctx ends.
func (l *Log) run(ctx context.Context) {
	defer close(l.ended)
	for {
		batch, more := l.take()
		switch {
		case ctx.Err() != nil:
			l.giveUp(batch)
			return
		case len(batch) > 0:
			l.settle(batch, l.write(ctx, batch))
		case !more:
			return
		default:
			select {
			case <-l.wake:
			case <-ctx.Done():
			}
		}
	}
}

// take returns what to write next; nothing and false if there will never be more.
func (l *Log) take() (batch []Event, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.tell() // nothing may come for a while that would say it
	}
	k := min(len(l.queue), maxBatch)
	batch, l.queue = l.queue[:k:k], l.queue[k:]
	if len(l.queue) == 0 {
		l.queue = nil // gives back the memory of a long queue
	}
	l.writing = k
	return batch, k > 0 || !l.closed
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
		events = slices.Insert(events, 0, l.missing(o.lost))
	}
	before := o.err
	o.err = o.write(ctx, events)
	logger := l.opts.Logger.With("sink", fmt.Sprintf("%T", o.sink))
	switch {
	case o.err != nil:
		o.lost += uint64(len(batch))
		if before == nil {
			logger.Error("activity: events are lost, as they cannot be written", "err", l.redactor.Text(cut(o.err.Error(), MaxError)))
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

// settle notes what became of a batch.
func (l *Log) settle(batch []Event, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		if batch[i].Kind != KindDropped {
			l.status.Written++
		}
	}
	l.status.Err = err
	l.writing = 0
	l.settled += uint64(len(batch))
	l.advance()
}

// giveUp counts what is left as lost.
func (l *Log) giveUp(batch []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.status.Dropped += uint64(len(batch) + len(l.queue))
	l.settled = l.offered
	l.queue, l.writing = nil, 0
	l.advance()
}

// advance wakes those that wait for the end of a write. It needs the lock.
func (l *Log) advance() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// Flush waits until the sinks have been given what was recorded before, or ctx ends.
// The error is that of ctx, or of the last Write of each sink.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	target := l.offered
	l.mu.Unlock()
	for {
		l.mu.Lock()
		settled, moved, err := l.settled, l.moved, l.status.Err
		l.mu.Unlock()
		if settled >= target {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close writes what was recorded before, ends the goroutine of the log and returns
// when it has ended. If ctx ends before, it ends the contexts of the sinks and
// returns an error that says how much was left; what is left is given up, and the
// goroutine ends when a sink that does not heed its context returns. Further calls
// wait as the first does.
func (l *Log) Close(ctx context.Context) error {
	if l == nil || l.stop == nil { // nil, or the zero Log
		return nil
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
	defer l.stop()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("activity: %d events are not written: %w", l.Status().Queued, ctx.Err())
	}
}

// A Status says where a log stands.
type Status struct {
	// Queued is how many events wait, or are being written.
	Queued int
	// Written is how many events were given to the sinks.
	Written uint64
	// Dropped is how many events the sinks did not get because too many were waiting,
	// or because the log was closed.
	Dropped uint64
	// Err is the error of the last Write of each sink; nil if there was none.
	Err error
}

// Status returns where the log stands.
func (l *Log) Status() Status {
	if l == nil {
		return Status{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	status := l.status
	status.Queued = len(l.queue) + l.writing
	return status
}
