package transport_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

const modernMeta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`

// In revision 2026-07-28 a request is cancelled by closing its stream, before
// the response and after, and by nothing else.
func TestHTTPModernCancellation(t *testing.T) {
	for name, begin := range map[string]func(*post){
		"no response yet": func(*post) {},
		"in the stream":   func(p *post) { p.stream(event(`{"jsonrpc":"2.0","method":"notifications/x"}`)) },
	} {
		t.Run(name, func(t *testing.T) {
			running, closed := make(chan struct{}), make(chan struct{})
			s := &script{call: func(p *post) {
				if p.Method == "tools/list" {
					p.json(200, answer)
					return
				}
				begin(p)
				close(running)
				p.hangs()
				close(closed)
			}}
			l := dial(t, &transport.HTTP{URL: listen(t, s)})
			ctx, cancel := context.WithCancel(bounded(t))
			go func() { <-running; cancel() }()
			_, err := l.Call(ctx, "tools/call", []byte(modernMeta), nil)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			wantOutcome(t, err, mcp.Unknown)
			select {
			case <-closed:
			case <-bounded(t).Done():
				t.Error("the stream is still open")
			}
			if _, err := l.Call(bounded(t), "tools/list", []byte(modernMeta), nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
			closeWithin(t, l)
			if n := len(s.requests("")); n != 2 || s.notes("notifications/cancelled") > 0 {
				t.Errorf("%d requests, %d cancellations", n, s.notes("notifications/cancelled"))
			}
		})
	}
}

// A server may refuse to end a session. That is no error.
func TestHTTPDeleteRefused(t *testing.T) {
	for _, code := range []int{404, 405, 500} {
		s := &script{remove: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }}
		l := shake(t, &transport.HTTP{URL: listen(t, s)})
		closeWithin(t, l)
		assert.Equal(t, len(s.requests(http.MethodDelete)), 1, "%d: asked times", code)
	}
}
