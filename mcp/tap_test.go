package mcp

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A writeLog is a connection that notes what is written to it.
type writeLog struct {
	closed  chan struct{}
	methods []string
}

func (l *writeLog) Read(context.Context) (jsonrpc.Message, error) {
	<-l.closed
	return nil, io.EOF
}

func (l *writeLog) Write(_ context.Context, m jsonrpc.Message) error {
	l.methods = append(l.methods, m.(*jsonrpc.Request).Method)
	return nil
}

func (l *writeLog) Close() error      { close(l.closed); return nil }
func (l *writeLog) SessionID() string { return "" }

// The session may cancel its requests once the handshake is done, and not
// before, even when it is quicker than the end of the connection.
func TestHandshakeIsNotCancelled(t *testing.T) {
	log := &writeLog{closed: make(chan struct{})}
	tap := newTap(&Client{}, log, 0)
	note := &jsonrpc.Request{Method: "notifications/cancelled"}
	if err := tap.Write(t.Context(), note); err != nil {
		t.Error(err)
	}
	if len(log.methods) > 0 {
		t.Errorf("during the handshake: %q", log.methods)
	}
	tap.life.Store(&life{})
	if err := tap.Write(t.Context(), note); err != nil {
		t.Error(err)
	}
	if !slices.Equal(log.methods, []string{"notifications/cancelled"}) {
		t.Errorf("after the handshake: %q", log.methods)
	}
	tap.finish()
	tap.wait()
}

// A counter is a tracer that counts what is open.
type counter struct{ open int }

func (c *counter) RequestStart(ctx context.Context, _ *RequestInfo) context.Context {
	c.open++
	return ctx
}
func (c *counter) RequestEnd(context.Context, *RequestInfo) { c.open-- }

// A handshake ends for the tracer even if the connection ended before its request
// was written, and nobody noticed.
func TestHandshakeAfterTheEndIsTraced(t *testing.T) {
	log := &writeLog{closed: make(chan struct{})}
	counter := &counter{}
	tap := newTap(NewClient("s", once{}, &ClientOptions{Tracer: counter}), log, 0)
	tap.finish()
	tap.wait()
	id, _ := jsonrpc.MakeID("1")
	if err := tap.Write(t.Context(), &jsonrpc.Request{ID: id, Method: methodInitialize}); err != nil {
		t.Error(err)
	}
	if counter.open != 0 {
		t.Errorf("%d are open", counter.open)
	}
}
