package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/pages"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/internal/webguard"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerEvent    = "Last-Event-ID"

	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	// maxBatch bounds the messages of a batch, which revision 2025-03-26 has.
	maxBatch = 100
	// readWithin is how long a client may take to send a body.
	readWithin = 2 * time.Minute
	// writeWithin is how long a client may take to take in what is written.
	writeWithin = 30 * time.Second
	// commentEvery is how often a stream on which nothing happens gets a comment, by which
	// proxies, and this program, see whether the other side is there.
	commentEvery = 30 * time.Second
)

// ServeHTTP serves the streamable HTTP transport of all revisions, and the HTTP with SSE
// of revision 2024-11-05:
//
//	/mcp                all servers
//	/p/{profile}/mcp    a profile
//	/s/{server}/mcp     one server, under its own names
//	/mcp/{mode}         in the mode direct, search or code, as ?mode= says it too
//	/mcp/tools/list     the tools, and
//	/mcp/tools/call     a call, without a session, as HandsAI has them
//	/login/, /approve/, /oauth/callback   the pages on which people log in and approve calls
//	/healthz, /readyz   whether the gateway runs, and whether all servers do
//
// Wherever /mcp stands, so may /mcp/, and /readyz stands below each view.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case nils.Is(w) || w.Header() == nil || r == nil || r.URL == nil:
		return // no server calls it so
	case g.host == nil:
		writeText(w, http.StatusServiceUnavailable, ErrClosed.Error())
		return
	}
	if r.URL.Path == "/healthz" {
		writeText(w, http.StatusOK, "ok")
		return
	}
	if why := webguard.Foreign(r, g.opts.Hosts, g.opts.Origins); why != "" {
		writeText(w, http.StatusForbidden, why)
		return
	}
	if pages.Has(r.URL.Path) {
		g.servePage(w, r)
		return
	}
	webguard.Allow(w, r, "Authorization, Content-Type, Last-Event-ID, X-API-Key, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id", "Mcp-Session-Id, WWW-Authenticate")
	if r.Method == http.MethodOptions {
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if g.opts.Resource != nil && strings.HasPrefix(r.URL.Path, access.MetadataPath) {
		g.opts.Resource.ServeHTTP(w, r)
		return
	}
	caller, may, err := g.authenticate(r)
	anyone := r.URL.Path == "/readyz"
	if err != nil && !anyone {
		g.refused(r, err)
		access.Refuse(w, r, g.opts.Resource, err)
		return
	}
	v, rest := g.viewOf(r.URL.Path)
	known := err == nil && v != nil && may.reaches(v)
	var asked string
	var noMode error
	if known {
		rest, asked, noMode = g.splitMode(rest, r.URL.RawQuery, caller)
	}
	switch {
	case !known && anyone:
		shown{v, g.full}.serveReady(w, false)
		return
	case !known:
		writeText(w, http.StatusNotFound, "no such view")
		return
	case rest == "/readyz":
		shown{v, may}.serveReady(w, true)
		return
	case noMode != nil:
		g.refused(r, noMode)
		status := http.StatusBadRequest
		if wrong := (*modes.Error)(nil); errors.As(noMode, &wrong) {
			status = wrong.Status
		}
		writeText(w, status, noMode.Error())
		return
	}
	if err := g.begin(caller.User); err != nil {
		w.Header().Set("Retry-After", "1")
		writeText(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer g.end(caller.User)
	x := &exchange{shown: shown{v, may}, caller: caller, asked: asked, w: w, r: r, control: http.NewResponseController(w)}
	switch rest {
	case "/mcp", "/mcp/":
		x.serve()
	case "/mcp/tools/list", "/mcp/tools/call":
		x.serveHandsAI(rest)
	default:
		writeText(w, http.StatusNotFound, "no such path")
	}
}

func writeText(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message+"\n")
}

// An exchange is one HTTP request to a view.
type exchange struct {
	shown
	caller  *access.Caller
	asked   string // the mode that the URL names, or none
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
}

func (x *exchange) serve() {
	switch x.r.Method {
	case http.MethodPost:
		x.post()
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	default:
		x.w.Header().Set("Allow", "GET, POST, DELETE")
		writeText(x.w, http.StatusMethodNotAllowed, "use GET, POST or DELETE")
	}
}

// fail answers with an error before, or instead of, a stream.
func (x *exchange) fail(status int, id json.RawMessage, err *mcp.JSONRPCError) {
	x.json(status, message.Response(id, nil, err))
}

func (x *exchange) json(status int, m message.Message) {
	body := m.AppendTo(x.gateway.buffers.Take())
	x.w.Header().Set("Content-Type", typeJSON)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = x.control.SetWriteDeadline(time.Now().Add(writeWithin))
	x.w.WriteHeader(status)
	_, err := x.w.Write(body)
	x.gateway.buffers.GiveBack(body, err)
}

// accepts reports whether the client takes a response of the type.
func (x *exchange) accepts(kind string) bool {
	fields := x.r.Header.Values("Accept")
	if len(fields) == 0 {
		return true
	}
	for _, field := range fields {
		for one := range strings.SplitSeq(field, ",") {
			one, _, _ = strings.Cut(strings.TrimSpace(one), ";")
			main, _, _ := strings.Cut(kind, "/")
			if one == "*/*" || strings.EqualFold(one, kind) || strings.EqualFold(one, main+"/*") {
				return true
			}
		}
	}
	return false
}

// post serves a POST: a message of the client, or a batch of them.
func (x *exchange) post() {
	if kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || kind != typeJSON {
		writeText(x.w, http.StatusUnsupportedMediaType, "the Content-Type has to be application/json")
		return
	}
	if !x.accepts(typeJSON) && !x.accepts(typeEvents) {
		writeText(x.w, http.StatusNotAcceptable, "accept application/json and text/event-stream")
		return
	}
	if x.r.Header.Get(headerEvent) != "" {
		writeText(x.w, http.StatusBadRequest, "Last-Event-ID belongs to a GET")
		return
	}
	body, err := x.readBody()
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			x.fail(http.StatusRequestEntityTooLarge, nil, message.Failure(message.CodeInvalidRequest, "the message has more than %d bytes", large.Limit))
		} else {
			writeText(x.w, http.StatusBadRequest, "the body cannot be read")
		}
		return
	}
	if message.IsBatch(body) {
		x.batch(body)
		return
	}
	m, err := jsonscan.Scan(body)
	if err != nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeParse, "the message cannot be read: %v", err))
		return
	}
	if failed := message.Check(&m); failed != nil {
		x.fail(http.StatusBadRequest, message.ValidOr(m.ID), failed)
		return
	}
	revision := x.r.Header.Get(headerRevision)
	if says := message.Member(m.Params, "_meta", protocol.MetaVersion); says != nil || revision >= protocol.Revision20260728 {
		x.postModern(&m)
		return
	}
	if m.Method == protocol.Initialize && !m.IsResponse() && !x.r.URL.Query().Has("sessionId") {
		x.initialize(&m)
		return
	}
	s := x.session()
	if s == nil {
		return
	}
	switch {
	case s.calls != nil:
		x.postSSE(s, &m)
	case m.IsResponse():
		s.answered(&m)
		x.w.WriteHeader(http.StatusAccepted)
	case m.ID == nil:
		s.noted(&m)
		x.w.WriteHeader(http.StatusAccepted)
	default:
		x.answer(s, &m)
	}
}

// readBody reads a body of bounded size, in bounded time, into memory of its own. It takes little memory for what is
// announced, and more as it comes.
func (x *exchange) readBody() (body []byte, err error) {
	n, most := x.r.ContentLength, x.gateway.opts.MaxMessage
	if n > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	_ = x.control.SetReadDeadline(time.Now().Add(readWithin))
	defer func() {
		if err == nil { // else the server would wait for the rest
			_ = x.control.SetReadDeadline(time.Time{})
		}
	}()
	limited := http.MaxBytesReader(nil, x.r.Body, most)
	if n >= 0 && n <= 64<<10 {
		body = make([]byte, n)
		_, err = io.ReadFull(limited, body)
		return body, err
	}
	grows := bytes.NewBuffer(x.gateway.buffers.Take())
	grows.Grow(64 << 10)
	_, err = grows.ReadFrom(limited)
	if body = grows.Bytes(); len(body) <= message.MostBuffer {
		body = bytes.Clone(body)
		x.gateway.buffers.GiveBack(grows.Bytes(), err)
	}
	return body, err
}

// session returns the session that the request names. If there is none it answers and returns nil.
func (x *exchange) session() *clientSession {
	if v := x.r.Header.Get(headerRevision); v != "" && !slices.Contains(sessionRevisions(), v) {
		x.fail(http.StatusBadRequest, nil, unsupported(v))
		return nil
	}
	id := x.r.Header.Get(headerSession)
	if id == "" {
		id = x.r.URL.Query().Get("sessionId") // of revision 2024-11-05
	}
	if id == "" {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "the Mcp-Session-Id field is missing: begin with initialize"))
		return nil
	}
	g := x.gateway
	g.mu.Lock()
	s := g.sessions[id]
	g.mu.Unlock()
	if s == nil || !s.peer.isOf(x.caller) || s.peer.view != x.view {
		x.fail(http.StatusNotFound, nil, message.Failure(-32001, "Session not found"))
		return nil
	}
	s.may.Store(x.may)
	return s
}

// peerOf returns the client of a session with what it may by this request.
func (x *exchange) peerOf(s *clientSession) *peer {
	if s.peer.may == x.may {
		return s.peer
	}
	p := *s.peer
	p.shown, p.caller = x.shown, x.caller
	return &p
}

func unsupported(revision string) *mcp.JSONRPCError {
	e := message.Failure(message.CodeRevision, "protocol revision %.50q is not supported", revision)
	e.Data = message.Marshal(map[string]any{"supported": allRevisions(), "requested": revision})
	return e
}

// initialize begins a session.
func (x *exchange) initialize(m *jsonscan.Message) {
	if m.ID == nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "initialize is a request: the id is missing"))
		return
	}
	p := x.newPeer(x.caller, m.Params).from(x.r)
	p.choose(x.asked)
	s, failed := x.newSession(p, nil)
	if failed != nil {
		x.w.Header().Set("Retry-After", "10")
		x.fail(http.StatusServiceUnavailable, m.ID, failed)
		return
	}
	x.w.Header().Set(headerSession, s.id)
	x.json(http.StatusOK, message.Response(m.ID, x.initializeResult(s.peer.revision), nil))
}

// newSession adds a session. Posted is the stream of a client that has one connection.
func (x *exchange) newSession(p *peer, posted *stream.Stream) (*clientSession, *mcp.JSONRPCError) {
	g := x.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining || len(g.sessions) >= g.opts.MaxSessions {
		return nil, message.Failure(message.CodeBusy, "the gateway has %d sessions, and takes no more", len(g.sessions))
	}
	if g.sessionOf.full(p.caller.User, g.opts.MaxSessions) {
		return nil, message.Failure(message.CodeBusy, "the user has %d sessions, and may have no more", g.sessionOf[p.caller.User])
	}
	s := newSession(x.gateway.opts.newPlacedID(), p)
	if posted != nil {
		s.posted, s.calls = posted, new(sync.WaitGroup)
	}
	g.sessions[s.id] = s
	g.sessionOf.add(p.caller.User, 1)
	return s, nil
}

// removeLocked forgets a session, and returns it; nil if there is none.
func (g *Gateway) removeLocked(id string) *clientSession {
	s := g.sessions[id]
	if s != nil {
		delete(g.sessions, id)
		g.sessionOf.add(s.peer.caller.User, -1)
	}
	return s
}

// endSession forgets a session, and ends it.
func (g *Gateway) endSession(id string) {
	g.mu.Lock()
	s := g.removeLocked(id)
	g.mu.Unlock()
	if s != nil {
		s.end()
	}
}

// newPeer returns the client that made an initialize request.
func (v shown) newPeer(caller *access.Caller, params json.RawMessage) *peer {
	asked, _ := message.Text(params, "protocolVersion")
	return &peer{
		shown: v, caller: caller, revision: agreedRevision(asked),
		client: implementationOf(message.Member(params, "clientInfo")),
		can:    abilitiesOf(message.Member(params, "capabilities")),
	}
}

// noted takes a notification of the client.
func (s *clientSession) noted(m *jsonscan.Message) {
	if m.Method == protocol.NoteCancelled {
		s.cancelled(m.Params)
	}
}

// delete ends a session.
func (x *exchange) delete() {
	s := x.session()
	if s == nil {
		return
	}
	x.gateway.endSession(s.id)
	x.w.WriteHeader(http.StatusNoContent)
}

// answer answers a request of a session.
func (x *exchange) answer(s *clientSession, m *jsonscan.Message) {
	under, failed := s.enter(m.ID)
	if failed != nil {
		x.fail(http.StatusBadRequest, m.ID, failed)
		return
	}
	defer s.leave(m.ID, under)
	out := stream.New(newID())
	if !x.accepts(typeEvents) {
		out = s.listen() // what cannot be said in the answer
	}
	reader := 0
	if x.accepts(typeEvents) {
		reader, _ = out.Attach(-1)
		defer out.Detach(reader)
	}
	r := x.peerOf(s).newRequest(m, out)
	r.under = under
	j, result, failed := r.serve(x.r.Context())
	switch {
	case j != nil:
		x.await(r, j, reader, under)
		return
	case under.ctx.Err() != nil:
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	x.finish(r, x.open(r, reader), message.Response(m.ID, result, failed), http.StatusOK)
}

// open begins the stream of an answer, if it is one: in revision 2025-11-25, where a client
// can resume a stream that it has lost.
func (x *exchange) open(r *request, reader int) *eventWriter {
	if reader == 0 || r.peer.revision < newestSession {
		return nil
	}
	return x.openEvents(r, reader)
}
