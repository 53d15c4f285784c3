package activity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A queued is an event that waits for a sink.
type queued struct {
	event   Event
	size    int
	missing uint64 // for how many others it stands; 0: it is one itself
}

// A lane is the way to one sink: a queue and a goroutine, which alone calls the
// sink.
type lane struct {
	sink Sink
	log  *Log

	wake  chan struct{} // holds a token when there is something to do
	ended chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards the following
	queue   []queued
	writing int // events that the sink has at the moment
	bytes   int // of queue and of what is being written
	closed  bool
	untold  uint64        // events that are missing, and no event says so yet
	moved   chan struct{} // closed, and replaced, when there is room or something was written
	offered uint64        // how many were queued
	settled uint64        // how many of them are written, or will never be
	written uint64
	failed  uint64
	dropped uint64
	err     error // of the last Write
}

func newLane(sink Sink, l *Log) *lane {
	return &lane{
		sink:  sink,
		log:   l,
		wake:  make(chan struct{}, 1),
		ended: make(chan struct{}),
		moved: make(chan struct{}),
	}
}

// offer queues an event. It returns false if there is no room and the caller wants
// to wait for it; otherwise it drops the event then.
func (n *lane) offer(e Event, size int, wait bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		n.dropped++
		return true
	}
	o := &n.log.opts
	waiting := len(n.queue) + n.writing
	if waiting >= o.MaxQueued || waiting > 0 && n.bytes+size > o.MaxQueuedBytes {
		if !wait {
			n.drop()
		}
		return !wait
	}
	n.tell()
	n.put(queued{event: e, size: size})
	n.signal()
	return true
}

// offerWhenRoom queues an event as soon as there is room, or drops it when ctx
// ends.
func (n *lane) offerWhenRoom(ctx context.Context, e Event, size int) {
	for {
		n.mu.Lock()
		moved := n.moved
		n.mu.Unlock()
		if n.offer(e, size, ctx.Err() == nil) {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
}

// drop counts an event that is not queued. It needs the lock.
func (n *lane) drop() {
	n.dropped++
	n.untold++
}

// tell queues an event that says how many are missing, if any are. It needs the
// lock.
func (n *lane) tell() {
	if n.untold == 0 {
		return
	}
	e := n.log.complete(context.Background(), Event{
		Kind:   KindDropped,
		Detail: map[string]string{DetailEvents: strconv.FormatUint(n.untold, 10)},
	})
	n.put(queued{event: e, size: e.size(), missing: n.untold})
	n.untold = 0
}

func (n *lane) put(q queued) {
	n.queue = append(n.queue, q)
	n.bytes += q.size
	n.offered++
}

func (n *lane) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// advance wakes who waits for room or for the end of a write. It needs the lock.
func (n *lane) advance() {
	close(n.moved)
	n.moved = make(chan struct{})
}

func (n *lane) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.signal()
}

// run passes events on to the sink until the lane is closed and empty, or ctx ends.
func (n *lane) run(ctx context.Context) {
	defer close(n.ended)
	for {
		batch, more := n.take()
		switch {
		case ctx.Err() != nil:
			n.giveUp(batch)
			return
		case len(batch) > 0:
			n.settle(batch, n.write(ctx, batch))
		case !more:
			return
		default:
			select {
			case <-n.wake:
			case <-ctx.Done():
			}
		}
	}
}

// take returns what to write next; nothing and false if there will never be more.
func (n *lane) take() (batch []queued, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 && n.err == nil {
		n.tell() // nothing may come for a while that would say it
	}
	k := min(len(n.queue), MaxBatch)
	batch, n.queue = n.queue[:k:k], n.queue[k:]
	if len(n.queue) == 0 {
		n.queue = nil // gives back the memory of a long queue
	}
	n.writing = k
	return batch, k > 0 || !n.closed
}

// write has the sink write a batch. A panic of the sink is an error.
func (n *lane) write(ctx context.Context, batch []queued) (err error) {
	ctx, cancel := context.WithTimeout(ctx, n.log.opts.WriteTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	events := make([]Event, len(batch))
	for i, q := range batch {
		events[i] = q.event
	}
	return n.sink.Write(ctx, events)
}

// settle notes what became of a batch, and says so if that is news.
func (n *lane) settle(batch []queued, err error) {
	var events, missing, size = uint64(0), uint64(0), 0
	for _, q := range batch {
		size += q.size
		missing += q.missing
		if q.missing == 0 {
			events++
		}
	}
	n.mu.Lock()
	before := n.err
	n.err = err
	n.writing = 0
	n.bytes -= size
	n.settled += uint64(len(batch))
	if err == nil {
		n.written += events
	} else {
		n.failed += events
		n.untold += events + missing
	}
	n.advance()
	n.mu.Unlock()

	logger := n.log.opts.Logger.With("sink", fmt.Sprintf("%T", n.sink))
	switch {
	case err != nil && before == nil:
		logger.Error("activity: events are lost, as they cannot be written", "err", n.log.redactor.Text(cut(err.Error(), MaxError)))
	case err == nil && before != nil:
		logger.Info("activity: events are written again")
	}
	if err == nil && missing > 0 {
		logger.Warn("activity: events are missing", "events", missing, "at", time.Now())
	}
}

// giveUp counts what is left as lost.
func (n *lane) giveUp(batch []queued) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, q := range slices.Concat(batch, n.queue) {
		if q.missing == 0 {
			n.dropped++
		}
	}
	n.settled = n.offered
	n.queue, n.bytes, n.writing = nil, 0, 0
	n.advance()
}

// flush waits until what was queued so far is settled, and returns the error of the
// last Write.
func (n *lane) flush(ctx context.Context) error {
	n.mu.Lock()
	target := n.offered
	n.mu.Unlock()
	for {
		n.mu.Lock()
		settled, moved, err := n.settled, n.moved, n.err
		n.mu.Unlock()
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

func (n *lane) status() SinkStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return SinkStatus{
		Sink:        fmt.Sprintf("%T", n.sink),
		Queued:      len(n.queue) + n.writing,
		QueuedBytes: n.bytes,
		Written:     n.written,
		Failed:      n.failed,
		Dropped:     n.dropped,
		Err:         n.err,
	}
}
