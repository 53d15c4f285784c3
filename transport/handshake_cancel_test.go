// Tests of connection.go, stream.go, http.go and sse.go: which requests are cancelled at the server.

package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A request of the handshake that is given up is not cancelled at the server, which the
// protocol forbids; any other is.
func TestHandshakeIsNotCancelled(t *testing.T) {
	heard := make(chan *post, 8) // what the server gets; it answers nothing
	for name, tr := range map[string]mcp.Transport{
		"pipe": &transport.Pipe{Serve: func(_ context.Context, tr mcp.Transport) error {
			for frames := json.NewDecoder(bufio.NewReader(tr.(*sdk.IOTransport).Reader)); ; {
				var p post
				if err := frames.Decode(&p); err != nil {
					return err
				}
				heard <- &p
			}
		}},
		"HTTP": &transport.HTTP{URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := &post{ResponseWriter: w, r: r}
			if decode(p) {
				heard <- p
			}
			if p.ID != nil {
				p.hangs()
			}
			w.WriteHeader(http.StatusAccepted)
		}))},
		"SSE": &transport.HTTP{Variant: transport.SSE, URL: listen(t, newOldServer(func(p *post, _ chan<- string) {
			heard <- p
			p.WriteHeader(http.StatusAccepted)
		}))},
	} {
		t.Run(name, func(t *testing.T) {
			l := dial(t, tr)
			giveUp := func(method string) (id json.RawMessage) {
				ctx, cancel := context.WithCancel(t.Context())
				failed := start(ctx, l, method)
				request := receive(t, heard, method)
				assert.Equal(t, request.Method, method, "message")
				cancel()
				assert.Is(t, <-failed, context.Canceled, method)
				return request.ID
			}
			giveUp("initialize")
			id := giveUp("tools/call")
			note := receive(t, heard, "a cancellation")
			assert.Equal(t, note.Method, "notifications/cancelled", "message")
			var params struct{ RequestID json.RawMessage }
			assert.OK(t, json.Unmarshal(note.Params, &params))
			assert.Equal(t, string(params.RequestID), string(id), "id")
			closeWithin(t, l)
		})
	}
}
