package transport_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A broken answer stream is resumed behind the last event.
func TestHTTPResumes(t *testing.T) {
	var id atomic.Value
	var resumes atomic.Int32
	s := &script{
		call: func(p *post) {
			id.Store(string(p.ID))
			p.stream("id: e1\nretry: 1\ndata: \n\n")
		},
		get: func(w http.ResponseWriter, r *http.Request) {
			p := &post{ResponseWriter: w, r: r}
			switch r.Header.Get("Last-Event-Id") {
			case "e1":
				resumes.Add(1)
				p.stream("id: e2\nretry: 1\n" + event(`{"jsonrpc":"2.0","method":"notifications/x"}`))
			case "e2":
				resumes.Add(1)
				p.ID = []byte(id.Load().(string))
				p.stream(event(answer))
			default:
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		},
	}
	l := shake(t, &transport.HTTP{URL: listen(t, s)})
	got, err := ask(t, l)
	if err != nil || got != `{"ok":true}` || resumes.Load() != 2 {
		t.Errorf("got %s, %v after %d resumes", got, err, resumes.Load())
	}
	m, err := l.Read(bounded(t))
	if req, ok := m.(*jsonrpc.Request); err != nil || !ok || req.Method != "notifications/x" {
		t.Errorf("Read: %v, %v", m, err)
	}
}

// A stream that cannot be resumed, or brings nothing new, ends the call.
func TestHTTPResumeFails(t *testing.T) {
	for name, get := range map[string]http.HandlerFunc{
		"refused":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) },
		"nothing new": func(w http.ResponseWriter, _ *http.Request) { openStream(w) },
	} {
		t.Run(name, func(t *testing.T) {
			var gets atomic.Int32
			l := shake(t, &transport.HTTP{URL: listen(t, &script{
				call: func(p *post) { p.stream("id: e1\nretry: 1\ndata: \n\n") },
				get: func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Last-Event-Id") == "" {
						w.WriteHeader(405)
						return
					}
					gets.Add(1)
					get(w, r)
				},
			})})
			_, err := ask(t, l)
			wantOutcome(t, err, mcp.Unknown)
			if n := gets.Load(); n < 1 || n > 5 {
				t.Errorf("%d attempts to resume", n)
			}
		})
	}
}

// What becomes of the listening stream does not matter to calls.
func TestHTTPListeningStream(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]http.HandlerFunc{
		"405":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) },
		"404":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"500":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"hangs":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"cut":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"ends":   func(w http.ResponseWriter, _ *http.Request) { openStream(w) },
		"broken": func(w http.ResponseWriter, _ *http.Request) { openStream(w); _, _ = io.WriteString(w, "data: {]\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := shake(t, &transport.HTTP{URL: listen(t, &script{get: get, call: func(p *post) { p.json(200, answer) }})})
			if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
				t.Errorf("got %s, %v", got, err)
			}
			closeWithin(t, l)
		})
	}
}

// TestHTTPNoStreamIsShared: one connection learns for all that there is no listening
// stream, and from nothing but status 405.
func TestHTTPNoStreamIsShared(t *testing.T) {
	for status, want := range map[int]int32{http.StatusMethodNotAllowed: 1, http.StatusNotFound: 3} {
		var gets atomic.Int32
		s := &script{
			get:  func(w http.ResponseWriter, _ *http.Request) { gets.Add(1); w.WriteHeader(status) },
			call: func(p *post) { p.json(200, answer) },
		}
		url, none := listen(t, s), new(atomic.Bool)
		for range 3 {
			l := shake(t, &transport.HTTP{URL: url, NoStream: none})
			if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
				t.Errorf("status %d: got %s, %v", status, got, err)
			}
			closeWithin(t, l)
		}
		assert.Equal(t, gets.Load(), want, "status %d: requests for a stream on 3 connections", status)
	}
}

// A listening stream that drops is opened again where it was, and the session
// is told that it may have missed a change.
func TestHTTPListeningStreamReopens(t *testing.T) {
	var gets atomic.Int32
	s := &script{get: func(w http.ResponseWriter, r *http.Request) {
		p := &post{ResponseWriter: w, r: r}
		if gets.Add(1) == 1 {
			p.stream("id: g1\nretry: 1\n" + event(`{"jsonrpc":"2.0","method":"notifications/first"}`))
			return
		}
		assert.Equal(t, r.Header.Get("Last-Event-Id"), "g1", "Last-Event-Id")
		p.stream(event(`{"jsonrpc":"2.0","method":"notifications/second"}`))
		p.hangs()
	}}
	l := shake(t, &transport.HTTP{URL: listen(t, s)})
	for _, want := range []string{"notifications/first", "notifications/tools/list_changed", "notifications/second"} {
		m, err := l.Read(bounded(t))
		if req, ok := m.(*jsonrpc.Request); err != nil || !ok || req.Method != want {
			t.Fatalf("got %v, %v; want %s", m, err, want)
		}
	}
}

// The listening stream of revision 2026-07-28 is a request that never ends.
func TestHTTPSubscriptionReopens(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := &script{call: func(p *post) {
		if opened.Add(1) == 1 {
			p.stream(event(`{"jsonrpc":"2.0","method":"notifications/first"}`))
			return
		}
		p.stream(event(`{"jsonrpc":"2.0","method":"notifications/second"}`))
		p.hangs()
	}}
	l := dial(t, &transport.HTTP{URL: listen(t, s)})
	id, _ := jsonrpc.MakeID(float64(3))
	params := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	assert.OK(t, l.Write(bounded(t), &jsonrpc.Request{ID: id, Method: "subscriptions/listen", Params: []byte(params)}))
	for _, want := range []string{"notifications/first", "notifications/tools/list_changed", "notifications/second"} {
		m, err := l.Read(bounded(t))
		if req, ok := m.(*jsonrpc.Request); err != nil || !ok || req.Method != want {
			t.Fatalf("got %v, %v; want %s", m, err, want)
		}
	}
	for _, r := range s.requests(http.MethodPost) {
		assert.Equal(t, r.Header.Get("Mcp-Method"), "subscriptions/listen", "Mcp-Method")
	}
}

// A refused probe fails as an answer does, and the connection lives for the
// handshake of an older revision.
func TestHTTPRefusedProbe(t *testing.T) {
	s := &script{call: func(p *post) { p.WriteHeader(400) }}
	l := dial(t, &transport.HTTP{URL: listen(t, s)})
	id, _ := jsonrpc.MakeID(float64(9))
	params := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	assert.OK(t, l.Write(bounded(t), &jsonrpc.Request{ID: id, Method: "server/discover", Params: []byte(params)}))
	m, err := l.Read(bounded(t))
	if resp, ok := m.(*jsonrpc.Response); err != nil || !ok || resp.ID != id || resp.Error == nil || !strings.Contains(resp.Error.Error(), "400") {
		t.Fatalf("got %v, %v", m, err)
	}
	if err := handshake(t, l); err != nil {
		t.Errorf("handshake: %v", err)
	}
}

// Whatever a server writes beside its answers, requests that follow each other share one
// socket.
func TestHTTPOneSocket(t *testing.T) {
	const rest = "what nobody reads\n"
	refuse := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, rest, http.StatusMethodNotAllowed) }
	for name, s := range map[string]*script{
		"listening stream refused": {get: refuse},
		"notification answered": {get: refuse, noted: func(p *post) {
			p.WriteHeader(http.StatusAccepted)
			_, _ = fmt.Fprint(p, rest)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s.call = func(p *post) { p.json(http.StatusOK, answer) }
			var sockets atomic.Int32
			server := httptest.NewUnstartedServer(s)
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					sockets.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			l := shake(t, &transport.HTTP{URL: server.URL})
			for range 3 {
				if err := l.Write(bounded(t), &jsonrpc.Request{Method: "notifications/x"}); err != nil {
					t.Fatalf("notification: %v", err)
				}
				if _, err := ask(t, l); err != nil {
					t.Fatalf("call: %v", err)
				}
			}
			assert.Equal(t, sockets.Load(), 1, "sockets")
		})
	}
}
