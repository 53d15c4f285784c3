package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// isRequestMeta reports whether requestMeta writes the key.
func isRequestMeta(key string) bool {
	return key == protocol.MetaVersion || key == protocol.MetaClient || key == protocol.MetaCapabilities
}

// A Tracer observes the requests and notifications between a client and its server, in
// both directions: each when it begins and when it ends. Adapters for telemetry
// implement it; the client itself records nothing.
//
// A Tracer may also be a [RetryTracer] and a [SessionTracer]. Its methods are safe for
// concurrent use and must be quick, as callers wait for them. A panic in them is
// recovered and logged.
//
// It does not observe what the client does by itself on a lower level: cancelling a
// request, which RequestEnd reports, and on some transports the progress that a server
// reports.
type Tracer interface {
	// RequestStart is called before a request or a notification is sent, and when
	// one of the server has come. The context that it returns must be derived from
	// ctx, and is that of the work: of RequestEnd, of the transport's HTTP requests,
	// and of handlers such as Elicit.
	RequestStart(ctx context.Context, r *RequestInfo) context.Context
	// RequestEnd is called once for each RequestStart, with the same RequestInfo, which
	// says by then how it ended. Neither may be kept.
	RequestEnd(ctx context.Context, r *RequestInfo)
}

// A RetryTracer is a [Tracer] that observes retries: a request is sent once more
// because the connection broke or only its answer was lost.
type RetryTracer interface {
	// RequestRetry is called between the attempts. Err is how the last one failed.
	RequestRetry(ctx context.Context, r *RequestInfo, err error)
}

// A SessionTracer is a [Tracer] that observes the ends of connections.
type SessionTracer interface {
	// SessionEnd is called when a connection has ended whose handshake had
	// succeeded.
	SessionEnd(s *SessionInfo)
}

// A RequestInfo is one request or notification, as a [Tracer] sees it.
type RequestInfo struct {
	// Server is the name given to [NewClient].
	Server string
	// Method is the method. That of a server's request can be any text.
	Method string
	// Incoming says that the server sent it. In revision 2026-07-28 requests of the
	// server come with a result, and have no ID.
	Incoming bool
	// Notification says that there is no answer.
	Notification bool

	// ID is the id of the request on the wire: that of the last attempt. It is
	// known at the end; empty if it was not sent.
	ID string
	// Attempts is how often the request was sent, as far as that is known.
	Attempts int
	// SentAt is when the first attempt began: after waiting for a connection, or
	// for others to be answered. Zero if there was none.
	SentAt time.Time
	// Connection is the connection that carried it; zero if there was none. Of a
	// request of this client it is known at the end.
	Connection ConnInfo
	// Result is the result, as its sender wrote it; nil if there is none. It must
	// not be changed.
	Result json.RawMessage
	// Err is the error that the caller of the client gets, or that the server got;
	// nil if it went well. That a tool failed is no error but stands in Result.
	Err error

	params   json.RawMessage                  // of one that is no request of a caller, checked by jsonscan
	outgoing [2][]member                      // those of one that is
	own      Meta                             // the caller's members of _meta
	carrier  interface{ describe() ConnInfo } // the connection that carried it last; nil: none
	ctx      context.Context                  // of the work
	tracing  *tracing
	meta     []member
	header   http.Header
}

// A SessionInfo is a connection that has ended.
type SessionInfo struct {
	// Server is the name given to [NewClient].
	Server string
	// Connection is what is known of it.
	Connection ConnInfo
	// Duration is how long it lasted, from the end of the handshake.
	Duration time.Duration
	// Err is why it ended; nil if this client has ended it.
	Err error
}

// Param returns a member of the params, as it was written, or nil. The caller of
// the client, or the server, may have put anything there. It is no longer valid
// after RequestEnd.
func (r *RequestInfo) Param(name string) json.RawMessage {
	if r.outgoing[0] == nil {
		return jsonscan.Member(r.params, name)
	}
	for _, members := range r.outgoing {
		if i := slices.IndexFunc(members, func(m member) bool { return m.key == name }); i >= 0 {
			return members[i].value
		}
	}
	return nil
}

// Meta returns a member of _meta that is a string: one that the caller put there
// or, if Incoming, the server.
func (r *RequestInfo) Meta(key string) (value string, ok bool) {
	if r.outgoing[0] != nil {
		value, ok = r.own[key].(string)
		return value, ok
	}
	return jsonscan.String(jsonscan.Member(r.params, "_meta", key))
}

// AddMeta has a request, or a notification, of this client carry a member in
// _meta. What the caller or the protocol put there stays. It is to be used in
// RequestStart only; if Incoming it does nothing.
func (r *RequestInfo) AddMeta(key, value string) {
	if r.Incoming || r.taken(key) {
		return
	}
	r.meta = append(r.meta, member{key, appendQuoted(nil, value)})
}

// AddHeader has the HTTP requests that carry this one have a header field as well,
// if they have none of that name. Other transports ignore it. It is to be used in
// RequestStart only; if Incoming it does nothing.
func (r *RequestInfo) AddHeader(name, value string) {
	if r.Incoming {
		return
	}
	if r.header == nil {
		r.header = make(http.Header)
	}
	r.header.Set(name, value)
}

var errBrokenOff = errors.New("the request was broken off by a panic")

// A tracing is the tracer of a client.
type tracing struct {
	tracer Tracer
	server string
	logger *slog.Logger
}

func (t *tracing) guard(what string) {
	if p := recover(); p != nil {
		t.logger.Error("mcp: the tracer panicked", "server", t.server, "in", what, "panic", p)
	}
}

// start begins to trace r and returns the context of the work.
func (t *tracing) start(ctx context.Context, r *RequestInfo) (work context.Context) {
	defer func() {
		if work == nil {
			work = ctx
		}
		work = WithHTTPHeader(work, r.header)
		r.ctx, r.tracing = work, t
	}()
	defer t.guard("RequestStart")
	return t.tracer.RequestStart(ctx, r)
}

// end ends what start began. Its caller must do so once. R is nil if nothing is traced.
func (r *RequestInfo) end(result json.RawMessage, err error) {
	if r == nil {
		return
	}
	r.Result, r.Err = result, err
	if r.carrier != nil {
		r.Connection = r.carrier.describe()
	}
	defer r.tracing.guard("RequestEnd")
	r.tracing.tracer.RequestEnd(r.ctx, r)
}

// retried says that a request will be sent again.
func (r *RequestInfo) retried(ctx context.Context, err error) {
	if r == nil {
		return
	}
	if retry, ok := r.tracing.tracer.(RetryTracer); ok {
		defer r.tracing.guard("RequestRetry")
		retry.RequestRetry(ctx, r, err)
	}
}

// departs notes that another attempt begins. R may be nil, as everywhere here.
func (r *RequestInfo) departs(carrier interface{ describe() ConnInfo }, opts *CallOptions) {
	if r == nil {
		return
	}
	if r.Attempts++; r.Attempts == 1 {
		r.SentAt = time.Now()
	}
	r.carrier = carrier
	opts.Numbered = func(id int64) { r.ID = strconv.FormatInt(id, 10) }
}

// taken reports whether a key of _meta is not the tracer's to set.
func (r *RequestInfo) taken(key string) bool {
	if key == "progressToken" || isRequestMeta(key) || key == protocol.MetaLogLevel ||
		slices.ContainsFunc(r.meta, func(m member) bool { return m.key == key }) {
		return true
	}
	if r.outgoing[0] == nil {
		return jsonscan.Member(r.params, "_meta", key) != nil
	}
	_, own := r.own[key]
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
