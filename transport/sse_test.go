package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An oldServer is a hand-written HTTP+SSE server: GET opens the stream and
// names an address, POST is left to a function that may write events.
type oldServer struct {
	address string // what the stream names; default: /messages
	post    func(p *post, events chan<- string)
	events  chan string // to the stream; closing it ends the stream

	mu     sync.Mutex
	newest *stopper // the stream that was opened last
}

// A stopper stops a stream and says when it has.
type stopper struct {
	stop    context.CancelFunc
	stopped chan struct{}
}

// replace ends the stream before the present one, which may not have noticed yet
// that nobody reads it, lest it takes an event of its successor.
func (s *oldServer) replace(next *stopper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest != nil {
		s.newest.stop()
		<-s.newest.stopped
	}
	s.newest = next
}

func newOldServer(post func(*post, chan<- string)) *oldServer {
	return &oldServer{address: "/messages", post: post, events: make(chan string, 16)}
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := &post{ResponseWriter: w, r: r}
	if r.Method == http.MethodPost {
		if r.URL.Path != "/messages" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		decode(p)
		s.post(p, s.events)
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	stopped := make(chan struct{})
	defer close(stopped)
	s.replace(&stopper{stop, stopped})
	p.stream(": hello\n\nevent: endpoint\ndata: " + s.address + "\n\n")
	for {
		select {
		case data, ok := <-s.events:
			if !ok {
				return
			}
			p.stream(event(data))
		case <-ctx.Done():
			return
		}
	}
}

func accept(p *post, events chan<- string) {
	events <- p.fill(answer)
	p.WriteHeader(http.StatusAccepted)
}

func TestSSEAddress(t *testing.T) {
	s := newOldServer(accept)
	url := listen(t, s)
	for name, address := range map[string]string{
		"path":     "/messages?session=1",
		"relative": "messages",
		"URL":      url + "/messages",
	} {
		s.address = address
		l := dial(t, &transport.SSE{URL: url + "/sse"})
		if got, err := ask(t, l); err != nil || got != `{"ok":true}` {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
		_ = l.Close()
	}
	var leaked atomic.Int32
	other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	for name, address := range map[string]string{
		"other origin": other + "/messages?key=s3cret",
		"other scheme": "https" + strings.TrimPrefix(url, "http") + "/messages",
		"no network":   "file:///etc/passwd",
		"broken":       "http://[s3cret",
	} {
		s.address = address
		_, err := (&transport.SSE{URL: url + "/sse"}).Connect(bounded(t))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if leaked.Load() != 0 {
		t.Error("a request reached the other origin")
	}
}

func TestSSEConnectFails(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"404":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"HTML": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>s3cret") },
		"ends": func(w http.ResponseWriter, _ *http.Request) { openStream(w) },
		"oversize": func(w http.ResponseWriter, _ *http.Request) {
			openStream(w)
			_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 5000))
		},
	} {
		_, err := (&transport.SSE{URL: listen(t, h), MaxMessage: 1000}).Connect(bounded(t))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	hangs := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { openStream(w); <-r.Context().Done() }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&transport.SSE{URL: hangs}).Connect(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
	wantOutcome(t, err, mcp.NotSent)
}

func TestSSEStreamEndIsTheEnd(t *testing.T) {
	for name, end := range map[string]func(*oldServer){
		"closed": func(s *oldServer) { close(s.events) },
		"noise": func(s *oldServer) {
			for range 100 {
				s.events <- "{]"
			}
		},
		"without end": func(s *oldServer) { s.events <- strings.Repeat("x", 20_000) },
	} {
		t.Run(name, func(t *testing.T) {
			var s *oldServer
			s = newOldServer(func(p *post, _ chan<- string) {
				p.WriteHeader(http.StatusAccepted)
				end(s)
			})
			l := dial(t, &transport.SSE{URL: listen(t, s), MaxMessage: 1000})
			_, err := ask(t, l)
			wantOutcome(t, err, mcp.Unknown)
			if _, err := l.Read(bounded(t)); err == nil || l.Info().Err == nil {
				t.Errorf("the connection lives: %v", err)
			}
			_, err = ask(t, l)
			wantOutcome(t, err, mcp.NotSent)
		})
	}
}

// An event that cannot be read fails the call that it answers, and harms no
// other.
func TestSSEBrokenAnswer(t *testing.T) {
	for name, broken := range map[string]string{
		"oversize":      `{"jsonrpc":"2.0","id":$ID,"result":"` + strings.Repeat("x", 1500) + `"}`,
		"oversize, end": `{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 1500) + `","id":$ID}`,
		"duplicate key": `{"jsonrpc":"2.0","id":$ID,"result":{"a":1,"a":2}}`,
	} {
		t.Run(name, func(t *testing.T) {
			running := make(chan *post, 1)
			var calls atomic.Int32
			s := newOldServer(func(p *post, events chan<- string) {
				p.WriteHeader(http.StatusAccepted)
				switch calls.Add(1) {
				case 1:
					running <- &post{ID: p.ID}
				case 2:
					events <- p.fill(broken)
				default:
					events <- p.fill(answer)
				}
			})
			l := dial(t, &transport.SSE{URL: listen(t, s), MaxMessage: 1000})
			other := make(chan error, 1)
			go func() {
				_, err := ask(t, l)
				other <- err
			}()
			first := <-running
			_, err := ask(t, l)
			wantOutcome(t, err, mcp.Answered)
			var limit *mcp.LimitError
			var invalid *mcp.ProtocolError
			if !errors.As(err, &limit) && !errors.As(err, &invalid) {
				t.Errorf("got %v", err)
			}
			s.events <- first.fill(answer)
			if err := <-other; err != nil {
				t.Errorf("another call: %v", err)
			}
			if _, err := ask(t, l); err != nil {
				t.Errorf("a later call: %v", err)
			}
		})
	}
}

// An answer that is many times too large costs its call, and no other.
func TestSSERefusedAnswerIsSkipped(t *testing.T) {
	const limit = 64 << 10
	huge := `{"jsonrpc":"2.0","id":$ID,"result":"` + strings.Repeat("x", 10*limit) + `"}`
	var calls atomic.Int32
	l := dial(t, &transport.SSE{MaxMessage: limit, URL: listen(t, newOldServer(func(p *post, events chan<- string) {
		p.WriteHeader(http.StatusAccepted)
		if calls.Add(1) == 1 {
			events <- p.fill(huge)
		} else {
			events <- p.fill(answer)
		}
	}))})
	_, err := ask(t, l)
	var tooLarge *mcp.LimitError
	if !errors.As(err, &tooLarge) {
		t.Errorf("got %v, want a LimitError", err)
	}
	wantOutcome(t, err, mcp.Answered)
	if got, err := ask(t, l); err != nil {
		t.Errorf("got %s and the error %v of the next call, want an answer", got, err)
	}
}

func TestSSEPostRefused(t *testing.T) {
	for code, want := range map[int]mcp.Outcome{400: mcp.NotSent, 404: mcp.NotSent, 401: mcp.NotSent, 500: mcp.Unknown} {
		l := dial(t, &transport.SSE{URL: listen(t, newOldServer(func(p *post, _ chan<- string) { p.WriteHeader(code) }))})
		_, err := ask(t, l)
		var status *transport.StatusError
		if !errors.As(err, &status) || status.Code != code {
			t.Errorf("%d: got %v", code, err)
		}
		wantOutcome(t, err, want)
	}
}

// A caller that gives up before its post is answered has the call cancelled
// too: the server may be running it already.
func TestSSECancelsWhatIsBeingPosted(t *testing.T) {
	running, cancelled := make(chan struct{}), make(chan string, 1)
	l := dial(t, &transport.SSE{URL: listen(t, newOldServer(func(p *post, _ chan<- string) {
		if p.Method == "notifications/cancelled" {
			cancelled <- string(p.Params)
			p.WriteHeader(http.StatusAccepted)
			return
		}
		close(running)
		<-p.r.Context().Done()
	}))})
	ctx, giveUp := context.WithCancel(bounded(t))
	go func() {
		<-running
		giveUp()
	}()
	_, err := l.Call(ctx, "tools/call", json.RawMessage(`{"name":"x"}`), nil)
	wantOutcome(t, err, mcp.Unknown)
	select {
	case params := <-cancelled:
		assert.Contains(t, params, "requestId", "cancelled with")
	case <-bounded(t).Done():
		t.Error("the server was not told")
	}
}
