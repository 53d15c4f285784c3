package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func event(data string) string { return "event: message\ndata: " + data + "\n\n" }

// Bodies that hold the answer, in all shapes that count.
func TestHTTPReadsAnswersIn(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"notifications/x"}`
	for name, respond := range map[string]func(*post){
		"JSON":               func(p *post) { p.json(200, answer) },
		"JSON with charset":  func(p *post) { p.Header().Set("Content-Type", "x"); jsonAs(p, "application/json; charset=utf-8") },
		"upper case type":    func(p *post) { jsonAs(p, "Application/JSON") },
		"201":                func(p *post) { p.json(201, answer) },
		"batch":              func(p *post) { p.json(200, "["+note+","+answer+"]") },
		"stream":             func(p *post) { p.stream(event(answer)) },
		"messages before":    func(p *post) { p.stream(event(note) + event(note) + event(answer)) },
		"no event name":      func(p *post) { p.stream("data: " + answer + "\n\n") },
		"no blank":           func(p *post) { p.stream("data:" + answer + "\n\n") },
		"split data":         func(p *post) { p.stream("data: " + strings.Replace(answer, ",", ",\ndata: ", 1) + "\n\n") },
		"comments":           func(p *post) { p.stream(": hi\n\n:\n\nevent: ping\ndata: {}\n\n" + event(answer)) },
		"CR":                 func(p *post) { p.stream(strings.ReplaceAll(event(answer), "\n", "\r")) },
		"CR LF split":        func(p *post) { p.stream("data: " + answer + "\r"); p.stream("\n\r"); p.stream("\n") },
		"byte order mark":    func(p *post) { p.stream("\ufeffdata: " + answer + "\n\n") },
		"field without data": func(p *post) { p.stream("data\n\nnonsense\nevent\n\n" + event(answer)) },
		"id with NUL":        func(p *post) { p.stream("id: a\x00b\n" + event(answer)) },
		"never closed":       func(p *post) { p.stream(event(answer)); p.hangs() },
		"never quiet": func(p *post) {
			p.stream(event(answer))
			for p.r.Context().Err() == nil {
				p.stream(event(note))
			}
		},
		"gzip": func(p *post) {
			p.Header().Set("Content-Type", "application/json")
			p.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(p)
			_, _ = io.WriteString(z, p.fill(answer))
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := shake(t, &transport.HTTP{URL: listen(t, &script{call: respond})})
			for range 2 {
				if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
					t.Errorf("got %s, %v", got, err)
				}
			}
		})
	}
}

// A stream that the server never closes is given up once it has brought the
// answer, while the connection lives on.
func TestHTTPGivesUpAnsweredStreams(t *testing.T) {
	gone := make(chan struct{})
	l := shake(t, &transport.HTTP{URL: listen(t, &script{call: func(p *post) {
		p.stream(event(answer))
		p.hangs()
		close(gone)
	}})})
	assert.Value(ask(t, l))(t)
	select {
	case <-gone:
	case <-bounded(t).Done():
		t.Error("the stream is still open")
	}
}

func jsonAs(p *post, kind string) {
	p.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(p, p.fill(answer))
}

// Responses without a usable answer.
func TestHTTPWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		respond func(*post)
		outcome mcp.Outcome
	}{
		"202":                {func(p *post) { p.WriteHeader(202) }, mcp.Unknown},
		"204":                {func(p *post) { p.WriteHeader(204) }, mcp.Unknown},
		"HTML":               {func(p *post) { jsonAs(p, "text/html") }, mcp.Answered},
		"no type":            {func(p *post) { p.Header()["Content-Type"] = nil; _, _ = io.WriteString(p, "x") }, mcp.Answered},
		"broken JSON":        {func(p *post) { p.json(200, `{"jsonrpc":"2.0","id":$ID,`) }, mcp.Answered},
		"other id":           {func(p *post) { p.json(200, `{"jsonrpc":"2.0","id":5,"result":{}}`) }, mcp.Unknown},
		"empty stream":       {func(p *post) { p.stream("") }, mcp.Unknown},
		"stream cut":         {func(p *post) { p.stream("data: " + answer[:20]) }, mcp.Unknown},
		"broken event":       {func(p *post) { p.stream("data: {]\n\n"); p.hangs() }, mcp.Answered},
		"body cut":           {func(p *post) { p.Header().Set("Content-Length", "500"); p.json(200, answer) }, mcp.Unknown},
		"connection cut":     {func(*post) { panic(http.ErrAbortHandler) }, mcp.Unknown},
		"500":                {func(p *post) { p.WriteHeader(500) }, mcp.Unknown},
		"502 with page":      {func(p *post) { p.WriteHeader(502); _, _ = io.WriteString(p, "<html>s3cret</html>") }, mcp.Unknown},
		"500 with an error":  {func(p *post) { p.json(500, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-1,"message":"m"}}`) }, mcp.Answered},
		"500 JSON of others": {func(p *post) { p.json(500, `{"status":500,"error":"Internal"}`) }, mcp.Unknown},
		"413":                {func(p *post) { p.WriteHeader(413) }, mcp.NotSent},
		"403":                {func(p *post) { p.WriteHeader(403) }, mcp.NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			var mended atomic.Bool
			l := shake(t, &transport.HTTP{URL: listen(t, &script{call: func(p *post) {
				if mended.Swap(true) {
					p.json(200, answer)
				} else {
					c.respond(p)
				}
			}})})
			_, err := ask(t, l)
			wantOutcome(t, err, c.outcome)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows the body: %v", err)
			}
			if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
				t.Errorf("the next call: got %s, %v", got, err)
			}
		})
	}
}

func TestHTTPTooManyRequests(t *testing.T) {
	for name, respond := range map[string]func(*post){
		"plain":         func(p *post) { p.WriteHeader(429) },
		"with an error": func(p *post) { p.json(429, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-1,"message":"m"}}`) },
	} {
		l := shake(t, &transport.HTTP{URL: listen(t, &script{call: func(p *post) {
			p.Header().Set("Retry-After", "7")
			respond(p)
		}})})
		_, err := ask(t, l)
		var status *transport.StatusError
		if !errors.As(err, &status) || status.RetryAfter.Seconds() != 7 || !strings.Contains(err.Error(), "7s") {
			t.Errorf("%s: got %v", name, err)
		}
		wantOutcome(t, err, mcp.NotSent)
	}
}

// An answer that is too large, however it is packed, is not kept in memory.
func TestHTTPLimit(t *testing.T) {
	const limit = 32 << 10
	endless := func(p *post, w io.Writer, head string) {
		_, _ = io.WriteString(w, head)
		for chunk := bytes.Repeat([]byte("x"), 64<<10); p.r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for name, respond := range map[string]func(*post){
		"JSON": func(p *post) { p.Header().Set("Content-Type", "application/json"); endless(p, p, `{"a":"`) },
		"gzip bomb": func(p *post) {
			p.Header().Set("Content-Type", "application/json")
			p.Header().Set("Content-Encoding", "gzip")
			endless(p, gzip.NewWriter(p), `{"a":"`)
		},
		"endless line": func(p *post) { p.stream(""); endless(p, p, "data: ") },
		"endless event": func(p *post) {
			p.stream("")
			for p.r.Context().Err() == nil {
				p.stream("data: " + strings.Repeat("x", 1000) + "\n")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := shake(t, &transport.HTTP{URL: listen(t, &script{call: respond}), MaxMessage: limit})
			_, err := ask(t, l)
			var tooLarge *mcp.LimitError
			if !errors.As(err, &tooLarge) || tooLarge.Max != limit {
				t.Errorf("got %v", err)
			}
			wantOutcome(t, err, mcp.Answered)
		})
	}
}

// A negative limit is none, of a body and of an event.
func TestHTTPWithoutLimit(t *testing.T) {
	large := strings.Repeat("x", 17<<20) // more than the default
	message := `{"jsonrpc":"2.0","id":$ID,"result":"` + large + `"}`
	for name, respond := range map[string]func(*post){
		"JSON":   func(p *post) { p.json(200, message) },
		"stream": func(p *post) { p.stream("data: " + message + "\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			got := assert.Value(ask(t, shake(t, &transport.HTTP{URL: listen(t, &script{call: respond}), MaxMessage: -1})))(t)
			assert.Equal(t, len(got), len(large)+2, "bytes")
		})
	}
}

// A caller that gives up in the middle of an answer does not harm the others.
func TestHTTPCancelledInTheBody(t *testing.T) {
	started := make(chan struct{})
	var again atomic.Bool
	s := &script{call: func(p *post) {
		if again.Swap(true) {
			p.json(200, answer)
			return
		}
		p.json(200, `{"jsonrpc":"2.0",`)
		p.ResponseWriter.(http.Flusher).Flush()
		close(started)
		p.hangs()
	}}
	l := shake(t, &transport.HTTP{URL: listen(t, s)})
	ctx, cancel := context.WithCancel(bounded(t))
	go func() { <-started; cancel() }()
	_, err := l.Call(ctx, "tools/call", nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantOutcome(t, err, mcp.Unknown)
	if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
		t.Errorf("the next call: got %s, %v", got, err)
	}
	_ = l.Close()
	assert.Equal(t, s.notes("notifications/cancelled"), 1, "cancellations")
}

// A server that changes the protocol keeps the connection, and no context ends what
// would be read from it.
func TestSwitchedProtocols(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Type: application/json\r\n\r\n{")
		_, _ = io.Copy(io.Discard, conn) // until the client hangs up
	}))
	t.Cleanup(server.Close)
	for name, recipe := range map[string]mcp.Transport{
		"HTTP": &transport.HTTP{URL: server.URL}, "SSE": &transport.SSE{URL: server.URL}, "Auto": &transport.Auto{URL: server.URL},
	} {
		c := mcp.NewClient("x", recipe, nil)
		if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "status 101") {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.Close()
	}
}
