package transport_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func TestMain(m *testing.M) {
	transporttest.RunChild()
	runHost()
	// Parallel tests wait for processes, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// tooLong bounds waits that a correct package never has, on a busy machine neither.
const tooLong = 2 * time.Minute

func bounded(t testing.TB) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	t.Cleanup(stop)
	return ctx
}

// receive returns what comes next from a channel, or the zero value at its end.
func receive[T any](t testing.TB, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-bounded(t).Done():
		t.Fatalf("got nothing, want %s", what)
	}
	return v
}

// child returns a server that does the steps, for connections that wait for it on a busy machine.
func child(steps ...string) *transport.Command {
	c := transporttest.Child(steps...)
	c.SetWaits(0, tooLong, tooLong)
	return c
}

// patient makes streamable HTTP wait for what comes at once unless the machine is busy.
func patient(tr mcp.Transport) mcp.Transport {
	if h, ok := tr.(interface{ SetPatience(time.Duration) }); ok {
		h.SetPatience(tooLong)
	}
	return tr
}

// newClient returns a client that waits for its server on a busy machine.
func newClient(t *testing.T, tr mcp.Transport, o mcp.ClientOptions) *mcp.Client {
	o.ConnectTimeout = tooLong
	c := mcp.NewClient("server", patient(tr), &o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func dial(t *testing.T, tr mcp.Transport) mcp.Caller {
	t.Helper()
	conn := assert.Value(patient(tr).Connect(bounded(t)))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(mcp.Caller)
}

// A connecting function is a transport.
type connecting func(context.Context) (mcp.Conn, error)

func (f connecting) Connect(ctx context.Context) (mcp.Conn, error) { return f(ctx) }

// ask sends one request without parameters and returns its result.
func ask(t *testing.T, l mcp.Caller) (string, error) {
	t.Helper()
	raw, err := l.Call(bounded(t), "tools/list", nil, nil)
	return string(raw), err
}

// wantResult asks, and ends the test unless it gets a result.
func wantResult(t *testing.T, l mcp.Caller, want string) {
	t.Helper()
	assert.Equal(t, assert.Value(ask(t, l))(t), want, "result")
}

// wantFailure asks, and returns the error.
func wantFailure(t *testing.T, l mcp.Caller, want mcp.Outcome) error {
	t.Helper()
	_, err := ask(t, l)
	wantOutcome(t, err, want)
	return err
}

func wantOutcome(t *testing.T, err error, want mcp.Outcome) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with outcome %v", want)
	}
	assert.Equal(t, mcp.OutcomeOf(err), want, "outcome of %v", err)
}

// start makes a call that it does not wait for.
func start(ctx context.Context, l mcp.Caller, method string) (failed <-chan error) {
	done := make(chan error, 1)
	go func() {
		_, err := l.Call(ctx, method, nil, nil)
		done <- err
	}()
	return done
}

// wantNotes reads notifications.
func wantNotes(t *testing.T, l mcp.Caller, methods ...string) {
	t.Helper()
	for _, want := range methods {
		m := assert.Value(l.Read(bounded(t)))(t)
		req, ok := m.(*jsonrpc.Request)
		assert.True(t, ok && req.Method == want, "the message %v is %s", m, want)
	}
}

// closeWithin fails the test if Close hangs.
func closeWithin(t *testing.T, l io.Closer) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	assert.OK(t, receive(t, closed, "the end of Close"), "Close")
}

// listen serves h on a loopback port until the test ends.
func listen(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// A memoryListener accepts connections that are dialed in memory.
type memoryListener struct {
	dialed chan net.Conn
	closed chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error   { close(l.closed); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.IPAddr{} }

// inMemory serves h without sockets until the test ends, for tests whose time is virtual.
func inMemory(t *testing.T, h http.Handler) http.RoundTripper {
	l := &memoryListener{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: h}
	rt := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case l.dialed <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		_ = server.Close()
	})
	return rt
}

// A roundTripper is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

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
	okResult    = `{"ok":true}`
	answer      = `{"jsonrpc":"2.0","id":$ID,"result":` + okResult + `}`
	called      = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	unknown     = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown method"}}`
	someNote    = `{"jsonrpc":"2.0","method":"notifications/x"}`

	// modernMeta are the params of a request of revision 2026-07-28.
	modernMeta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
)

func event(data string) string { return "event: message\ndata: " + data + "\n\n" }

// A script is a hand-written streamable HTTP server. It shakes hands by itself,
// and leaves requests, GET and DELETE to its functions.
type script struct {
	call   func(*post)      // default: answer
	get    http.HandlerFunc // default: status 405
	remove http.HandlerFunc // DELETE; default: status 200
	noted  func(*post)      // a notification other than initialized; default: status 202

	initialized func(*post) // the notification initialized; default: status 202

	revision     string // default: 2025-11-25
	capabilities string // default: {}

	mu   sync.Mutex
	seen []*http.Request // in the order of arrival
	note []string        // methods of notifications
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r)
	tooMany := len(s.seen) > 10_000
	s.mu.Unlock()
	p := &post{ResponseWriter: w, r: r}
	switch {
	case tooMany: // a client that never waits would hold up the clock of a bubble
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case r.Method == http.MethodGet && s.get != nil:
		s.get(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete && s.remove != nil:
		s.remove(w, r)
	case r.Method == http.MethodDelete:
	case !decode(p):
		w.WriteHeader(http.StatusBadRequest)
	case p.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", sessionID)
		text := strings.Replace(initialized, mcp.Revision20251125, cmp.Or(s.revision, mcp.Revision20251125), 1)
		p.json(http.StatusOK, strings.Replace(text, `"capabilities":{}`, `"capabilities":`+cmp.Or(s.capabilities, "{}"), 1))
	case p.ID == nil:
		s.mu.Lock()
		s.note = append(s.note, p.Method)
		s.mu.Unlock()
		if s.noted != nil && p.Method != "notifications/initialized" {
			s.noted(p)
			return
		}
		if s.initialized != nil && p.Method == "notifications/initialized" {
			s.initialized(p)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	case s.call == nil:
		p.json(http.StatusOK, answer)
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

// last returns the request that came last.
func (s *script) last() *http.Request {
	all := s.requests("")
	return all[len(all)-1]
}

// wantRequests checks how many requests of each method came.
func (s *script) wantRequests(t *testing.T, posts, gets, deletes int) {
	t.Helper()
	for method, want := range map[string]int{http.MethodPost: posts, http.MethodGet: gets, http.MethodDelete: deletes} {
		assert.Equal(t, len(s.requests(method)), want, "%s requests", method)
	}
}

// notes counts the notifications with the given method.
func (s *script) notes(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.note {
		if m == method {
			n++
		}
	}
	return n
}

// A recorder notes the requests to a server, and may refuse the first of each method and path with
// status 401.
type recorder struct {
	refuses bool
	mu      sync.Mutex
	next    http.Handler
	seen    []*http.Request
}

func newRecorder(next http.Handler, refuses bool) *recorder {
	return &recorder{next: next, refuses: refuses}
}

func (rec *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec.mu.Lock()
	known := slices.ContainsFunc(rec.seen, func(old *http.Request) bool { return old.Method == r.Method && old.URL.Path == r.URL.Path })
	rec.seen = append(rec.seen, r)
	next := rec.next
	rec.mu.Unlock()
	if rec.refuses && !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	next.ServeHTTP(w, r)
}

func (rec *recorder) replace(next http.Handler) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.next = next
}

func (rec *recorder) count(method string) (n int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, r := range rec.seen {
		if r.Method == method {
			n++
		}
	}
	return n
}

// shake shakes hands over a new connection to a server of streamable HTTP.
func shake(t *testing.T, recipe *transport.HTTP) mcp.Caller {
	t.Helper()
	l := dial(t, recipe)
	assert.OK(t, handshake(t, l), "handshake")
	return l
}

// shakeWith shakes hands with a scripted server.
func shakeWith(t *testing.T, s *script) mcp.Caller {
	t.Helper()
	return shake(t, &transport.HTTP{URL: listen(t, s)})
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

// control sends a request of the control plane.
func control(t *testing.T, l mcp.Caller, method, params string) {
	t.Helper()
	id := assert.Value(jsonrpc.MakeID("control"))(t)
	assert.OK(t, l.Write(bounded(t), &jsonrpc.Request{ID: id, Method: method, Params: []byte(params)}))
}

// openStream opens an event stream.
func openStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
}

// keepOpen holds an event stream open until the client gives up.
func keepOpen(w http.ResponseWriter, r *http.Request) {
	openStream(w)
	<-r.Context().Done()
}
