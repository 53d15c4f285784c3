// Tests of handshake.go and supervise.go.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// A writeLog is a connection that notes what is written to it and answers nothing.
type writeLog struct {
	closed  chan struct{}
	methods chan string
}

func newWriteLog() *writeLog {
	return &writeLog{closed: make(chan struct{}), methods: make(chan string, 10)}
}

func (l *writeLog) Connect(context.Context) (Conn, error) { return l, nil }

func (l *writeLog) Read(context.Context) (jsonrpc.Message, error) {
	<-l.closed
	return nil, io.EOF
}

func (l *writeLog) Write(_ context.Context, m jsonrpc.Message) error {
	l.methods <- m.(*jsonrpc.Request).Method
	return nil
}

func (l *writeLog) Close() error { close(l.closed); return nil }

func (l *writeLog) SessionID() string { return "" }

// newReceiving returns a connection of a client.
func newReceiving(log *writeLog, opts *ClientOptions) *connection {
	conn := newConnection(&NewClient("s", log, opts).shared, log)
	conn.wire.Receive(conn.receive, conn.noteEnd)
	return conn
}

// The server is not told that a request of the handshake is cancelled, which the
// protocol forbids.
func TestHandshakeIsNotCancelled(t *testing.T) {
	log := newWriteLog()
	conn := newReceiving(log, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := conn.handshake(ctx, Revision20260728, time.Nanosecond, false)
		done <- err
	}()
	methods := []string{<-log.methods, <-log.methods}
	slices.Sort(methods)
	assert.Equal(t, fmt.Sprint(methods), fmt.Sprint([]string{protocol.Initialize, protocol.Discover}), "requests")
	cancel()
	assert.Equal(t, <-done, context.Canceled)
	conn.close(nil)
	select {
	case method := <-log.methods:
		t.Errorf("got %s after the handshake was given up, want nothing", method)
	default:
	}
}

// A counter is a tracer that counts what is open.
type counter struct{ open int }

func (c *counter) RequestStart(ctx context.Context, _ *RequestInfo) context.Context {
	c.open++
	return ctx
}

func (c *counter) RequestEnd(context.Context, *RequestInfo) { c.open-- }

// A handshake ends for the tracer even if the connection ended before its request
// was written.
func TestHandshakeAfterTheEndIsTraced(t *testing.T) {
	log, counter := newWriteLog(), &counter{}
	conn := newReceiving(log, &ClientOptions{Tracer: counter})
	conn.close(nil)
	_, err := conn.initialize(t.Context(), Revision20251125)
	assert.Fails(t, err)
	assert.Equal(t, counter.open, 0, "open traces")
}

// A server at whose address nothing listens is asked for again soon, and less often the
// longer it is away.
func TestWakeAfter(t *testing.T) {
	refused := fmt.Errorf("connect: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})
	slow := &net.OpError{Op: "dial", Err: timeoutError{}}
	for _, test := range []struct {
		err      error
		failures int
		want     time.Duration
	}{
		{refused, 1, 40 * time.Millisecond},
		{refused, 63, 40 * time.Millisecond},
		{refused, 64, 80 * time.Millisecond},
		{refused, 1 << 20, 5 * time.Second},
		{slow, 1, 250 * time.Millisecond},
		{errors.New("exit status 1"), 1, 250 * time.Millisecond},
		{errors.New("exit status 1"), 9, 5 * time.Second},
	} {
		assert.Equal(t, wakeAfter(test.err, test.failures), test.want, "%v, %d times", test.err, test.failures)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string { return "i/o timeout" }

func (timeoutError) Timeout() bool { return true }
