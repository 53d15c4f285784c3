package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestHTTPSessionHeaders(t *testing.T) {
	s := &script{
		call: func(p *post) { p.json(200, answer) },
		get:  func(w http.ResponseWriter, r *http.Request) { openStream(w); <-r.Context().Done() },
	}
	l := shake(t, &transport.HTTP{URL: listen(t, s), Header: http.Header{"x-api-key": {"k"}, "accept": {"text/html"}}})
	assert.Equal(t, l.SessionID(), sessionID, "SessionID")
	if _, err := ask(t, l); err != nil {
		t.Error(err)
	}
	_ = l.Close()
	posts := s.requests(http.MethodPost)
	if len(posts) != 3 || len(s.requests(http.MethodGet)) != 1 || len(s.requests(http.MethodDelete)) != 1 {
		t.Fatalf("%d POST, %d GET, %d DELETE", len(posts), len(s.requests(http.MethodGet)), len(s.requests(http.MethodDelete)))
	}
	for i, r := range s.requests("") {
		id, version := sessionID, "2025-11-25"
		if i == 0 { // initialize
			id, version = "", ""
		}
		assert.Equal(t, r.Header.Get("Mcp-Session-Id"), id, "%s %d: session", r.Method, i)
		assert.Equal(t, r.Header.Get("Mcp-Protocol-Version"), version, "%s %d: version", r.Method, i)
		if got := r.Header.Values("X-Api-Key"); len(got) != 1 || got[0] != "k" {
			t.Errorf("%s %d: configured field %q", r.Method, i, got)
		}
		if r.Header.Get("Mcp-Method") != "" {
			t.Errorf("%s %d: a field of another revision", r.Method, i)
		}
		accept := map[string]string{"POST": "application/json, text/event-stream", "GET": "text/event-stream", "DELETE": "text/html"}
		if got := r.Header.Values("Accept"); len(got) != 1 || got[0] != accept[r.Method] {
			t.Errorf("%s %d: Accept %q", r.Method, i, got)
		}
	}
}

func openStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

// The statuses and bodies by which servers say that a session is unknown.
func TestHTTPSessionLost(t *testing.T) {
	for name, respond := range map[string]func(*post){
		"404":              func(p *post) { p.WriteHeader(404) },
		"404 with page":    func(p *post) { p.WriteHeader(404); _, _ = io.WriteString(p, "Not found") },
		"404 with id null": func(p *post) { p.json(404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"m"}}`) },
		"404 with id of its own": func(p *post) {
			p.json(404, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}`)
		},
		"400":                  func(p *post) { p.WriteHeader(400) },
		"400 with id null":     func(p *post) { p.json(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m"}}`) },
		"400 with code -32000": func(p *post) { p.json(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"m"}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{call: respond}
			l := shake(t, &transport.HTTP{URL: listen(t, s)})
			_, err := ask(t, l)
			if !errors.Is(err, mcp.ErrSessionLost) {
				t.Errorf("got %v", err)
			}
			wantOutcome(t, err, mcp.NotSent)
			if _, err := l.Read(bounded(t)); !errors.Is(err, mcp.ErrSessionLost) {
				t.Errorf("Read: got %v", err)
			}
			_ = l.Close()
			if len(s.requests(http.MethodDelete)) != 0 {
				t.Error("a lost session was deleted")
			}
		})
	}
	t.Run("400 with the server's error", func(t *testing.T) {
		l := shake(t, &transport.HTTP{URL: listen(t, &script{call: func(p *post) {
			p.json(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"m"}}`)
		}})})
		_, err := ask(t, l)
		wantOutcome(t, err, mcp.Answered)
		if l.Info().Err != nil {
			t.Errorf("the connection ended: %v", l.Info().Err)
		}
	})
}

// A server that refuses a notification which it does not know has not lost the session.
func TestHTTPNotificationRefused(t *testing.T) {
	l := shake(t, &transport.HTTP{URL: listen(t, &script{
		call:  func(p *post) { p.json(200, `{"jsonrpc":"2.0","id":$ID,"result":{}}`) },
		noted: func(p *post) { p.WriteHeader(400) },
	})})
	var status *transport.StatusError
	if err := l.Write(bounded(t), &jsonrpc.Request{Method: "x/unknown"}); !errors.As(err, &status) || status.Code != 400 {
		t.Errorf("got %v, want status 400", err)
	}
	if _, err := ask(t, l); err != nil {
		t.Errorf("a request after it: got %v, want none", err)
	}
}

// When the session is lost, each call in flight is told so by the server: none
// has run, and all can be sent again.
func TestHTTPSessionLostForAll(t *testing.T) {
	const n = 8
	var arrived sync.WaitGroup
	arrived.Add(n)
	l := shake(t, &transport.HTTP{URL: listen(t, &script{call: func(p *post) {
		arrived.Done()
		arrived.Wait()
		p.WriteHeader(404)
	}})})
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			_, err := ask(t, l)
			wantOutcome(t, err, mcp.NotSent)
			if l.Info().Err == nil {
				t.Error("the call returned before the connection ended")
			}
		})
	}
	calls.Wait()
}

// A call that the server is running is not safe to repeat just because another
// one is refused.
func TestHTTPSessionLostDuringACall(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	l := shake(t, &transport.HTTP{URL: listen(t, &script{call: func(p *post) {
		if p.Method == "tools/call" {
			close(running)
			p.hangs()
			return
		}
		p.WriteHeader(404)
	}})})
	failed := make(chan error, 1)
	go func() {
		_, err := l.Call(context.Background(), "tools/call", nil, nil)
		failed <- err
	}()
	<-running
	_, err := ask(t, l)
	wantOutcome(t, err, mcp.NotSent)
	wantOutcome(t, <-failed, mcp.Unknown)
}

// The same when the server cannot be reached any more.
func TestHTTPUnreachableDuringACall(t *testing.T) {
	running := make(chan struct{})
	refuse := make(chan struct{})
	s := &script{call: func(p *post) { p.stream(": running\n\n"); close(running); p.hangs() }}
	rt := http.DefaultTransport.(*http.Transport).Clone()
	dialer := rt.DialContext
	rt.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-refuse:
			return nil, errors.New("refused")
		default:
			return dialer(ctx, network, addr)
		}
	}
	defer rt.CloseIdleConnections()
	l := shake(t, &transport.HTTP{URL: listen(t, s), RoundTripper: rt})
	failed := make(chan error, 1)
	go func() {
		_, err := l.Call(context.Background(), "tools/call", nil, nil)
		failed <- err
	}()
	<-running
	close(refuse)
	rt.CloseIdleConnections()
	_, err := ask(t, l)
	wantOutcome(t, err, mcp.NotSent)
	wantOutcome(t, <-failed, mcp.Unknown)
	if _, err := l.Read(bounded(t)); err == nil {
		t.Error("the connection lives")
	}
}

func TestHTTPDialRefused(t *testing.T) {
	l := dial(t, &transport.HTTP{URL: deadport.URL(t) + "/mcp?key=s3cret"})
	_, err := ask(t, l)
	wantOutcome(t, err, mcp.NotSent)
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error shows the query: %v", err)
	}
	if l.Info().Err == nil {
		t.Error("the connection lives")
	}
}

// What a round tripper has sent is told by what it has read of the body.
func TestHTTPRoundTripperFails(t *testing.T) {
	for _, test := range []struct {
		read int
		want mcp.Outcome
	}{{0, mcp.NotSent}, {1, mcp.Unknown}} {
		l := dial(t, &transport.HTTP{URL: "http://server.invalid", RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
			if test.read > 0 {
				_, _ = r.Body.Read(make([]byte, test.read))
			}
			return nil, errors.New("lost")
		})})
		_, err := ask(t, l)
		wantOutcome(t, err, test.want)
		if l.Info().Err != nil {
			t.Errorf("the connection ended: %v", l.Info().Err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Close waits for the DELETE, but not for ever.
func TestHTTPCloseIsBounded(t *testing.T) {
	t.Parallel()
	s := &script{call: func(p *post) { p.hangs() }, remove: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	l := shake(t, &transport.HTTP{URL: listen(t, s)})
	closeWithin(t, l)
	if len(s.requests(http.MethodDelete)) != 1 {
		t.Error("no DELETE")
	}
}

// Close tells the server to stop what still runs before it ends the session.
func TestHTTPCloseCancelsCalls(t *testing.T) {
	running := make(chan struct{})
	s := &script{call: func(p *post) { close(running); p.hangs() }}
	l := shake(t, &transport.HTTP{URL: listen(t, s)})
	failed := make(chan error, 1)
	go func() {
		_, err := l.Call(context.Background(), "tools/call", nil, nil)
		failed <- err
	}()
	<-running
	closeWithin(t, l)
	wantOutcome(t, <-failed, mcp.Unknown)
	assert.Equal(t, s.notes("notifications/cancelled"), 1, "cancellations")
}

func TestHTTPModernHeaders(t *testing.T) {
	s := &script{call: func(p *post) { p.Header().Set("Mcp-Session-Id", "none"); p.json(200, answer) }}
	l := dial(t, &transport.HTTP{URL: listen(t, s)})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, c := range []struct{ method, params, name string }{
		{"tools/call", `{"name":"plain",` + meta + `}`, "plain"},
		{"tools/call", `{"name":" caf\u00e9 ",` + meta + `}`, "=?base64?IGNhZsOpIA==?="},
		{"tools/call", `{"name":"=?base64?eA==?=",` + meta + `}`, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		{"prompts/get", `{"name":"p",` + meta + `}`, "p"},
		{"resources/read", `{"uri":"file:///x",` + meta + `}`, "file:///x"},
		{"tools/list", `{"name":"no",` + meta + `}`, ""},
	} {
		opts := &mcp.CallOptions{Header: map[string]string{"Mcp-Param-Region": "eu"}}
		assert.Value(l.Call(bounded(t), c.method, []byte(c.params), opts))(t)
		h := s.last().Header
		if h.Get("Mcp-Method") != c.method || h.Get("Mcp-Name") != c.name || h.Get("Mcp-Protocol-Version") != "2026-07-28" {
			t.Errorf("%s %s: got %q %q %q", c.method, c.params, h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Protocol-Version"))
		}
		if h.Get("Mcp-Param-Region") != "eu" || h.Get("Mcp-Session-Id") != "" {
			t.Errorf("got %v", h)
		}
	}
	opts := &mcp.CallOptions{Header: map[string]string{"Mcp-Param-X": "a\r\nb"}}
	if _, err := l.Call(bounded(t), "tools/call", []byte(`{`+meta+`}`), opts); err != nil {
		t.Error(err)
	}
	assert.Equal(t, s.last().Header.Get("Mcp-Param-X"), "=?base64?YQ0KYg==?=")
	opts = &mcp.CallOptions{Header: map[string]string{"X: Y": "a"}}
	_, err := l.Call(bounded(t), "tools/call", []byte(`{`+meta+`}`), opts)
	wantOutcome(t, err, mcp.NotSent)
	if l.Info().Err != nil {
		t.Errorf("the connection ended: %v", l.Info().Err)
	}
}
