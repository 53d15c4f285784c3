package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && c.hear(body).IsCall() {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	return &transport.HTTP{URL: server.URL}
}

func (c told) overSSE(t *testing.T) mcp.Transport {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			c.hear(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /post\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return &transport.SSE{URL: server.URL}
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
				if got := (<-heard).Method; got != method {
					t.Fatalf("got %s, want %s", got, method)
				}
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Fatalf("%s: got %v, want %v", method, err, context.Canceled)
				}
				return id
			}
			giveUp("initialize")
			want := giveUp("tools/call")
			note := <-heard
			var params struct{ RequestID int64 }
			if err := json.Unmarshal(note.Params, &params); err != nil || note.Method != "notifications/cancelled" || params.RequestID != want {
				t.Errorf("got %s of %d, want notifications/cancelled of %d", note.Method, params.RequestID, want)
			}
			closeWithin(t, l)
		})
	}
}
