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
	"time"

	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// The defaults of [Options].
const (
	// DefaultMaxQueued is how many events wait for a sink if MaxQueued is zero.
	DefaultMaxQueued = 10_000
	// DefaultMaxQueuedBytes bounds them in bytes if MaxQueuedBytes is zero.
	DefaultMaxQueuedBytes = 16 << 20
	// DefaultWriteTimeout bounds one Write of a sink if WriteTimeout is zero.
	DefaultWriteTimeout = 30 * time.Second
)

// MaxBatch is how many events one Write of a [Sink] gets at most.
const MaxBatch = 256

// Options configure a [Log]. The zero value, and nil, mean the defaults.
type Options struct {
	// HashKey is the key of Event.ArgumentHash. Without a key, short arguments could
	// be found out by trying. Default: a random one, so that hashes can be compared
	// within one log only. Give 32 random bytes that are kept secret for hashes that
	// are the same in several processes and after a restart.
	HashKey []byte
	// KeepArguments has events hold the arguments of calls, without secrets of known
	// forms; those of more than [MaxArguments] bytes are left out. What has no form of
	// its own, such as a password, stays in. Default: false.
	KeepArguments bool
	// Secrets are further secrets that are taken out, the kind of each with what
	// matches it; if the expression has a group, the group alone is. It is done before
	// Record returns, so let them be cheap.
	Secrets map[string]*regexp.Regexp
	// MaxQueued bounds the events that wait for one sink. Default:
	// [DefaultMaxQueued].
	MaxQueued int
	// MaxQueuedBytes bounds, about, the bytes of the events that wait for one sink.
	// One event is taken in any case. Default: [DefaultMaxQueuedBytes].
	MaxQueuedBytes int
	// Wait has [Log.Record] wait for room, until its context ends, where events would
	// be dropped. Then a sink that hangs makes calls hang. Default: false.
	Wait bool
	// WriteTimeout bounds one Write of a sink. Default: [DefaultWriteTimeout].
	WriteTimeout time.Duration
	// Logger is told when a sink begins to fail or to lag behind, and when it works
	// again. Default: nobody; [Log.Status] tells in any case.
	Logger *slog.Logger
}

// A Sink writes events down, or sends them on. [Slog], [OpenFile] and [NewMemory]
// make one.
type Sink interface {
	// Write writes events in the order in which they were recorded, at most
	// [MaxBatch]. It is called by one goroutine at a time for each log, and has to
	// return soon after ctx ends. It may keep the events but not the slice, and must
	// not change what Arguments and Detail of an event hold. If it returns an error
	// none of the events is given to it again.
	Write(ctx context.Context, events []Event) error
}

// A Log passes events on to its sinks. Make one with [New]. All methods are safe for
// concurrent use, and a nil *Log is one that does nothing.
//
// Each sink has a queue and a goroutine of its own, so that one that is slow, fails
// or panics holds up no other. The goroutines belong to the log and end with
// [Log.Close].
type Log struct {
	opts     Options
	key      []byte
	redactor *redact.Redactor
	lanes    []*lane
	stop     context.CancelFunc // ends the writing of the sinks
}

// New returns a log with these sinks; nil ones are skipped. It keeps them open when
// it is closed: who has opened one closes it afterwards.
func New(opts *Options, sinks ...Sink) *Log {
	l := &Log{}
	if opts != nil {
		l.opts = *opts
	}
	o := &l.opts
	if o.MaxQueued <= 0 {
		o.MaxQueued = DefaultMaxQueued
	}
	if o.MaxQueuedBytes <= 0 {
		o.MaxQueuedBytes = DefaultMaxQueuedBytes
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
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
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	for _, sink := range sinks {
		if sink == nil {
			continue
		}
		n := newLane(sink, l)
		l.lanes = append(l.lanes, n)
		go n.run(ctx)
	}
	return l
}

// Record passes an event on to the sinks. What e leaves empty of Time, ID, Parent and
// User is taken from the clock and from ctx, see registry.WithCallID and
// session.WithUser; a missing ID is made. Of e.Arguments a hash is kept and, by option, the rest.
//
// Record does not wait: where the queue of a sink is full the event is dropped for
// that sink, counted in [Log.Status], and a [KindDropped] event says in its place how
// many are missing. With [Options].Wait it waits for room until ctx ends, and not at
// all if ctx has ended before. After Close events are dropped, too.
func (l *Log) Record(ctx context.Context, e Event) {
	if l == nil || len(l.lanes) == 0 {
		return
	}
	e = l.complete(ctx, e)
	size := e.size()
	var full []*lane
	for _, n := range l.lanes {
		if !n.offer(e, size, l.opts.Wait) {
			full = append(full, n)
		}
	}
	for _, n := range full {
		n.offerWhenRoom(ctx, e, size)
	}
}

// Flush waits until the sinks have been given what was recorded before, or ctx ends.
// The error is that of ctx, or of the last Write of a sink.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, n := range l.lanes {
		if err := n.flush(ctx); err != nil {
			errs = append(errs, fmt.Errorf("activity: %T: %w", n.sink, err))
		}
	}
	return errors.Join(errs...)
}

// Close writes what was recorded before, ends the goroutines of the log and returns
// when they have ended. If ctx ends before, it ends the contexts of the sinks and
// returns an error that says how much was left; what is left is given up, and the
// goroutine of a sink that does not heed its context ends when the sink returns.
// Further calls wait as the first does.
func (l *Log) Close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	for _, n := range l.lanes {
		n.close()
	}
	var errs []error
	for _, n := range l.lanes {
		select {
		case <-n.ended:
		case <-ctx.Done():
			l.stop()
			errs = append(errs, fmt.Errorf("activity: %T: %d events are not written: %w", n.sink, n.status().Queued, ctx.Err()))
		}
	}
	if l.stop != nil { // of the zero Log
		l.stop()
	}
	return errors.Join(errs...)
}

// A SinkStatus says where a sink stands.
type SinkStatus struct {
	// Sink is its type, such as "*activity.File".
	Sink string
	// Queued is how many events wait for it, or are being written.
	Queued int
	// QueuedBytes is about how many bytes these take.
	QueuedBytes int
	// Written is how many events it has written.
	Written uint64
	// Failed is how many events it got and could not write.
	Failed uint64
	// Dropped is how many events it did not get because too many were waiting, or
	// because the log was closed.
	Dropped uint64
	// Err is the error of its last Write; nil if there was none.
	Err error
}

// Status returns where the sinks stand, in the order in which they were given.
func (l *Log) Status() []SinkStatus {
	if l == nil {
		return nil
	}
	var status []SinkStatus
	for _, n := range l.lanes {
		status = append(status, n.status())
	}
	return status
}
