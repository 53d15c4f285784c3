// Tests of stream.go, http.go and sse.go: which requests are cancelled at the server.

package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// told hears the messages that a server gets, and answers none.
type told chan *jsonrpc.Request

func (c told) hear(body []byte) *jsonrpc.Request {
	m, err := jsonrpc.DecodeMessage(body)
	req, ok := m.(*jsonrpc.Request)
	if err != nil || !ok {
		req = &jsonrpc.Request{Method: fmt.Sprintf("no request: %.100s", body)}
	}
	c <- req
	return req
}

func (c told) overPipe(*testing.T) mcp.Transport {
	return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
		conn, err := tr.Connect(ctx)
		if err == nil {
			defer func() { _ = conn.Close() }()
		}
		for err == nil {
			var m jsonrpc.Message
			if m, err = conn.Read(ctx); err == nil {
				if req, ok := m.(*jsonrpc.Request); ok {
					c <- req
				}
			}
		}
		return err
	}}
}

func (c told) overHTTP(t *testing.T) mcp.Transport {
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && c.hear(body).IsCall() {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	return &transport.HTTP{URL: url}
}

func (c told) overSSE(t *testing.T) mcp.Transport {
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			c.hear(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		p := &post{ResponseWriter: w, r: r}
		p.stream("event: endpoint\ndata: /post\n\n")
		p.hangs()
	}))
	return &transport.SSE{URL: url}
}

// A request of the handshake that is given up is not cancelled at the server, which the
// protocol forbids; any other is.
func TestHandshakeIsNotCancelled(t *testing.T) {
	for name, to := range map[string]func(told, *testing.T) mcp.Transport{
		"pipe": told.overPipe, "HTTP": told.overHTTP, "SSE": told.overSSE,
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(told, 64)
			l := dial(t, to(heard, t))
			giveUp := func(method string) (id int64) {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := l.Call(ctx, method, json.RawMessage(`{}`), &mcp.CallOptions{Numbered: func(n int64) { id = n }})
					done <- err
				}()
				assert.Equal(t, receive(t, heard, method).Method, method, "message")
				cancel()
				assert.Is(t, <-done, context.Canceled, method)
				return id
			}
			giveUp("initialize")
			want := giveUp("tools/call")
			note := receive(t, heard, "a cancellation")
			assert.Equal(t, note.Method, "notifications/cancelled", "message")
			var params struct{ RequestID int64 }
			assert.OK(t, json.Unmarshal(note.Params, &params))
			assert.Equal(t, params.RequestID, want, "id")
			closeWithin(t, l)
		})
	}
}
