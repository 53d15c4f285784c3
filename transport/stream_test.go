// Tests of stream.go, inbox.go and tasks.go: connections over bytes.

package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A stuck is a duplex that cannot be written to.
type stuck struct {
	io.Reader
}

func (s *stuck) SetWriteDeadline(time.Time) error { return nil }
func (s *stuck) Write([]byte) (int, error)        { return 0, io.ErrClosedPipe }

// A frame of which only the newline is missing may have been read as a whole.
func TestStreamMissingNewline(t *testing.T) {
	for cut, want := range map[int]mcp.Outcome{1: mcp.Unknown, 2: mcp.NotSent, 20: mcp.NotSent} {
		r, w := io.Pipe()
		s := newStream(&short{stuck{r}, cut}, 0, nil, nil)
		_, err := s.Call(t.Context(), "tools/list", nil, nil)
		assert.Fails(t, err, "%d bytes cut", cut)
		assert.Equal(t, mcp.OutcomeOf(err), want, "%d bytes cut: outcome of %v", cut, err)
		_ = w.Close()
		s.wait()
	}
}

// A short writes all but the last bytes of a frame.
type short struct {
	stuck
	cut int
}

func (s *short) Write(p []byte) (int, error) { return len(p) - s.cut, io.ErrClosedPipe }

// An output is the duplex of a server that writes all it ever will, size bytes
// at a time, when it has read two requests.
type output struct {
	chunks
	lines int           // read by the server
	start chan struct{} // closed when the server writes
}

func (o *output) Read(p []byte) (int, error) {
	<-o.start
	return o.chunks.Read(p)
}

func (o *output) Write(p []byte) (int, error) {
	if o.lines += bytes.Count(p, []byte("\n")); o.lines == 2 {
		close(o.start)
	}
	return len(p), nil
}

func (o *output) SetWriteDeadline(time.Time) error { return nil }

// readStream tells what a stream makes of a server's output while two requests
// are in flight: what the session reads, how the requests end, and the stream.
func readStream(t *testing.T, data []byte, size int, limit int64) string {
	t.Helper()
	s := newStream(&output{chunks: chunks{data: data, size: size}, start: make(chan struct{})}, limit, nil, nil)
	defer s.wait()
	var calls []*inflight.Call
	for token := range int64(2) {
		call := assert.Value(s.table.Begin(token + 1))(t)
		assert.OK(t, s.send(t.Context(), requestFrame(call.ID, "tools/call", nil)))
		calls = append(calls, call)
	}
	var told strings.Builder
	for {
		m, err := s.Read(context.Background())
		if err != nil {
			fmt.Fprintf(&told, "end: %v\n", err)
			break
		}
		text, err := jsonrpc.EncodeMessage(m)
		fmt.Fprintf(&told, "message: %s %v\n", text, err)
	}
	for _, call := range calls {
		answer, err := call.Wait(context.Background(), func(params json.RawMessage) { fmt.Fprintf(&told, "progress: %s\n", params) })
		fmt.Fprintf(&told, "%d: %s %s %v %v\n", call.ID, answer.Result, answer.Error, mcp.OutcomeOf(err), err)
		assert.False(t, err != nil && mcp.OutcomeOf(err) == mcp.NotSent, "a request that the server has read was not sent: %v", err)
		call.Drop()
	}
	return told.String()
}

// FuzzStream: how a server's output is cut into reads changes nothing, nothing
// in it makes the reader panic or wait, and a last answer is heard unless the
// connection was given up before, or the request was answered.
func FuzzStream(f *testing.F) {
	const first, second = inflight.FirstID, inflight.FirstID + 1
	for _, seed := range []string{
		"", "\n\n", "noise\n{\n[\n", strings.Repeat("log\n", 100), "\xef\xbb\xbf{}\n",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"a":9007199254740993}}`+"\r\n", first),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"m"}}`+"\n", second),
		fmt.Sprintf(`[{"jsonrpc":"2.0","id":%d,"result":1},{"jsonrpc":"2.0","method":"a"}]`+"\n", first),
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":3}}` + "\n",
		`{"jsonrpc":"2.0","id":"x","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"%s"}`+"\n", second, strings.Repeat("x", 600)),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}`+"\n", first),
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		const limit = 512
		data = fmt.Appendf(bytes.Clone(data), "\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":\"last\"}\n", second)
		whole := readStream(t, data, len(data), limit)
		assert.Equal(t, readStream(t, data, int(size)%61+1, limit), whole, "reads of %d", int(size)%61+1)
		gaveUp := strings.Contains(whole, "lines in a row")
		assert.False(t, !gaveUp && strings.Contains(whole, fmt.Sprintf("\n%d:   unknown", second)), "the last answer was lost:\n%s", whole)
	})
}

// A cutDuplex is a connection with a peer that can leave in mid-frame.
type cutDuplex struct {
	duplex
	peer  io.Reader
	leave func()
}

// netDuplex is a connection in memory, as of a Pipe.
func netDuplex(*testing.T) cutDuplex {
	ours, theirs := net.Pipe()
	return cutDuplex{ours, theirs, func() { _ = theirs.Close() }}
}

// osDuplex is a connection by two pipes of the system, as of a Command.
func osDuplex(t *testing.T) cutDuplex {
	t.Helper()
	var ends [4]*os.File // their input, our output, our input, their output
	for i := range 2 {
		r, w, err := os.Pipe()
		assert.OK(t, err)
		ends[2*i], ends[2*i+1] = r, w
	}
	p := &pipes{stdin: ends[1], stdout: ends[2]}
	t.Cleanup(p.closeOurs)
	return cutDuplex{p, ends[0], func() { _, _ = ends[0].Close(), ends[3].Close() }}
}

// FuzzCutRequest: a request that the peer has read as a whole is never one that
// was not sent.
func FuzzCutRequest(f *testing.F) {
	for _, cut := range []uint32{0, 1, 40, 80, 81, 82, 83, 84, 200, 70_000, 100_000} {
		f.Add(uint32(10), cut, false)
		f.Add(uint32(10), cut, true)
		f.Add(uint32(90_000), cut, true)
	}
	f.Fuzz(func(t *testing.T, size, cut uint32, system bool) {
		size %= 1 << 17
		params := []byte(`"` + strings.Repeat("x", int(size)) + `"`)
		frame := len(requestFrame(inflight.FirstID, "tools/call", params))
		read := int(cut) % (frame + 2) // the newline is the last
		d := netDuplex(t)
		if system {
			d = osDuplex(t)
		}
		s := newStream(d.duplex, 0, nil, nil)
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _ = io.CopyN(io.Discard, d.peer, int64(read))
			d.leave()
		}()
		_, err := s.Call(context.Background(), "tools/call", params, nil)
		<-left
		s.wait()
		assert.Fails(t, err, "a request without an answer")
		assert.False(t, read >= frame && mcp.OutcomeOf(err) == mcp.NotSent, "%d of %d bytes were read, and not sent", read, frame)
	})
}

// A farEnd is the other side of a stream over pipes of the system.
type farEnd struct {
	*stream
	in  *bufio.Reader // what the stream has written
	out *os.File
}

func overPipes(t *testing.T) *farEnd {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	assert.OK(t, err)
	ourIn, theirOut, err := os.Pipe()
	assert.OK(t, err)
	s := newStream(&pipes{stdin: ourOut, stdout: ourIn}, 0, nil, nil)
	t.Cleanup(func() {
		_, _ = theirOut.Close(), theirIn.Close()
		s.fail(errClosed)
		s.wait()
		_, _ = ourIn.Close(), ourOut.Close()
	})
	return &farEnd{stream: s, in: bufio.NewReader(theirIn), out: theirOut}
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
	assert.OK(t, json.Unmarshal(line, &frame), "a torn frame: %.80q", line)
	if frame.Method == protocol.NoteCancelled {
		return f.name(t)
	}
	return frame.Params.Name
}

// call calls a tool, with size bytes of arguments, until ctx ends.
func (f *farEnd) call(ctx context.Context, name string, size int) <-chan error {
	failed := make(chan error, 1)
	go func() {
		_, err := f.Call(ctx, "tools/call", json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%q}`, name, strings.Repeat("x", size))), nil)
		failed <- err
	}()
	return failed
}

// begins returns when a call has begun to write.
func (f *farEnd) begins(t *testing.T) {
	t.Helper()
	assert.Value(f.in.Peek(1))(t)
}

// wantError checks an error and its outcome.
func wantError(t *testing.T, err, is error, outcome mcp.Outcome) {
	t.Helper()
	assert.Is(t, err, is)
	assert.Equal(t, mcp.OutcomeOf(err), outcome, "outcome of %v", err)
}

const pipeful = 200 << 10 // more than a pipe holds

// Frames of many callers arrive whole, also when the pipe is full most of the time.
func TestStreamKeepsFramesWhole(t *testing.T) {
	f := overPipes(t)
	ctx, stop := context.WithCancel(t.Context())
	var calls []<-chan error
	const callers = 64
	for i := range callers {
		calls = append(calls, f.call(ctx, fmt.Sprint(i), i*i*i/10))
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

// A frame that waits behind one that the server does not read is never sent once its caller has
// given up.
func TestStreamGivesUpWhatWaits(t *testing.T) {
	f := overPipes(t)
	patient := f.call(t.Context(), "patient", pipeful)
	f.begins(t)
	ctx, giveUp := context.WithCancel(t.Context())
	var hasty []<-chan error
	for i := range 5 {
		hasty = append(hasty, f.call(ctx, fmt.Sprint("hasty ", i), 10))
	}
	giveUp()
	for _, failed := range hasty {
		wantError(t, <-failed, context.Canceled, mcp.NotSent)
	}
	last := f.call(t.Context(), "last", 10)
	assert.Equal(t, f.name(t), "patient", "first call")
	assert.Equal(t, f.name(t), "last", "second call")
	_ = f.out.Close() // ends both calls
	for _, failed := range []<-chan error{patient, last} {
		assert.Equal(t, mcp.OutcomeOf(<-failed), mcp.Unknown, "outcome of a frame that was read")
	}
}

// A caller that gives up its frame in the middle ends the stream, for all.
func TestStreamTornFrame(t *testing.T) {
	f := overPipes(t)
	ctx, giveUp := context.WithCancel(t.Context())
	torn := f.call(ctx, "torn", pipeful)
	f.begins(t)
	behind := f.call(t.Context(), "behind", 10)
	giveUp()
	wantError(t, <-torn, context.Canceled, mcp.NotSent)
	wantError(t, <-behind, errTorn, mcp.NotSent)
	wantError(t, assert.Err(f.Call(t.Context(), "tools/list", nil, nil)), errTorn, mcp.NotSent)
}

// A frame whose turn has come, but of which nothing fits the pipe, tears nothing.
func TestStreamGivesUpAnUntouchedFrame(t *testing.T) {
	f := overPipes(t)
	size := len(requestFrame(inflight.FirstID, "tools/call", []byte(`{"name":"first","arguments":""}`))) + 1
	first := f.call(t.Context(), "first", 68<<10-size) // of which 4 KiB are read here, and the pipe is full
	f.begins(t)
	for len(f.writing) > 0 {
		runtime.Gosched()
	}
	ctx, giveUp := context.WithTimeout(t.Context(), 2*fullPause)
	defer giveUp()
	wantError(t, <-f.call(ctx, "second", 10), context.DeadlineExceeded, mcp.NotSent)
	third := f.call(t.Context(), "third", 10)
	assert.Equal(t, f.name(t), "first", "first call")
	assert.Equal(t, f.name(t), "third", "second call")
	_ = f.out.Close()
	<-first
	<-third
}

// A stuckDuplex is one whose writes wait and cannot be interrupted, as those of Windows.
type stuckDuplex struct {
	io.Reader
	writes, closed chan struct{}
}

func (d *stuckDuplex) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
func (d *stuckDuplex) Close()                           { close(d.closed) }

func (d *stuckDuplex) Write([]byte) (int, error) {
	close(d.writes)
	<-d.closed
	return 0, io.ErrClosedPipe
}

// A caller that gives up a write that cannot be interrupted ends the stream.
func TestStreamGivesUpAWriteThatGoesOn(t *testing.T) {
	r, w := io.Pipe()
	d := &stuckDuplex{r, make(chan struct{}), make(chan struct{})}
	s := newStream(d, 0, nil, nil)
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-d.writes
		giveUp()
	}()
	wantError(t, assert.Err(s.Call(ctx, "tools/list", nil, nil)), context.Canceled, mcp.Unknown)
	wantError(t, assert.Err(s.Call(t.Context(), "tools/list", nil, nil)), errTorn, mcp.NotSent)
	d.Close()
	_ = w.Close()
	s.wait()
}
