package transport_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A post is one message that a scripted server received.
type post struct {
	http.ResponseWriter
	r      *http.Request
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// fill replaces $ID by the id of the request.
func (p *post) fill(text string) string { return strings.ReplaceAll(text, "$ID", string(p.ID)) }

// json answers with a JSON body.
func (p *post) json(status int, text string) {
	p.Header().Set("Content-Type", "application/json")
	p.WriteHeader(status)
	_, _ = io.WriteString(p, p.fill(text))
}

// stream writes to an event stream, at once.
func (p *post) stream(text string) {
	p.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(p, p.fill(text))
	p.ResponseWriter.(http.Flusher).Flush()
}

// hangs waits until the client gives up.
func (p *post) hangs() { <-p.r.Context().Done() }

const (
	sessionID   = "session-1"
	initialized = `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
)

// A script is a hand-written streamable HTTP server. It shakes hands by itself,
// and leaves requests, GET and DELETE to its functions.
type script struct {
	call   func(*post)
	get    http.HandlerFunc // default: status 405
	remove http.HandlerFunc // DELETE; default: status 200
	noted  func(*post)      // a notification other than initialized; default: status 202

	mu   sync.Mutex
	seen []*http.Request // in the order of arrival
	note []string        // methods of notifications
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		if s.get != nil {
			s.get(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		if s.remove != nil {
			s.remove(w, r)
		}
		return
	}
	p := &post{ResponseWriter: w, r: r}
	if !decode(p) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch {
	case p.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", sessionID)
		p.json(http.StatusOK, initialized)
	case p.ID == nil:
		s.mu.Lock()
		s.note = append(s.note, p.Method)
		s.mu.Unlock()
		if s.noted != nil && p.Method != "notifications/initialized" {
			s.noted(p)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		s.call(p)
	}
}

// decode reads the whole message and reports whether it is one.
func decode(p *post) bool {
	err := json.NewDecoder(p.r.Body).Decode(p)
	_, _ = io.Copy(io.Discard, p.r.Body)
	return err == nil
}

// last returns the request that came last.
func (s *script) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

// requests returns the requests with the given HTTP method, or all for "".
func (s *script) requests(method string) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*http.Request
	for _, r := range s.seen {
		if method == "" || r.Method == method {
			found = append(found, r)
		}
	}
	return found
}

// notes counts the notifications with the given method.
func (s *script) notes(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.note {
		if m == method {
			n++
		}
	}
	return n
}

// shake shakes hands over a new connection to a server of streamable HTTP.
func shake(t *testing.T, recipe *transport.HTTP) mcp.Caller {
	t.Helper()
	l := dial(t, recipe)
	if err := handshake(t, l); err != nil {
		t.Fatalf("handshake: %v", err)
	}
	return l
}

func handshake(t *testing.T, l mcp.Caller) error {
	t.Helper()
	ctx := bounded(t)
	params := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`
	if _, err := l.Call(ctx, "initialize", json.RawMessage(params), nil); err != nil {
		return err
	}
	return l.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized"})
}
