package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// speaking makes a server negotiate another revision than 2025-11-25.
func speaking(revision string, s *script) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(&translator{w, revision}, r)
	})
}

type translator struct {
	http.ResponseWriter
	revision string
}

func (w *translator) Write(p []byte) (int, error) {
	text := strings.Replace(string(p), `"protocolVersion":"2025-11-25"`, fmt.Sprintf(`"protocolVersion":%q`, w.revision), 1)
	if _, err := w.ResponseWriter.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *translator) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// All that follows the handshake says which revision was agreed upon: requests,
// notifications, answers to the server, cancellations, both kinds of streams, and
// the end of the session.
func TestHTTPVersionHeader(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			running, resumed := make(chan struct{}), make(chan struct{})
			var calls atomic.Int32
			s := &script{
				call: func(p *post) {
					switch {
					case p.Method != "tools/call":
						p.json(200, unknown)
					case calls.Add(1) == 1:
						p.stream("id: e1\nretry: 1\n" + event(`{"jsonrpc":"2.0","id":"of the server","method":"ping"}`))
					default:
						close(running)
						p.hangs()
					}
				},
				get: func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Last-Event-Id") == "e1" {
						close(resumed)
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					openStream(w)
					<-r.Context().Done()
				},
			}
			c := mcp.NewClient("server", &transport.HTTP{URL: listen(t, speaking(revision, s))}, nil)
			defer func() { _ = c.Close() }()
			assert.OK(t, c.Ready(bounded(t)))
			if got := c.State().ProtocolVersion; got != revision {
				t.Fatalf("revision %s", got)
			}
			_, err := c.CallTool(bounded(t), "x", nil, nil)
			wantOutcome(t, err, mcp.Unknown)
			<-resumed
			ctx, giveUp := context.WithCancel(bounded(t))
			go func() { <-running; giveUp() }()
			_, err = c.CallTool(ctx, "x", nil, nil)
			wantOutcome(t, err, mcp.Unknown)
			if err := c.Close(); err != nil {
				t.Error(err)
			}

			kinds := map[string]int{}
			for _, r := range s.requests("") {
				if r.Header.Get("Mcp-Session-Id") == "" {
					continue // the probe and initialize
				}
				kinds[r.Method]++
				assert.Equal(t, r.Header.Get("Mcp-Protocol-Version"), revision, "%s: version", r.Method)
			}
			// The end of the handshake, two calls, the answer to the ping and a
			// cancellation; the listening stream and a resumed one.
			if kinds["POST"] != 5 || kinds["GET"] != 2 || kinds["DELETE"] != 1 {
				t.Errorf("requests: %v", kinds)
			}
			assert.Equal(t, s.notes("notifications/cancelled"), 1, "cancellations")
		})
	}
}
