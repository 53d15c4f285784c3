// Tests of outbox.go and write_unix.go over pipes, and the kit for those of intake.go.

package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// tooLong bounds waits that a correct stream never has, on a busy machine neither.
const tooLong = 2 * time.Minute

// poll returns when a condition holds, or ends the test.
func poll(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for giveUp := time.After(tooLong); !holds(); {
		select {
		case <-tick.C:
		case <-giveUp:
			t.Fatalf("never came to: %s", what)
		}
	}
}

// A far end is the other side of a stream over real pipes.
type farEnd struct {
	*stream
	in    *bufio.Reader // what the stream has written
	out   *os.File
	heard chan jsonrpc.Message // what belongs to no call
}

func overPipes(t *testing.T) *farEnd {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	assert.OK(t, err)
	ourIn, theirOut, err := os.Pipe()
	assert.OK(t, err)
	s := newStream(&pipes{stdin: ourOut, stdout: ourIn}, 0, nil, nil)
	t.Cleanup(func() {
		_ = theirOut.Close()
		_ = theirIn.Close()
		s.fail(errClosed)
		s.wait()
		_ = ourIn.Close()
		_ = ourOut.Close()
	})
	assert.OK(t, theirIn.SetReadDeadline(time.Now().Add(tooLong)))
	f := &farEnd{stream: s, in: bufio.NewReader(theirIn), out: theirOut, heard: make(chan jsonrpc.Message, 1<<10)}
	s.Receive(func(m jsonrpc.Message, _ int64) { f.heard <- m }, func(error) {})
	return f
}

// name reads one frame and returns the name of the tool that it calls.
func (f *farEnd) name(t *testing.T) string {
	t.Helper()
	line := assert.Value(f.in.ReadBytes('\n'))(t)
	var frame struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		t.Fatalf("a torn frame: %.80q: %v", line, err)
	}
	if frame.Method == noteCancelled {
		return f.name(t)
	}
	return frame.Params.Name
}

// send calls a tool, with size bytes of arguments, until ctx ends.
func (f *farEnd) send(ctx context.Context, name string, size int) <-chan error {
	failed := make(chan error, 1)
	go func() {
		params := fmt.Sprintf(`{"name":%q,"arguments":%q}`, name, strings.Repeat("x", size))
		_, err := f.Call(ctx, "tools/call", json.RawMessage(params), nil)
		failed <- err
	}()
	return failed
}

// await returns when the outbox is as wanted.
func (f *farEnd) await(t *testing.T, what string, is func(*outbox) bool) {
	t.Helper()
	poll(t, what, func() bool {
		f.outbox.mu.Lock()
		defer f.outbox.mu.Unlock()
		return is(f.outbox)
	})
}

// queued returns when so many frames wait.
func (f *farEnd) queued(t *testing.T, n int) {
	t.Helper()
	f.await(t, "frames that wait", func(o *outbox) bool { return len(o.queue.frames) == n })
}

// wantError checks an error and its outcome.
func wantError(t *testing.T, err, is error, outcome mcp.Outcome) {
	t.Helper()
	assert.Is(t, err, is)
	assert.Equal(t, mcp.OutcomeOf(err), outcome, "outcome of %v", err)
}

// wantCalls checks which tools the next frames call.
func (f *farEnd) wantCalls(t *testing.T, names ...string) {
	t.Helper()
	for _, want := range names {
		assert.Equal(t, f.name(t), want, "tool that is called")
	}
}

// A fastPipe takes at once all that is written to it.
type fastPipe struct {
	wrote     []byte
	meanwhile func() // called once, in the middle of a write
}

func (p *fastPipe) TryWrite(b []byte) (int, error) {
	p.wrote = append(p.wrote, b...)
	if f := p.meanwhile; f != nil {
		p.meanwhile = nil
		f()
	}
	return len(b), nil
}

// The caller that writes also writes what is put in meanwhile: no other caller would.
func TestOutboxWritesWhatComesMeanwhile(t *testing.T) {
	p := &fastPipe{}
	o := &outbox{fast: p, goes: func(func()) bool { return false }}
	o.progress.L = &o.mu
	first, second := &note{done: make(chan struct{})}, &note{done: make(chan struct{})}
	p.meanwhile = func() { o.put(second, []byte("second")) }
	o.put(first, []byte("first"))
	assert.Equal(t, string(p.wrote), "first\nsecond\n", "written")
	assert.Equal(t, second.End(), int64(len("first\nsecond")), "end of the second")
	assert.False(t, o.busy, "the outbox is busy")
}

const pipeful = 200 << 10 // more than a pipe holds

func writing(o *outbox) bool { return o.current != nil && o.begun }

// Frames of many callers arrive whole, whoever writes them, and also when the
// pipe is full most of the time.
func TestOutboxKeepsFramesWhole(t *testing.T) {
	f := overPipes(t)
	ctx, stop := context.WithCancel(t.Context())
	var calls []<-chan error
	const callers = 64
	for i := range callers {
		calls = append(calls, f.send(ctx, fmt.Sprint(i), i*i*i/10))
	}
	seen := map[string]bool{}
	for range callers {
		seen[f.name(t)] = true
	}
	assert.Equal(t, len(seen), callers, "frames that arrived")
	stop()
	for _, failed := range calls {
		wantError(t, <-failed, context.Canceled, mcp.Unknown)
	}
}

// A countingWriter counts writes.
type countingWriter struct {
	tryWriter
	writes atomic.Int64
}

func (w *countingWriter) TryWrite(b []byte) (int, error) {
	w.writes.Add(1)
	return w.tryWriter.TryWrite(b)
}

// Calls that begin together leave together.
func TestOutboxGathersFrames(t *testing.T) {
	f := overPipes(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // else some may begin later than others
	w := &countingWriter{tryWriter: f.outbox.fast}
	f.outbox.fast = w
	ctx, stop := context.WithCancel(t.Context())
	alone := f.send(ctx, "alone", 0)
	f.name(t)
	const callers = 32
	var calls []<-chan error
	for i := range callers {
		calls = append(calls, f.send(ctx, fmt.Sprint(i), 0))
	}
	for range callers {
		f.name(t)
	}
	if got := w.writes.Load() - 1; got > callers/4 {
		t.Errorf("got %d writes for %d calls, want at most %d", got, callers, callers/4)
	}
	stop()
	for _, failed := range append(calls, alone) {
		<-failed
	}
}

// A frame that waits behind one that the server does not read is taken back, and
// its server never sees it.
func TestOutboxTakesBackWhatWaits(t *testing.T) {
	f := overPipes(t)
	patient := f.send(t.Context(), "patient", pipeful)
	f.await(t, "a blocked write", writing)
	ctx, giveUp := context.WithCancel(t.Context())
	var hasty []<-chan error
	for i := range 5 {
		hasty = append(hasty, f.send(ctx, fmt.Sprint("hasty ", i), 10))
		f.queued(t, i+2)
	}
	last := f.send(t.Context(), "last", 10)
	f.queued(t, 7)
	giveUp()
	for _, failed := range hasty {
		assert.True(t, mcp.SafeToRetry(<-failed), "a frame that was never begun: safe to retry")
	}
	f.wantCalls(t, "patient", "last")
	_ = f.out.Close() // ends both calls
	for _, failed := range []<-chan error{patient, last} {
		assert.Equal(t, mcp.OutcomeOf(<-failed), mcp.Unknown, "outcome of a frame that was read")
	}
}

// Who gives up a frame in its middle ends the stream, for all.
func TestOutboxTornFrame(t *testing.T) {
	f := overPipes(t)
	ctx, giveUp := context.WithCancel(t.Context())
	torn := f.send(ctx, "torn", pipeful)
	f.await(t, "a blocked write", writing)
	behind := f.send(t.Context(), "behind", 10)
	f.queued(t, 2)
	giveUp()
	wantError(t, <-torn, context.Canceled, mcp.NotSent)
	wantError(t, <-behind, errTorn, mcp.NotSent)
	_, err := f.Call(t.Context(), "tools/list", nil, nil)
	wantError(t, err, errTorn, mcp.NotSent)
}

// A frame whose turn has come, but of which nothing fits the pipe, tears
// nothing.
func TestOutboxGivesUpAnUntouchedFrame(t *testing.T) {
	f := overPipes(t)
	const rest = len(`{"jsonrpc":"2.0","id":1000000000,"method":"tools/call","params":{"name":"first","arguments":""}}` + "\n")
	first := f.send(t.Context(), "first", 64<<10-rest)
	f.await(t, "a full pipe", func(o *outbox) bool { return o.written == 64<<10 })
	ctx, giveUp := context.WithCancel(t.Context())
	second := f.send(ctx, "second", 10)
	f.await(t, "a write of nothing", func(o *outbox) bool { return o.current != nil })
	giveUp()
	wantError(t, <-second, context.Canceled, mcp.NotSent)
	third := f.send(t.Context(), "third", 10)
	f.wantCalls(t, "first", "third")
	_ = f.out.Close()
	<-first
	<-third
}
