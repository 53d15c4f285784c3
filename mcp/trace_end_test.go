// Tests of trace.go: requests and connections that end in unusual ways.

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A request ends for the tracer even if what the caller does with its progress
// panics.
func TestTracerSeesPanicOfCaller(t *testing.T) {
	n := &tracerLog{}
	c := newReady(t, legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Progress(1)
		mcptest.Hang(c)
	}}), &mcp.ClientOptions{Tracer: n})
	func() {
		defer func() { assert.Equal(t, recover(), "ouch", "p") }()
		_, _ = c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Progress: func(*mcp.ProgressParams) { panic("ouch") }})
	}()
	assert.Fails(t, n.one(t, "tools/call").Err)
	n.closed(t, c)
}

// What a caller adds to the header stays when a tracer adds to it as well.
func TestTracerKeepsHeaderOfCaller(t *testing.T) {
	s := newWebServer(t, mcp.Revision20251125, map[string]func(*webRequest){"tools/call": result(`{"content":[]}`)})
	n := &tracerLog{start: func(ctx context.Context, r *mcp.RequestInfo) context.Context {
		r.AddHeader("X-Tracer", "1")
		r.AddHeader("X-Both", "tracer")
		return ctx
	}}
	c := newReady(t, &s.HTTP, &mcp.ClientOptions{Tracer: n})
	own := http.Header{"X-Caller": {"2", "3"}, "X-Both": {"caller"}, "X-Split": {"4", "5\r\nX-Made-Up: 6"}}
	assert.Value(c.CallTool(mcp.WithHTTPHeader(t.Context(), own), "x", nil, nil))(t)
	got := s.of("tools/call")[0].Header
	assert.Equal(t, [...]any{fmt.Sprint(got["X-Caller"]), got["X-Split"] == nil, got["X-Made-Up"] == nil, got.Get("X-Tracer"), got.Get("X-Both"), len(own)},
		[...]any{"[2 3]", true, true, "1", "caller", 3})
}

// A connection is out of use when the tracer hears of its end.
func TestTracerHearsOfEndAfterwards(t *testing.T) {
	phases := make(chan mcp.Phase, 10)
	n := &tracerLog{}
	server, c := withClient(t, legacy(t), &mcp.ClientOptions{Tracer: n})
	n.end = func() { phases <- c.State().Phase }
	ready(t, c)
	server.Disconnect()
	wantOther(t, <-phases, mcp.Ready, "phase")
}

// A server that answers a subscription before it was asked for is not believed so
// early that the tracer never hears of the end.
func TestTracerSeesEarlyAnswer(t *testing.T) {
	s := &eager{answers: make(chan jsonrpc.Message, 10), closed: make(chan struct{})}
	n := &tracerLog{}
	n.start = func(ctx context.Context, r *mcp.RequestInfo) context.Context {
		if r.Method == "subscriptions/listen" && r.ID != "" {
			id, _ := jsonrpc.MakeID(r.ID)
			wait := s.hears(2)
			s.answers <- &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: -32000, Message: "no"}}
			s.answers <- &jsonrpc.Request{Method: "notifications/message"}
			wait()
		}
		return ctx
	}
	c := newReady(t, transportFunc(func(context.Context) (mcp.Conn, error) { return s, nil }), &mcp.ClientOptions{Tracer: n})
	n.closed(t, c)
}

// A connection whose handshake was done has an end, even if it never got further.
func TestTracerHearsOfStuckConnection(t *testing.T) {
	s := &eager{answers: make(chan jsonrpc.Message, 10), closed: make(chan struct{}), stuck: make(chan struct{})}
	n := &tracerLog{}
	c := newClient(t, transportFunc(func(context.Context) (mcp.Conn, error) { return s, nil }), &mcp.ClientOptions{Tracer: n})
	done := inBackground(func() error { return c.Ready(t.Context()) })
	<-s.stuck
	_ = c.Close()
	<-done
	n.closed(t, c)
	wantLen(t, n.sessions, 1, "sessions")
	assert.OK(t, n.sessions[0].Err)
}

// An eager is a connection to a server of revision 2026-07-28 whose messages are
// scripted.
type eager struct {
	answers chan jsonrpc.Message
	closed  chan struct{}
	once    sync.Once
	stuck   chan struct{} // if not nil, closed when a subscription cannot be written

	mu    sync.Mutex
	given int
	wait  chan struct{}
}

// hears returns a function that waits until so many more messages were read, and the
// reader came back.
func (e *eager) hears(more int) (wait func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := make(chan struct{})
	e.given, e.wait = -more, heard
	return func() {
		select {
		case <-heard:
		case <-e.closed:
		}
	}
}

func (e *eager) Read(context.Context) (jsonrpc.Message, error) {
	e.mu.Lock()
	if e.wait != nil && e.given >= 0 {
		close(e.wait)
		e.wait = nil
	}
	e.mu.Unlock()
	select {
	case m := <-e.answers:
		e.mu.Lock()
		e.given++
		e.mu.Unlock()
		return m, nil
	case <-e.closed:
		return nil, errors.New("closed")
	}
}

func (e *eager) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "server/discover" {
		e.answers <- &jsonrpc.Response{ID: r.ID, Result: json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`)}
	} else if ok && r.Method == "subscriptions/listen" && e.stuck != nil {
		close(e.stuck)
		<-e.closed
	}
	return nil
}

func (e *eager) Close() error { e.once.Do(func() { close(e.closed) }); return nil }

func (e *eager) SessionID() string { return "" }
