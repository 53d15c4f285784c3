package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/pages"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/quota"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/internal/scratch"
	"github.com/mcpbelt/mcpbelt/internal/webguard"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
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

// ServeHTTP serves the streamable HTTP transport of all revisions:
//
//	/mcp                all servers
//	/p/{profile}/mcp    a profile
//	/s/{server}/mcp     one server, under its own names
//	/mcp/{mode}         in the mode direct, search or code
//	/mcp/tools/list     the tools, and
//	/mcp/tools/call     a call, without a session, as HandsAI has them
//	/login/, /approve/, /oauth/callback   the pages on which people log in and approve calls
//	/healthz, /readyz   whether the gateway runs, and whether all servers do
//
// Wherever /mcp stands, so may /mcp/, and /readyz stands below each view.
//
// Who makes a request is known before its body is read. The [http.Server] of the program has to bound what comes
// before that: set its ReadHeaderTimeout and IdleTimeout, to a minute or less.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case nils.Is(w) || w.Header() == nil || r == nil || r.URL == nil: // no server calls it so
		return
	case g.host == nil:
		writeText(w, http.StatusServiceUnavailable, ErrClosed.Error())
		return
	case r.URL.Path == "/healthz":
		writeText(w, http.StatusOK, "ok")
		return
	}
	foreign, isPage := webguard.Foreign(r, g.opts.Hosts, g.opts.Origins), pages.Has(r.URL.Path)
	if foreign == "" && !isPage {
		webguard.Allow(w, r, "Authorization, Content-Type, Last-Event-ID, X-API-Key, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id", "Mcp-Session-Id, WWW-Authenticate")
	}
	switch {
	case foreign != "":
		w.Header().Set("Connection", "close")
		writeText(w, http.StatusForbidden, foreign)
	case isPage:
		g.servePage(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		w.WriteHeader(http.StatusNoContent)
	case g.opts.Resource != nil && strings.HasPrefix(r.URL.Path, access.MetadataPath):
		g.opts.Resource.ServeHTTP(w, r)
	default:
		g.serveView(w, r)
	}
}

// Admits reports whether the caller of a request to a view may make it, and returns [access.Caller.Owner]. It leaves the
// body alone, and is for handlers that read that before [Gateway.ServeHTTP] does, such as those of package replica.
func (g *Gateway) Admits(r *http.Request) (owner string, ok bool) {
	if g.host == nil || r == nil || r.URL == nil || webguard.Foreign(r, g.opts.Hosts, g.opts.Origins) != "" || pages.Has(r.URL.Path) {
		return "", false
	}
	caller, may, err := g.authenticate(r)
	if v, _ := g.viewOf(r.URL.Path); err != nil || v == nil || !may.reaches(v) {
		return "", false
	}
	return caller.Owner(), true
}

// serveView serves a request to a view, if its caller may make that.
func (g *Gateway) serveView(w http.ResponseWriter, r *http.Request) {
	caller, may, err := g.authenticate(r)
	v, rest := g.viewOf(r.URL.Path)
	known := err == nil && v != nil && may.reaches(v)
	switch {
	case r.URL.Path == "/readyz" && !known: // of all servers, for anyone
		shown{v, g.full}.serveReady(w, false)
	case err != nil:
		g.refused(r, err)
		access.Refuse(w, r, g.opts.Resource, err)
	case !known:
		writeText(w, http.StatusNotFound, "no such view")
	case rest == "/readyz":
		shown{v, may}.serveReady(w, true)
	default:
		x := &exchange{shown: shown{v, may}, caller: caller, w: w, r: r, control: http.NewResponseController(w)}
		x.serve(rest)
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
	read    int    // bytes of its body
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
}

// endpoints are what a view serves, by the path below it and the HTTP method.
var endpoints = map[string]map[string]func(*exchange){
	"/mcp":            {http.MethodPost: (*exchange).post, http.MethodGet: (*exchange).get, http.MethodDelete: (*exchange).delete},
	"/mcp/tools/list": {http.MethodGet: (*exchange).listForHandsAI},
	"/mcp/tools/call": {http.MethodPost: (*exchange).callForHandsAI},
}

// serve serves a request to a path below the view.
func (x *exchange) serve(path string) {
	g := x.gateway
	for name, values := range x.r.Header { // a proxy may take another one than we do
		if len(values) > 1 && strings.HasPrefix(name, "Mcp-") {
			x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeHeader, "there are several %s fields", name))
			return
		}
	}
	var err error
	if path == "/mcp" || endpoints[path] == nil { // the others have no modes
		path, x.asked, err = g.splitMode(path, x.may.mode)
	}
	methods := endpoints[path]
	switch serve := methods[x.r.Method]; {
	case err != nil:
		g.refused(x.r, err)
		status := http.StatusBadRequest
		if x.asked != "" { // by the path
			status = http.StatusNotFound
		}
		writeText(x.w, status, err.Error())
	case methods == nil:
		writeText(x.w, http.StatusNotFound, "no such path")
	case serve == nil:
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		x.w.Header().Set("Allow", allowed)
		writeText(x.w, http.StatusMethodNotAllowed, "use one of "+allowed)
	default:
		if err := g.begin(x.caller.Owner()); err != nil {
			x.w.Header().Set("Retry-After", "1")
			writeText(x.w, http.StatusServiceUnavailable, err.Error())
			return
		}
		defer func() { g.end(x.caller.Owner(), x.read) }()
		serve(x)
	}
}

// fail answers with an error before, or instead of, a stream.
func (x *exchange) fail(status int, id json.RawMessage, err *mcp.JSONRPCError) {
	x.json(status, message.Response(id, nil, err))
}

func (x *exchange) json(status int, m message.Message) {
	body := m.AppendTo(scratch.Get(0))
	defer scratch.Put(body)
	x.w.Header().Set("Content-Type", typeJSON)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = x.control.SetWriteDeadline(time.Now().Add(writeWithin))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// accepts reports whether the client takes a response of the type.
func (x *exchange) accepts(kind string) bool {
	fields := x.r.Header.Values("Accept")
	main, _, _ := strings.Cut(kind, "/")
	for one := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		one, _, _ = strings.Cut(strings.TrimSpace(one), ";")
		if one == "*/*" || strings.EqualFold(one, kind) || strings.EqualFold(one, main+"/*") {
			return true
		}
	}
	return len(fields) == 0
}

// post serves a POST: a message of the client, or a batch of them.
func (x *exchange) post() {
	kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != typeJSON:
		writeText(x.w, http.StatusUnsupportedMediaType, "the Content-Type has to be application/json")
	case !x.accepts(typeJSON) && !x.accepts(typeEvents):
		writeText(x.w, http.StatusNotAcceptable, "accept application/json and text/event-stream")
	case x.r.Header.Get(protocol.HeaderEvent) != "":
		writeText(x.w, http.StatusBadRequest, "Last-Event-ID belongs to a GET")
	default:
		body, ok := x.readBody()
		if ok && message.IsBatch(body) {
			x.batch(body)
		} else if ok {
			x.take(body)
		}
	}
}

// scan reads a message. If it is none, scan answers, and ok is false.
func (x *exchange) scan(body []byte) (m jsonscan.Message, ok bool) {
	m, id, failed := message.Read(body)
	if failed != nil {
		x.fail(http.StatusBadRequest, id, failed)
	}
	return m, failed == nil
}

// take serves a message.
func (x *exchange) take(body []byte) {
	m, ok := x.scan(body)
	switch {
	case !ok:
	case jsonscan.Member(m.Params, "_meta", protocol.MetaVersion) != nil || protocol.IsStateless(x.r.Header.Get(protocol.HeaderVersion)):
		x.postModern(&m)
	case m.Method == protocol.Initialize && !m.IsResponse():
		x.initialize(&m)
	default:
		s := x.session()
		if s != nil && s.took(&m) {
			x.w.WriteHeader(http.StatusAccepted)
		} else if s != nil {
			x.answer(s, &m)
		}
	}
}

// readBody reads a body of bounded size, in bounded time. It takes no memory for what is only announced. If it cannot be read, readBody answers, and ok is false.
func (x *exchange) readBody() (data []byte, ok bool) {
	n, most := x.r.ContentLength, x.gateway.limits.MaxMessage
	_ = x.control.SetReadDeadline(time.Now().Add(readWithin))
	var err error
	if n <= most {
		data, err = scratch.ReadAll(bodyReader{x, http.MaxBytesReader(nil, x.r.Body, most)}, 0)
	}
	switch large := (*http.MaxBytesError)(nil); {
	case n > most || errors.As(err, &large):
		x.fail(http.StatusRequestEntityTooLarge, nil, message.Failure(message.CodeInvalidRequest, "the message has more than %d bytes", most))
		return nil, false
	case errors.Is(err, quota.ErrTooMany):
		x.w.Header().Set("Retry-After", "1")
		writeText(x.w, http.StatusServiceUnavailable, err.Error())
		return nil, false
	case err != nil:
		writeText(x.w, http.StatusBadRequest, "the body cannot be read")
		return nil, false
	}
	_ = x.control.SetReadDeadline(time.Time{}) // else the server would wait for the rest
	return data, true
}

// A bodyReader reads a body as far as there is room for it.
type bodyReader struct {
	x    *exchange
	body io.Reader
}

func (b bodyReader) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	g := b.x.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if full := g.bodies.Take(b.x.caller.Owner(), n, "bytes are under way"); full != nil {
		return 0, full
	}
	b.x.read += n
	return n, err
}

// session returns the session that the request names. If there is none it answers and returns nil.
func (x *exchange) session() *clientSession {
	id, revision := x.r.Header.Get(protocol.HeaderSession), x.r.Header.Get(protocol.HeaderVersion)
	g := x.gateway
	g.mu.Lock()
	s := g.sessions[id]
	g.mu.Unlock()
	switch {
	case revision != "" && !slices.Contains(protocol.SessionVersions(), revision):
		x.fail(http.StatusBadRequest, nil, unsupported(revision))
	case id == "":
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "the Mcp-Session-Id field is missing: begin with initialize"))
	case s == nil || s.piped || !s.peer.isOf(x.caller) || s.peer.view != x.view:
		x.fail(http.StatusNotFound, nil, message.Failure(-32001, "Session not found"))
	default:
		s.may.Store(x.may)
		return s
	}
	return nil
}

// peerOf returns the client of a session with what it may by this request.
func (x *exchange) peerOf(s *clientSession) *peer {
	p := *s.peer
	p.shown, p.caller = x.shown, x.caller
	return &p
}

func unsupported(revision string) *mcp.JSONRPCError {
	e := message.Failure(message.CodeRevision, "protocol revision %.50q is not supported", revision)
	e.Data = message.Marshal(map[string]any{"supported": protocol.Versions(), "requested": revision})
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
	s, err := x.gateway.addSession(p, nil)
	if err != nil {
		x.w.Header().Set("Retry-After", "10")
		x.fail(http.StatusServiceUnavailable, m.ID, message.Failure(message.CodeBusy, "%v", err))
		return
	}
	x.w.Header().Set(protocol.HeaderSession, s.id)
	x.json(http.StatusOK, message.Response(m.ID, x.initializeResult(p.revision), nil))
}

// addSession begins a session, over HTTP or, with all that is said to it, of a connection.
func (g *Gateway) addSession(p *peer, said *stream.Stream) (*clientSession, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if said == nil {
		if g.serving.Err() != nil {
			return nil, ErrClosed
		}
		if err := g.opened.Take(p.caller.Owner(), 1, "sessions are open"); err != nil {
			return nil, err
		}
	}
	s := newSession(g.opts.newPlacedID(), p, said)
	g.sessions[s.id] = s
	return s, nil
}

// endSession forgets a session, and ends it.
func (g *Gateway) endSession(id string) {
	g.mu.Lock()
	s := g.sessions[id]
	delete(g.sessions, id)
	if s != nil && !s.piped {
		g.opened.Give(s.peer.caller.Owner(), 1)
	}
	g.mu.Unlock()
	if s != nil {
		s.end()
	}
}

// newPeer returns the client that made an initialize request.
func (v shown) newPeer(caller *access.Caller, params json.RawMessage) *peer {
	revision, _ := message.Text(params, "protocolVersion")
	if !slices.Contains(protocol.SessionVersions(), revision) {
		revision = protocol.NewestSession()
	}
	return &peer{
		shown: v, caller: caller, revision: revision,
		client: implementationOf(jsonscan.Member(params, "clientInfo")),
		can:    abilitiesOf(jsonscan.Member(params, "capabilities")),
	}
}

// delete ends a session.
func (x *exchange) delete() {
	if s := x.session(); s != nil {
		x.gateway.endSession(s.id)
		x.w.WriteHeader(http.StatusNoContent)
	}
}

// answer answers a request of a session.
func (x *exchange) answer(s *clientSession, m *jsonscan.Message) {
	out := stream.New(newID())
	if !x.accepts(typeEvents) {
		out = s.listen() // what cannot be said in the answer
	}
	r := x.peerOf(s).newRequest(m, message.ParamsOf(m.Params), out)
	if failed := r.enter(); failed != nil {
		x.fail(http.StatusBadRequest, m.ID, failed)
		return
	}
	x.await(r)
}
