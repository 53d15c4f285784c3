package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

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
	Connection ConnectionInfo
	// Result is the result, as its sender wrote it; nil if there is none. It must
	// not be changed.
	Result json.RawMessage
	// Err is the error that the caller of the client gets, or that the server got;
	// nil if it went well. That a tool failed is no error but stands in Result.
	Err error

	outgoing *request        // either this
	params   json.RawMessage // or the params, checked by jsonscan
	life     *life           // that carried it last; nil: none
	meta     []member
	header   http.Header
}

// A ConnectionInfo describes a connection to a [Tracer].
type ConnectionInfo struct {
	// ProtocolVersion is the revision of the protocol; empty during the handshake.
	ProtocolVersion string
	// SessionID is the id of the session over HTTP; empty if there is none. It may give
	// access to the session: treat it as a secret.
	SessionID string
	// Origin is the scheme, host and port of a server that is reached by HTTP, such
	// as https://example.com; empty for any other.
	Origin string
	// PID is the process id of a server that was started for the connection; else 0.
	PID int
}

// A SessionInfo is a connection that has ended.
type SessionInfo struct {
	// Server is the name given to [NewClient].
	Server string
	// Connection is what is known of it.
	Connection ConnectionInfo
	// Duration is how long it lasted, from the end of the handshake.
	Duration time.Duration
	// Err is why it ended; nil if this client has ended it.
	Err error
}

// Param returns a member of the params, as it was written, or nil. The caller of
// the client, or the server, may have put anything there. It is no longer valid
// after RequestEnd.
func (r *RequestInfo) Param(name string) json.RawMessage {
	if r.outgoing == nil {
		return memberOf(r.params, name)
	}
	for _, m := range r.outgoing.params {
		if m.key == name {
			return m.value
		}
	}
	for _, m := range r.outgoing.more {
		if m.key == name {
			return m.value
		}
	}
	return nil
}

// Meta returns a member of _meta that is a string: one that the caller put there
// or, if Incoming, the server.
func (r *RequestInfo) Meta(key string) (value string, ok bool) {
	if r.outgoing != nil {
		value, ok = r.outgoing.meta[key].(string)
		return value, ok
	}
	return jsonscan.String(memberOf(r.params, "_meta", key))
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

// WithHTTPHeader returns a context whose HTTP requests have further header fields,
// as by [RequestInfo.AddHeader]. Those that ctx has already stay. The header must not
// be changed afterwards.
func WithHTTPHeader(ctx context.Context, header http.Header) context.Context {
	if len(header) == 0 {
		return ctx
	}
	if already := HTTPHeader(ctx); already != nil {
		header = maps.Clone(header)
		for name, values := range already {
			delete(header, http.CanonicalHeaderKey(name))
			header[name] = values
		}
	}
	return context.WithValue(ctx, headerKey{}, header)
}

// HTTPHeader returns the header fields that a [Conn] over HTTP adds to the requests
// that it makes with ctx, unless they have such fields already; nil if there are
// none. It must not be changed.
func HTTPHeader(ctx context.Context) http.Header {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	return header
}

type headerKey struct{}
