//go:build unix

package transporttest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// socketKey finds the socket in the context of a request.
type socketKey struct{}

// listen starts a server whose handlers can reach the socket, and whose connections can go dark.
func listen(h http.Handler) (*httptest.Server, *darkListener) {
	s := httptest.NewUnstartedServer(h)
	l := &darkListener{Listener: s.Listener, dark: make(chan struct{})}
	s.Listener = l
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, socketKey{}, c.(*darkConn).Conn)
	}
	s.Start()
	return s, l
}

// A response is the outlet of one HTTP request.
type response struct {
	sync.Mutex
	w       http.ResponseWriter
	r       *http.Request
	streams bool // it is an event stream
	begun   bool
}

func (o *response) frame(message string) string {
	if o.streams {
		return event(message)
	}
	return message
}

func event(message string) string { return "event: message\ndata: " + message + "\n\n" }

func (o *response) raw(text string) error {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "application/json")
		if o.streams {
			o.w.Header().Set("Content-Type", "text/event-stream")
		}
	}
	if _, err := io.WriteString(o.w, text); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}

func (o *response) cut(reset bool)        { cut(o.r, reset) }
func (o *response) gone() <-chan struct{} { return o.r.Context().Done() }

func (o *response) decide(refusal http.HandlerFunc) {
	if refusal != nil {
		refusal(o.w, o.r)
	}
}

// cut closes the socket of a request.
func cut(r *http.Request, reset bool) {
	socket, _ := r.Context().Value(socketKey{}).(*net.TCPConn)
	if reset {
		_ = socket.SetLinger(0)
	}
	_ = socket.Close()
}

// A streamable is a victim that speaks streamable HTTP.
type streamable struct {
	*victim
	sessionsMu sync.Mutex
	sessions   map[string]bool
	last       int
}

func (s *streamable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	session := r.Header.Get("Mcp-Session-Id")
	m, _ := jsonscan.Scan(body)
	switch {
	case s.turned.Load() && s.foreign(r, m.Method):
		s.turnAway(w, string(m.ID))
	case session != "" && !s.knows(session):
		s.lost(w, r)
	case r.Method == http.MethodGet && s.plan.Deed == "401 get":
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodDelete:
	case m.ID == nil || m.Method == "":
		s.serve(body, &response{w: w, r: r})
		w.WriteHeader(http.StatusAccepted)
	default:
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", s.begin())
		}
		s.serve(body, &response{w: w, r: r, streams: s.plan.Stream})
	}
}

func (s *streamable) begin() string {
	s.sessionsMu.Lock()
	defer s.sessionsMu.Unlock()
	s.last++
	id := fmt.Sprint("session-", s.last)
	s.sessions[id] = true
	return id
}

func (s *streamable) knows(session string) bool {
	s.sessionsMu.Lock()
	defer s.sessionsMu.Unlock()
	return s.sessions[session]
}

// lost answers a request that names an unknown session, in one of the ways that
// servers have.
func (s *streamable) lost(w http.ResponseWriter, _ *http.Request) {
	switch s.plan.Deed {
	case "session lost, 404 with id null":
		reply(w, http.StatusNotFound, failure("null", -32001, "Session not found"))
	case "session lost, 404 with id server-error":
		reply(w, http.StatusNotFound, failure(`"server-error"`, -32600, "Session not found"))
	case "session lost, 400":
		reply(w, http.StatusBadRequest, failure("null", -32000, "Bad Request: No valid session ID provided"))
	default:
		http.Error(w, "no such session", http.StatusNotFound)
	}
}

// reply answers in JSON, or with a status alone.
func reply(w http.ResponseWriter, status int, text string) {
	if text != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// foreign reports whether a request is of another revision than the victim speaks.
func (s *streamable) foreign(r *http.Request, method string) bool {
	if s.revision() == mcp.Revision20260728 {
		return r.Header.Get("Mcp-Protocol-Version") != mcp.Revision20260728
	}
	return method != "initialize" && !s.knows(r.Header.Get("Mcp-Session-Id"))
}

// turnAway answers a request of another revision, in one of the ways that servers have.
func (v *victim) turnAway(w http.ResponseWriter, id string) {
	status, text := http.StatusBadRequest, ""
	switch v.plan.Deed {
	case "revision turns, 400 with an error":
		if text = failure(id, -32000, "Bad Request: Server not initialized"); v.revision() == mcp.Revision20260728 {
			text = failure(id, -32022, "unsupported protocol version")
		}
	case "revision turns, 404 with -32601":
		status, text = http.StatusNotFound, failure(id, -32601, "method not found")
	case "revision turns, 200 with -32601":
		status, text = http.StatusOK, failure(id, -32601, "method not found")
	case "revision turns, 405":
		status = http.StatusMethodNotAllowed
	}
	if id == "" {
		text = ""
	}
	reply(w, status, text)
}

// refusal returns what answers the call without an answer of MCP, if the plan
// wants that.
func (v *victim) refusal(c *call) http.HandlerFunc {
	refused := func(status int, field, value string) http.HandlerFunc {
		v.ledger.note(c.nonce, "refused")
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(field, value); w.WriteHeader(status) }
	}
	switch deed := v.plan.Deed; {
	case deed == "401":
		return refused(http.StatusUnauthorized, "WWW-Authenticate", "Bearer")
	case deed == "429":
		return refused(http.StatusTooManyRequests, "Retry-After", "1")
	case deed == "503":
		return refused(http.StatusServiceUnavailable, "X", "")
	case deed == "redirect":
		return refused(http.StatusTemporaryRedirect, "Location", v.canary)
	case deed == "500":
		c.run()
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	case deed == "html":
		c.run()
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Welcome to the hotel's network</html>")
		}
	case deed == "gzip":
		c.run()
		return func(w http.ResponseWriter, _ *http.Request) { bomb(w, c) }
	case strings.HasPrefix(deed, "session lost"):
		v.ledger.note(c.nonce, "refused")
		return v.forget
	case strings.HasPrefix(deed, "revision turns"):
		v.ledger.note(c.nonce, "refused")
		v.turned.Store(true)
		return func(w http.ResponseWriter, _ *http.Request) { v.turnAway(w, c.id) }
	}
	return nil
}

// bomb writes a short body that decodes to a long one.
func bomb(w http.ResponseWriter, c *call) {
	var body bytes.Buffer
	z, _ := gzip.NewWriterLevel(&body, gzip.BestSpeed)
	_, _ = io.WriteString(z, answer(c.id, doneResult(c.nonce, 4<<20)))
	_ = z.Close()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(body.Bytes())
}

// An sse is a victim that speaks HTTP+SSE.
type sse struct {
	*victim
	streamsMu sync.Mutex
	streams   map[string]*stream
	last      int
}

// A stream is the event stream of one client.
type stream struct {
	sync.Mutex
	w    http.ResponseWriter
	r    *http.Request
	over bool
}

func (o *stream) frame(message string) string { return event(message) }
func (o *stream) cut(reset bool)              { cut(o.r, reset) }
func (o *stream) gone() <-chan struct{}       { return o.r.Context().Done() }

func (o *stream) raw(text string) error {
	if o.over {
		return net.ErrClosed
	}
	if _, err := io.WriteString(o.w, text); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}

// A posted is the outlet of one request that was posted.
type posted struct {
	*stream
	decided chan http.HandlerFunc
}

func (o *posted) decide(refusal http.HandlerFunc) { o.decided <- refusal }

func (s *sse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.hold(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	s.streamsMu.Lock()
	o := s.streams[r.URL.Query().Get("s")]
	s.streamsMu.Unlock()
	if err != nil || o == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	m, _ := jsonscan.Scan(body)
	if m.Method != "tools/call" {
		s.victim.serve(body, o)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	p := &posted{o, make(chan http.HandlerFunc, 1)}
	s.posts.Go(func() { s.victim.serve(body, p) })
	if refusal := <-p.decided; refusal != nil {
		refusal(w, r)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// hold keeps an event stream open until the client leaves.
func (s *sse) hold(w http.ResponseWriter, r *http.Request) {
	o := &stream{w: w, r: r}
	s.streamsMu.Lock()
	s.last++
	id := fmt.Sprint(s.last)
	s.streams[id] = o
	s.streamsMu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	o.Lock()
	_ = o.raw("event: endpoint\ndata: /?s=" + id + "\n\n")
	o.Unlock()
	<-r.Context().Done()
	s.streamsMu.Lock()
	delete(s.streams, id)
	s.streamsMu.Unlock()
	o.Lock()
	o.over = true
	o.Unlock()
}

// revisions are what a test speaks over the wire.
func revisions(w wire) []string {
	if w == overSSE {
		return []string{mcp.Revision20251125}
	}
	return []string{mcp.Revision20251125, mcp.Revision20260728}
}
