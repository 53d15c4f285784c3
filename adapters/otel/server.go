package otel

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server records what a server of the official SDK is asked, and what it asks of its
// clients. A span continues the trace of the request's _meta; without one that of
// the context or, if there is none either, of the HTTP request's header.
//
// For each session that begins with a handshake one goroutine waits for its end. Call
// Server once for a server, after other middleware was added, so that it is the
// outermost.
func (t *Telemetry) Server(server *sdk.Server) {
	s := &served{t: t, sessions: make(map[sdk.Session]string)}
	server.AddReceivingMiddleware(s.receive)
	server.AddSendingMiddleware(s.send)
}

// A served is a server that is recorded.
type served struct {
	t *Telemetry

	mu       sync.Mutex
	sessions map[sdk.Session]string // the revisions that they speak
}

// receive is the middleware for what comes.
func (s *served) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		t := s.t
		f, name := s.facts(method, req, true)
		ctx, opts := s.parent(ctx, req)
		metered := t.serverRequests
		var o *operation
		if quiet(method) {
			o = t.unseen(f, metered)
		} else {
			ctx, o = t.begin(ctx, name, trace.SpanKindServer, f, metered, opts...)
		}
		done := fate{kind: "panic"}
		defer func() { t.end(ctx, o, o.began, done) }()
		res, err := next(ctx, method, req)
		done = t.served(o, res, err)
		if most := t.room(done, err); most > 0 {
			if target := t.learn(&o.facts, "", most); target != "" {
				o.span.SetName(name + " " + target)
			}
		}
		if greeting, ok := res.(*sdk.InitializeResult); ok && err == nil {
			if greeting != nil && isRevision(greeting.ProtocolVersion) {
				var f facts
				t.both(&f, keyProtocol.String(greeting.ProtocolVersion))
				o.span.SetAttributes(f.span...)
				o.facts.metric = append(o.facts.metric, f.metric...)
				s.began(req, greeting.ProtocolVersion)
			}
		}
		return res, err
	}
}

// send is the middleware for what goes out.
func (s *served) send(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		t := s.t
		f, name := s.facts(method, req, false)
		var o *operation
		if quiet(method) {
			o = t.unseen(f, t.clientRequests)
		} else {
			ctx, o = t.begin(ctx, name, trace.SpanKindClient, f, t.clientRequests)
		}
		done := fate{kind: "panic"}
		defer func() { t.end(ctx, o, o.began, done) }()
		res, err := next(ctx, method, t.carrying(ctx, req))
		done = fateOf(err)
		return res, err
	}
}

// room returns how many names may be told apart with the one in a request, which the
// client may have made up. A call that was refused as of something unknown adds none.
// One that has failed may have been refused before the name was looked up, so
// that half the room is not for it.
func (t *Telemetry) room(done fate, err error) int {
	switch {
	case err == nil:
		return t.names.max
	case done.code == "-32602" || done.code == "-32601" || done.code == "-32002":
		return 0
	}
	return t.names.max / 2
}

// served returns the fate of what was asked of a server, and records its result.
func (t *Telemetry) served(o *operation, res sdk.Result, err error) fate {
	call, ok := res.(*sdk.CallToolResult)
	if !ok || call == nil || err != nil {
		return fateOf(err)
	}
	if t.allowed[ToolResult] && o.span.IsRecording() {
		if raw, err := call.MarshalJSON(); err == nil {
			o.span.SetAttributes(ToolResult.String(t.json(raw)))
		}
	}
	if call.IsError {
		return fate{kind: toolError}
	}
	return fate{}
}

// facts returns what is known of a request at its beginning, and the name of its
// span. The method is one that the server knows: the SDK lets no other through.
func (s *served) facts(method string, req sdk.Request, wary bool) (f facts, name string) {
	t := s.t
	f = newFacts()
	name = t.method(&f, "", method)
	f.wary = wary
	if target := t.target(&f, "", method, about{req.GetParams()}, executed{}); target != "" {
		name += " " + target
	}
	s.connection(&f, req)
	return f, name
}

// about is the subject of a request of the official SDK, by its params.
type about struct{ params sdk.Params }

func (a about) name() string {
	switch p := a.params.(type) {
	case *sdk.CallToolParamsRaw:
		if p != nil {
			return p.Name
		}
	case *sdk.GetPromptParams:
		if p != nil {
			return p.Name
		}
	}
	return ""
}

func (a about) uri() string {
	switch p := a.params.(type) {
	case *sdk.ReadResourceParams:
		if p != nil {
			return p.URI
		}
	case *sdk.SubscribeParams:
		if p != nil {
			return p.URI
		}
	case *sdk.UnsubscribeParams:
		if p != nil {
			return p.URI
		}
	case *sdk.ResourceUpdatedNotificationParams:
		if p != nil {
			return p.URI
		}
	}
	return ""
}

func (a about) arguments() []byte {
	if p, ok := a.params.(*sdk.CallToolParamsRaw); ok && p != nil {
		return p.Arguments
	}
	return nil
}

// connection adds what is known of the connection of a request.
func (s *served) connection(f *facts, req sdk.Request) {
	t := s.t
	session := req.GetSession()
	s.mu.Lock()
	version := s.sessions[session]
	s.mu.Unlock()
	if own, ok := metaOf(req)[sdk.MetaKeyProtocolVersion].(string); ok {
		version = own
	}
	if isRevision(version) {
		t.both(f, keyProtocol.String(version))
	}
	id := session.ID()
	if id != "" {
		t.detail(f, SessionID.String(cut(id, maxName)))
	}
	if extra := req.GetExtra(); id != "" || extra != nil && extra.Header != nil {
		t.both(f, keyTransport.String("tcp"))
		t.both(f, keyNetwork.String("http"))
	} else {
		t.both(f, keyTransport.String("pipe"))
	}
}

// parent returns the context for the span of a request, with what the propagator
// reads for it.
func (s *served) parent(ctx context.Context, req sdk.Request) (context.Context, []trace.SpanStartOption) {
	around := trace.SpanContextFromContext(ctx)
	var header carrier
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		header = headerOf(extra.Header)
	}
	if in := s.t.propagate.Extract(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), metaCarrier(metaOf(req))); trace.SpanContextFromContext(in).IsValid() {
		if !around.IsValid() && header != nil {
			around = trace.SpanContextFromContext(s.t.propagate.Extract(context.Background(), header))
		}
		if !around.IsValid() || around.Equal(trace.SpanContextFromContext(in)) {
			return in, nil
		}
		return in, []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: around})}
	}
	if !around.IsValid() && header != nil {
		ctx = s.t.propagate.Extract(ctx, header)
	}
	return ctx, nil
}

// metaOf returns _meta of a request, or nil.
func metaOf(req sdk.Request) map[string]any {
	p := req.GetParams()
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return p.GetMeta()
}

// carrying returns a request with the context of the trace in _meta. It is a copy:
// the params are the caller's.
func (t *Telemetry) carrying(ctx context.Context, req sdk.Request) sdk.Request {
	meta := maps.Clone(metaOf(req))
	if meta == nil {
		meta = make(map[string]any)
	}
	_, own := meta[traceParent]
	before := len(meta)
	if !own {
		t.propagate.Inject(ctx, metaCarrier(meta))
	}
	old := reflect.ValueOf(req)
	if len(meta) == before || old.Kind() != reflect.Pointer || old.IsNil() {
		return req
	}
	whole := reflect.New(old.Type().Elem())
	whole.Elem().Set(old.Elem())
	field := whole.Elem().FieldByName("Params")
	if !field.IsValid() {
		return req
	}
	theirs := field
	if theirs.Kind() == reflect.Interface {
		theirs = theirs.Elem()
	}
	if theirs.Kind() != reflect.Pointer || theirs.IsNil() {
		return req // there is nothing to put it into
	}
	params := reflect.New(theirs.Type().Elem())
	params.Elem().Set(theirs.Elem())
	field.Set(params)
	p, ok := params.Interface().(sdk.Params)
	if !ok {
		return req
	}
	p.SetMeta(meta)
	if changed, ok := whole.Interface().(sdk.Request); ok {
		return changed
	}
	return req
}

// began notes a session, and waits for its end on a goroutine of its own.
func (s *served) began(req sdk.Request, version string) {
	session, ok := req.GetSession().(*sdk.ServerSession)
	if !ok {
		return
	}
	began := time.Now()
	s.mu.Lock()
	_, twice := s.sessions[session]
	s.sessions[session] = version
	s.mu.Unlock()
	if twice {
		return
	}
	var f facts
	s.connection(&f, req)
	go func() {
		err := session.Wait()
		s.mu.Lock()
		delete(s.sessions, session)
		s.mu.Unlock()
		s.t.addFate(&f, fateOf(err))
		s.t.serverSessions.Record(context.Background(), time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(f.metric...)))
	}()
}
