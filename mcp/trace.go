package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

var errBrokenOff = errors.New("the request was broken off by a panic")

// A tracing is the tracer of a client.
type tracing struct {
	tracer  Tracer
	retry   RetryTracer   // nil if it is none
	session SessionTracer // nil if it is none
	broken  func(what string, panicked any)
}

func newTracing(server string, o *ClientOptions) *tracing {
	if o.Tracer == nil {
		return nil
	}
	t := &tracing{tracer: o.Tracer}
	t.retry, _ = o.Tracer.(RetryTracer)
	t.session, _ = o.Tracer.(SessionTracer)
	t.broken = func(what string, panicked any) {
		o.Logger.Error("mcp: the tracer panicked", "server", server, "in", what, "panic", panicked)
	}
	return t
}

func (t *tracing) guard(what string) {
	if p := recover(); p != nil {
		t.broken(what, p)
	}
}

func (t *tracing) start(ctx context.Context, r *RequestInfo) (work context.Context) {
	defer func() {
		if work == nil {
			work = ctx
		}
		work = WithHTTPHeader(work, r.header)
	}()
	defer t.guard("RequestStart")
	return t.tracer.RequestStart(ctx, r)
}

func (t *tracing) end(ctx context.Context, r *RequestInfo) {
	defer t.guard("RequestEnd")
	t.tracer.RequestEnd(ctx, r)
}

// trace begins to trace a request of this client; nil if there is no tracer.
func (c *Client) trace(ctx context.Context, r *request) (context.Context, *RequestInfo) {
	if c.tracing == nil {
		return ctx, nil
	}
	info := &RequestInfo{Server: c.name, Method: r.method, outgoing: r}
	r.trace = info
	return c.tracing.start(ctx, info), info
}

// traced ends what trace began.
func (c *Client) traced(ctx context.Context, info *RequestInfo, result json.RawMessage, err error) {
	if info == nil {
		return
	}
	info.Result, info.Err = result, err
	if l := info.life; l != nil {
		info.Connection = l.tap.connection()
	}
	c.tracing.end(ctx, info)
	info.outgoing.trace = nil
}

// traceUnsent traces a request that comes to nothing before it could be sent.
func (c *Client) traceUnsent(ctx context.Context, r *request, err error) {
	ctx, info := c.trace(ctx, r)
	c.traced(ctx, info, nil, err)
}

// retried says that a request will be sent again.
func (c *Client) retried(ctx context.Context, info *RequestInfo, err error) {
	if info == nil || c.tracing.retry == nil {
		return
	}
	defer c.tracing.guard("RequestRetry")
	c.tracing.retry.RequestRetry(ctx, info, err)
}

// departs notes that another attempt begins. R may be nil, as everywhere here.
func (r *RequestInfo) departs(l *life, opts *CallOptions) {
	if r == nil {
		return
	}
	if r.Attempts++; r.Attempts == 1 {
		r.SentAt = time.Now()
	}
	r.life = l
	opts.Numbered = func(id int64) { r.ID = strconv.FormatInt(id, 10) }
}

// taken reports whether a key of _meta is not the tracer's to set.
func (r *RequestInfo) taken(key string) bool {
	if key == "progressToken" || isRequestMeta(key) || key == metaLogLevel {
		return true
	}
	for _, m := range r.meta {
		if m.key == key {
			return true
		}
	}
	if r.outgoing == nil {
		return memberOf(r.params, "_meta", key) != nil
	}
	_, own := r.outgoing.meta[key]
	return own
}

// appendMeta appends the tracer's members of _meta, each followed by a comma.
func (r *RequestInfo) appendMeta(out []byte) []byte {
	if r == nil {
		return out
	}
	for _, m := range r.meta {
		out = append(append(append(appendQuoted(out, m.key), ':'), m.value...), ',')
	}
	return out
}

// An openTrace is something traced whose end is seen elsewhere. Nil is none.
type openTrace struct {
	ctx     context.Context
	info    *RequestInfo
	tracing *tracing
}

// end ends it. Somebody must see to it that this is done once.
func (o *openTrace) end(result json.RawMessage, err error) {
	if o == nil {
		return
	}
	o.info.Result, o.info.Err = result, err
	o.tracing.end(o.ctx, o.info)
}

// open begins to trace a message of the control plane; nil if there is no tracer.
func (t *tap) open(ctx context.Context, m *jsonrpc.Request, incoming bool) (context.Context, *openTrace) {
	if t.tracing == nil {
		return ctx, nil
	}
	info := &RequestInfo{
		Server:       t.client.name,
		Method:       m.Method,
		Incoming:     incoming,
		Notification: !m.IsCall(),
		Connection:   t.connection(),
		params:       m.Params,
	}
	if m.IsCall() {
		info.ID = fmt.Sprint(m.ID.Raw())
	}
	ctx = t.tracing.start(ctx, info)
	if !incoming {
		info.Attempts, info.SentAt = 1, time.Now()
	}
	return ctx, &openTrace{ctx, info, t.tracing}
}

// openWrite is open for a message that is to be written, and returns it with what the
// tracer adds.
func (t *tap) openWrite(ctx context.Context, m *jsonrpc.Request) (context.Context, *jsonrpc.Request, *openTrace) {
	ctx, o := t.open(ctx, m, false)
	if o != nil && len(o.info.meta) > 0 {
		m = &jsonrpc.Request{ID: m.ID, Method: m.Method, Params: withMeta(m.Params, o.info.appendMeta(nil))}
	}
	return ctx, m, o
}

// withMeta returns params with further members of _meta, each followed by a comma.
func withMeta(params json.RawMessage, more []byte) json.RawMessage {
	out := append([]byte(`{"_meta":{`), more...)
	for key, value := range jsonscan.Fields(memberOf(params, "_meta")) {
		out = append(append(append(appendQuoted(out, string(key)), ':'), value...), ',')
	}
	out[len(out)-1] = '}'
	for key, value := range jsonscan.Fields(params) {
		if string(key) != "_meta" {
			out = append(append(appendQuoted(append(out, ','), string(key)), ':'), value...)
		}
	}
	return append(out, '}')
}

// openRequest begins to trace a request of the handshake, and returns its parameters with
// what the tracer adds.
func (t *tap) openRequest(ctx context.Context, method string, params json.RawMessage) (context.Context, json.RawMessage, *openTrace) {
	if t.tracing == nil {
		return ctx, params, nil
	}
	info := &RequestInfo{Server: t.client.name, Method: method, Connection: t.connection(), params: params}
	ctx = t.tracing.start(ctx, info)
	info.Attempts, info.SentAt = 1, time.Now()
	if len(info.meta) > 0 {
		params = withMeta(params, info.appendMeta(nil))
	}
	return ctx, params, &openTrace{ctx, info, t.tracing}
}

// endRequest ends what openRequest began.
func (t *tap) endRequest(o *openTrace, id int64, result json.RawMessage, err error) {
	if o == nil {
		return
	}
	if id != 0 {
		o.info.ID = strconv.FormatInt(id, 10)
	}
	o.info.Connection = t.connection()
	if jsonscan.Valid(result) != nil {
		result = nil
	}
	if version, ok := jsonscan.String(memberOf(result, "protocolVersion")); ok {
		o.info.Connection.ProtocolVersion = version
	} else if o.info.Method == methodDiscover && err == nil {
		o.info.Connection.ProtocolVersion = Revision20260728
	}
	o.end(result, t.handshakeError(err))
}

// handshakeError returns the error of a handshake as the callers of the client get it:
// what is no answer of the server makes it unavailable.
func (t *tap) handshakeError(err error) error {
	var answered *JSONRPCError
	if err == nil || errors.As(err, &answered) {
		return err
	}
	return &UnavailableError{Server: t.client.name, Err: err}
}

// connection returns what is known of the connection.
func (t *tap) connection() ConnectionInfo {
	known := t.conn.Info()
	info := ConnectionInfo{SessionID: t.conn.SessionID(), PID: known.PID, Origin: known.Origin}
	if version := t.spoken.Load(); version != nil {
		info.ProtocolVersion = *version
	}
	return info
}

// sessionEnds tells the tracer of a life that is about to end.
func (c *Client) sessionEnds(l *life, cause error) {
	if c.tracing == nil || c.tracing.session == nil {
		return
	}
	s := &SessionInfo{Server: c.name, Connection: l.tap.connection(), Duration: time.Since(l.born), Err: cause}
	if errors.Is(cause, ErrClosed) || errors.Is(cause, errRenewed) || c.closing.Err() != nil && errors.Is(cause, context.Canceled) {
		s.Err = nil
	}
	defer c.tracing.guard("SessionEnd")
	c.tracing.session.SessionEnd(s)
}
