package transport_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
// that it is not read, lest it takes an event of its successor.
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

// accept answers every request.
func accept(p *post, events chan<- string) {
	events <- p.fill(answer)
	p.WriteHeader(http.StatusAccepted)
}

// dialOld connects to an old server with a small limit.
func dialOld(t *testing.T, s *oldServer, limit int64) mcp.Caller {
	t.Helper()
	return dial(t, &transport.HTTP{Variant: transport.SSE, URL: listen(t, s), MaxMessage: limit})
}

func TestSSEAddress(t *testing.T) {
	//report: Transports | wong2/mcp-cli#9 | the event stream names a path, a relative path or a whole URL | resolved against the address of the stream
	s := newOldServer(accept)
	url := listen(t, s)
	for _, address := range []string{"/messages?session=1", "messages", url + "/messages"} {
		s.address = address
		l := dial(t, &transport.HTTP{Variant: transport.SSE, URL: url + "/sse"})
		wantResult(t, l, okResult)
		_ = l.Close()
	}
	var leaked atomic.Int32
	other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	for name, address := range map[string]string{
		//report: Transports | haierkeys/fast-note-sync-service#273 | behind a proxy the event stream names an address on an internal host | refused, since posts carry the user's credentials; the error names the other origin
		"other origin": other + "/messages?key=s3cret",
		"other scheme": "https" + strings.TrimPrefix(url, "http") + "/messages",
		"no network":   "file:///etc/passwd",
		"broken":       "http://[s3cret",
	} {
		s.address = address
		wantNoConnection(t, name, &transport.HTTP{Variant: transport.SSE, URL: url + "/sse"})
	}
	assert.Equal(t, leaked.Load(), 0, "requests to the other origin")
}

// wantNoConnection expects an error of Connect that shows no secret.
func wantNoConnection(t *testing.T, name string, tr *transport.HTTP) {
	t.Helper()
	if _, err := tr.Connect(bounded(t)); err == nil {
		t.Errorf("%s: got a connection, want an error", name)
	} else {
		assert.Lacks(t, err.Error(), "s3cret", name)
	}
}

func TestSSEConnectFails(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"404":  http.NotFound,
		"HTML": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>s3cret") },
		"ends": func(w http.ResponseWriter, _ *http.Request) { openStream(w) },
		"oversize": func(w http.ResponseWriter, _ *http.Request) {
			openStream(w)
			_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 5000))
		},
	} {
		wantNoConnection(t, name, &transport.HTTP{Variant: transport.SSE, URL: listen(t, h), MaxMessage: 1000})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&transport.HTTP{Variant: transport.SSE, URL: listen(t, http.HandlerFunc(keepOpen))}).Connect(ctx)
	assert.Is(t, err, context.Canceled)
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
			l := dialOld(t, s, 1000)
			wantFailure(t, l, mcp.Unknown)
			assert.Fails(t, assert.Err(l.Read(bounded(t))), "Read")
			assert.Fails(t, l.Info().Err, "the connection")
			wantFailure(t, l, mcp.NotSent)
		})
	}
}

// An event that cannot be read, or is too large, fails the call that it answers, and harms no
// other.
func TestSSEBrokenAnswer(t *testing.T) {
	for name, broken := range map[string]string{
		"duplicate key": `{"jsonrpc":"2.0","id":$ID,"result":{"a":1,"a":2}}`,
		"no JSON":       `{"jsonrpc":"2.0","id":$ID,"result":{`,
		"too large":     `{"jsonrpc":"2.0","id":$ID,"result":{"x":"` + strings.Repeat("x", 1500) + `"}}`,
		"in many lines": `{"jsonrpc":"2.0","id":$ID,"result":{"x":` + strings.Repeat("\ndata: "+strings.Repeat(" ", 400), 5) + `1}}`,
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
			l := dialOld(t, s, 1000)
			other := start(bounded(t), l, "tools/list")
			first := receive(t, running, "the first request")
			err := wantFailure(t, l, mcp.Answered)
			if len(broken) > 1000 {
				assert.As[*mcp.LimitError](t, err)
			} else {
				assert.As[*mcp.ProtocolError](t, err)
			}
			s.events <- first.fill(answer)
			assert.OK(t, <-other, "another call")
			wantResult(t, l, okResult)
		})
	}
}

func TestSSEPostRefused(t *testing.T) {
	//report: Transports | modelcontextprotocol/typescript-sdk#470, modelcontextprotocol/python-sdk#2255, modelcontextprotocol/modelcontextprotocol#319, samanhappy/mcphub#127 | behind a proxy with a path of its own the stream names an address without that path | the address is taken as the standard for URLs says; the error says the status of the post
	for code, want := range map[int]mcp.Outcome{400: mcp.NotSent, 404: mcp.NotSent, 401: mcp.NotSent, 500: mcp.Unknown} {
		err := wantFailure(t, dialOld(t, newOldServer(func(p *post, _ chan<- string) { p.WriteHeader(code) }), 0), want)
		assert.Equal(t, assert.As[*transport.StatusError](t, err).Code, code, "status")
	}
}

// A caller that gives up before its post is answered has the call cancelled
// too: the server may be running it already.
func TestSSECancelsWhatIsBeingPosted(t *testing.T) {
	running, cancelled := make(chan struct{}), make(chan string, 1)
	l := dialOld(t, newOldServer(func(p *post, _ chan<- string) {
		if p.Method == "notifications/cancelled" {
			cancelled <- string(p.Params)
			p.WriteHeader(http.StatusAccepted)
			return
		}
		close(running)
		p.hangs()
	}), 0)
	ctx, giveUp := context.WithCancel(bounded(t))
	go func() { <-running; giveUp() }()
	wantOutcome(t, assert.Err(l.Call(ctx, "tools/call", json.RawMessage(`{"name":"x"}`), nil)), mcp.Unknown)
	assert.Contains(t, receive(t, cancelled, "a cancellation"), "requestId", "params")
}

// The context in which a connection is made bounds the making alone.
func TestSSEOutlivesItsConnecting(t *testing.T) {
	server := func() string {
		return listen(t, newOldServer(func(p *post, events chan<- string) {
			if text := map[string]string{"initialize": initialized, "tools/call": called, "server/discover": unknown}[p.Method]; text != "" {
				events <- p.fill(text)
			}
			p.WriteHeader(http.StatusAccepted)
		}))
	}
	var cancel context.CancelFunc
	canceled := func(tr mcp.Transport) mcp.Transport {
		return connecting(func(ctx context.Context) (mcp.Conn, error) {
			ctx, cancel = context.WithCancel(ctx)
			return tr.Connect(ctx)
		})
	}
	client := ours(t, canceled(&transport.HTTP{Variant: transport.SSE, URL: server()}))
	cancel()
	client.again(t)

	rt := http.DefaultTransport.(*http.Transport).Clone()
	defer rt.CloseIdleConnections()
	client = bare(t, canceled(&sdk.SSEClientTransport{Endpoint: server(), HTTPClient: &http.Client{Transport: rt}}))
	cancel()
	if !client.ends(t) {
		mended(t, "transport/sse.go")
	}
}

// A session that the server forgot while its stream stays open, at a proxy, is replaced by a new one.
func TestSSEForgottenSession(t *testing.T) {
	//report: Transports | spring-projects/spring-ai#2785 | a server of HTTP+SSE was deployed anew, and answers 404 to the posts of the sessions before | the session counts as lost, though its stream is open: a new one begins, and the call is sent in it
	var posts atomic.Int32
	s := newOldServer(func(p *post, events chan<- string) {
		text := map[string]string{"initialize": initialized, "tools/call": called, "server/discover": unknown}[p.Method]
		if p.Method == "tools/call" && posts.Add(1) == 1 {
			p.WriteHeader(http.StatusNotFound)
			return
		}
		if text != "" {
			events <- p.fill(text)
		}
		p.WriteHeader(http.StatusAccepted)
	})
	client := ours(t, &transport.HTTP{Variant: transport.SSE, URL: listen(t, s)})
	assert.OK(t, client.call(bounded(t), "x"))
	assert.Equal(t, client.connections(), 2, "connections")
}
