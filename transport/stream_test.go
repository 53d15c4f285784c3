// Tests of stream.go, inbox.go and tasks.go: connections over bytes.

package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A stuck is a duplex whose peer never reads. Its writes wait for a deadline.
// resetting, if set, runs when a deadline is taken back.
type stuck struct {
	io.Reader
	mu        sync.Mutex
	past      chan struct{} // closed by a deadline in the past
	resetting func()
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	if at.IsZero() && s.resetting != nil {
		s.resetting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.IsZero() {
		s.past = make(chan struct{})
	} else if s.past != nil {
		close(s.past)
		s.past = nil
	}
	return nil
}

func (s *stuck) Write([]byte) (int, error) {
	s.mu.Lock()
	past := s.past
	s.mu.Unlock()
	if past != nil {
		<-past
	}
	return 0, io.ErrClosedPipe
}

func (s *stuck) CloseWrite() error { return nil }

// The stream ends at the moment in which a writer resets the deadline: neither
// may wait for the other.
func TestStreamEndsWhileAWriteBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		d := &stuck{Reader: r}
		s := newStream(d, 0, nil, nil)
		d.resetting = func() {
			d.resetting = nil
			go s.fail(io.ErrUnexpectedEOF)
		}
		_, err := s.Call(context.Background(), "tools/list", nil, nil)
		assert.Is(t, err, io.ErrUnexpectedEOF)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome of %v", err)
		_ = w.Close()
		s.wait()
	})
}

// A frame of which only the newline is missing may have been read as a whole.
func TestStreamMissingNewline(t *testing.T) {
	for cut, want := range map[int]mcp.Outcome{1: mcp.Unknown, 2: mcp.NotSent, 20: mcp.NotSent} {
		r, w := io.Pipe()
		d := &short{stuck{Reader: r}, cut}
		s := newStream(d, 0, nil, nil)
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

func (s *short) Write(p []byte) (int, error) {
	return len(p) - s.cut, io.ErrClosedPipe
}

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
func (o *output) CloseWrite() error                { return nil }

// readStream tells what a stream makes of a server's output while two requests
// are in flight: what the session reads, how the requests end, and the stream.
func readStream(t *testing.T, data []byte, size int, limit int64) string {
	t.Helper()
	o := &output{chunks: chunks{data, size}, start: make(chan struct{})}
	s := newStream(o, limit, nil, nil)
	defer s.wait()
	var calls []*inflight.Call
	for token := range int64(2) {
		call := assert.Value(s.table.Begin(token + 1))(t)
		s.outbox.putRequest(call, "tools/call", nil, true)
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
		if err != nil && mcp.OutcomeOf(err) == mcp.NotSent {
			t.Errorf("a request that the server has read was not sent: %v", err)
		}
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
		if !gaveUp && strings.Contains(whole, fmt.Sprintf("\n%d:   unknown", second)) {
			t.Errorf("the last answer was lost:\n%s", whole)
		}
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
	return cutDuplex{pipeEnd{ours}, theirs, func() { _ = theirs.Close() }}
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
		switch outcome := mcp.OutcomeOf(err); {
		case err == nil:
			t.Error("a request without an answer has succeeded")
		case read >= frame && outcome == mcp.NotSent:
			t.Errorf("%d of %d bytes were read: %v", read, frame, outcome)
		}
	})
}
