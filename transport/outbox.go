package transport

import (
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A duplex is the byte stream under a [stream]. Deadlines must interrupt a
// Write that waits; a duplex that cannot do so returns an error from
// SetWriteDeadline.
type duplex interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
	// CloseWrite signals to the peer that nothing more comes.
	CloseWrite() error
}

// A tryWriter writes to a duplex without ever waiting.
type tryWriter interface {
	// TryWrite writes as much as fits at once, which may be nothing.
	TryWrite([]byte) (int, error)
}

// A sender is what a frame belongs to. It keeps where in the connection's
// output the frame ends, without its newline; 0 means that no byte of it was
// written.
type sender interface {
	SetEnd(int64)
	End() int64
}

// A note is a frame that belongs to no request of the data plane.
type note struct {
	end  atomic.Int64
	done chan struct{} // closed when the whole frame is written
}

func (n *note) SetEnd(offset int64) { n.end.Store(offset) }
func (n *note) End() int64          { return n.end.Load() }

// A batch is frames, each with its newline, one after the other.
type batch struct {
	bytes  []byte
	frames []outgoing
}

type outgoing struct {
	sender sender
	size   int // of what is left of it
}

// keptBuffer is up to which size the memory of a batch is used again.
const keptBuffer = 64 << 10

func (b *batch) empty() batch {
	clear(b.frames)
	if cap(b.bytes) > keptBuffer {
		return batch{frames: b.frames[:0]}
	}
	return batch{b.bytes[:0], b.frames[:0]}
}

// An outbox writes the frames of a stream, each as a whole and in the order in
// which they were put in. The caller that puts a frame in writes it, and those that
// wait with it, as long as that does not block. Then a goroutine takes over, so that
// no caller is held up by another's frame. Where several calls are under way the caller
// lets others that are about to send go first, and writes their frames with its own.
//
// A caller that gives up withdraws its frame. A frame of which only a part is
// written by then ends the stream: what follows it would be read as its end.
type outbox struct {
	duplex duplex
	fast   tryWriter // nil if the duplex cannot do it
	goes   func(func()) bool
	broke  func(error) // called, without a lock held, when the stream cannot be written any more

	mu        sync.Mutex // guards the following
	progress  sync.Cond  // busy, trying or current has changed
	queue     batch
	spare     batch  // memory for the next queue
	busy      bool   // a goroutine writes
	trying    bool   // a goroutine writes without waiting, and is done in a moment
	current   sender // of the frame that the goroutine is writing
	begun     bool   // a part of the first frame is written
	abandoned sender // of a begun frame, has given up
	stopped   bool   // nothing more is written
	written   int64
}

func newOutbox(d duplex, goes func(func()) bool, broke func(error)) *outbox {
	o := &outbox{duplex: d, fast: newTryWriter(d), goes: goes, broke: broke}
	o.progress.L = &o.mu
	return o
}

// putRequest sends a request, alone if no other is under way. It reports whether the
// outbox takes it.
func (o *outbox) putRequest(call *inflight.Call, method string, params json.RawMessage, alone bool) bool {
	o.mu.Lock()
	return o.add(call, appendRequest(o.queue.bytes, call.ID, method, params), alone)
}

// put sends a frame of the control plane. It reports whether the outbox takes it.
func (o *outbox) put(n *note, frame []byte) bool {
	o.mu.Lock()
	return o.add(n, append(o.queue.bytes, frame...), true)
}

// add takes the queue's bytes with a new frame at their end. It is called with
// the lock, which it releases.
func (o *outbox) add(s sender, bytes []byte, alone bool) bool {
	if o.stopped {
		o.mu.Unlock()
		return false
	}
	before := len(o.queue.bytes)
	o.queue.bytes = append(bytes, '\n')
	o.queue.frames = append(o.queue.frames, outgoing{s, len(o.queue.bytes) - before})
	if o.busy {
		o.mu.Unlock()
		return true
	}
	o.busy = true
	if !alone {
		o.mu.Unlock()
		runtime.Gosched()
		o.mu.Lock()
	}
	err := o.drain()
	o.mu.Unlock()
	if err != nil {
		o.broke(err)
	}
	return true
}

// drain writes the queue until it is empty or would block. The caller holds the
// lock and has set busy.
func (o *outbox) drain() error {
	for len(o.queue.frames) > 0 && !o.stopped {
		fits := false
		if o.fast != nil {
			var err error
			if fits, err = o.tryQueue(); err != nil {
				return o.halt(err)
			}
		}
		if !fits && o.goes(o.writeAll) {
			return nil // and it is still busy
		} else if !fits {
			break // the connection is being closed
		}
	}
	o.release()
	return nil
}

// tryQueue writes the queue as far as it fits. Others may add to the queue
// meanwhile.
func (o *outbox) tryQueue() (fits bool, err error) {
	b := o.queue
	o.queue, o.spare = o.spare, batch{}
	end := o.written
	for _, f := range b.frames {
		end += int64(f.size)
		f.sender.SetEnd(end - 1)
	}
	o.trying = true
	o.mu.Unlock()
	n, err := o.fast.TryWrite(b.bytes)
	o.mu.Lock()
	o.trying = false
	o.progress.Broadcast()
	if n == len(b.bytes) {
		o.written += int64(n)
		for _, f := range b.frames {
			f.finished()
		}
		o.spare = b.empty()
		return true, nil
	}
	b.bytes = append(b.bytes, o.queue.bytes...)
	b.frames = append(b.frames, o.queue.frames...)
	o.spare = o.queue.empty()
	o.queue = b
	o.advance(n)
	return false, err
}

// advance takes n bytes that were written off the queue.
func (o *outbox) advance(n int) {
	o.written += int64(n)
	o.queue.bytes = o.queue.bytes[n:]
	for len(o.queue.frames) > 0 && n >= o.queue.frames[0].size {
		n -= o.queue.frames[0].size
		o.queue.frames[0].finished()
		o.pop()
		o.begun = false
	}
	if n > 0 {
		o.queue.frames[0].size -= n
		o.begun = true
	}
}

func (o *outbox) pop() {
	o.queue.frames[0] = outgoing{}
	o.queue.frames = o.queue.frames[1:]
}

func (f *outgoing) finished() {
	if n, ok := f.sender.(*note); ok {
		close(n.done)
	}
}

// release says that no goroutine writes any more.
func (o *outbox) release() {
	o.busy = false
	o.progress.Broadcast()
}

// halt stops the outbox because of err, which it returns.
func (o *outbox) halt(err error) error {
	o.stopped = true
	o.release()
	return err
}

// writeAll is the goroutine that writes what blocks, frame by frame.
func (o *outbox) writeAll() {
	o.mu.Lock()
	err := o.writeQueue()
	o.mu.Unlock()
	if err != nil {
		o.broke(err)
	}
}

// errTorn ends a stream whose last frame was given up in the middle.
var errTorn = errors.New("writing to the server: given up in the middle of a message that the server does not read")

func (o *outbox) writeQueue() error {
	for len(o.queue.frames) > 0 && !o.stopped {
		f := o.queue.frames[0]
		if o.begun && o.abandoned == f.sender {
			return o.halt(errTorn)
		}
		f.sender.SetEnd(o.written + int64(f.size) - 1)
		o.current = f.sender
		_ = o.duplex.SetWriteDeadline(time.Time{})
		text := o.queue.bytes[:f.size]
		o.mu.Unlock()
		n, err := o.duplex.Write(text)
		o.mu.Lock()
		o.current = nil
		o.advance(n)
		switch {
		case n == f.size:
		case o.stopped:
		case o.abandoned != f.sender:
			return o.halt(err)
		case o.begun:
			return o.halt(errTorn)
		default: // not a byte of it was written
			f.sender.SetEnd(0)
			o.queue.bytes = o.queue.bytes[f.size:]
			o.pop()
		}
		o.progress.Broadcast()
	}
	if !o.stopped {
		_ = o.duplex.SetWriteDeadline(time.Time{}) // one that withdraw has set
	}
	o.release()
	return nil
}

// withdraw takes back a frame whose sender has given up, and returns whether
// the server can have seen the whole of it.
func (o *outbox) withdraw(s sender) mcp.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.trying || o.current == s || o.holds(s) {
		o.abandoned = s
		if o.current == s && o.duplex.SetWriteDeadline(time.Unix(1, 0)) != nil {
			// The write goes on, and how far it comes is unknown.
			o.stopped = true
			o.goes(func() { o.broke(errTorn) })
			return mcp.Unknown
		}
		o.progress.Wait()
	}
	if o.abandoned == s {
		o.abandoned = nil // s may be used again
	}
	if end := s.End(); end != 0 && o.written >= end {
		return mcp.Unknown
	}
	return mcp.NotSent
}

// holds reports whether the frame of s is begun and will go on. One that only
// waits is taken out.
func (o *outbox) holds(s sender) bool {
	offset := 0
	for i, f := range o.queue.frames {
		switch {
		case f.sender != s:
			offset += f.size
			continue
		case i == 0 && o.begun:
			return !o.stopped
		}
		s.SetEnd(0)
		o.queue.bytes = append(o.queue.bytes[:offset], o.queue.bytes[offset+f.size:]...)
		o.queue.frames = append(o.queue.frames[:i], o.queue.frames[i+1:]...)
		return false
	}
	return false
}

// stop ends all writing, and returns how many bytes were written and whether
// that is certain: it is not if a write goes on that cannot be interrupted.
func (o *outbox) stop() (written int64, certain bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	if o.duplex.SetWriteDeadline(time.Unix(1, 0)) != nil && o.busy {
		return o.written, false
	}
	for o.busy {
		o.progress.Wait()
	}
	return o.written, true
}
