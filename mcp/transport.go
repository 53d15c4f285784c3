package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Transport is a recipe for connections to one server: Connect may be called any
// number of times, and each [Conn] that it returns is one connection.
//
// The context of Connect bounds the making of the connection only; a Conn ends
// by its Close or by the server's end.
//
// It is the official SDK's interface. A transport of the SDK itself can be used for one
// connection, since those recipes serve once.
type Transport = sdk.Transport

// A Conn carries JSON-RPC messages to and from one server until it is closed or the
// server ends. The client reads and writes one that is no more than that by [CallerOf].
//
// The client also makes use of these methods of an error in the chain of one that a
// Conn, a Caller or Connect returns, if it has the first of them:
//
//	LoginURL() string          // where the user has to log in
//	LoggedIn() <-chan struct{} // closed when the login is over; nil if that is not signalled
//	StepUp() bool              // only that request needs more scopes
//
// and of this one, of an error that a Caller returns:
//
//	Refused() bool // by HTTP status 400, 404 or 405, whether or not there is a JSON-RPC error
type Conn = sdk.Connection

// A Caller is a [Conn] that carries requests; who asks for them is an access.Caller. All connections of package transport are.
// One that wraps another embeds the Caller, so that nothing of it is hidden.
//
// All methods are safe for concurrent use.
type Caller interface {
	Conn

	// Call numbers a request, sends it, and returns the result exactly as the server
	// wrote it.
	//
	// A request that the server answered with an error returns a [*JSONRPCError]. For any
	// other error [OutcomeOf] says whether the server can have seen the request. Call
	// returns when ctx ends, whatever the server does; it then cancels the request at the
	// server, without waiting, unless it is initialize or server/discover.
	//
	// The result of a list of tools, resources, resource templates or prompts may
	// hold items with a key twice, bad UTF-8 or nesting without end: the Client
	// leaves those out. All else of a result is JSON without any of that.
	//
	// One over HTTP adds the fields of [HTTPHeader] to what it sends.
	Call(ctx context.Context, method string, params json.RawMessage, opts *CallOptions) (json.RawMessage, error)

	// Receive hands over what the server sends beside the answers to calls: its
	// requests, notifications, and answers to what was written by Write. It is called
	// once, before the first Call, and takes the place of Read.
	//
	// The connection calls message for each of them, on any goroutine and several at a
	// time, before a Call returns the answer that the server sent later. It is told the
	// id of the call on whose answer stream the message came, or 0 if the transport does
	// not know. Message never blocks. Ended is called once, soon after the end of the
	// connection, with the reason.
	Receive(message func(m jsonrpc.Message, call int64), ended func(err error))

	// Info returns what is known of the connection now.
	Info() ConnInfo
}

// ConnInfo is what a connection tells of itself. The zero value says nothing.
type ConnInfo struct {
	// Err is why it ended, as soon as that is known; nil before.
	Err error
	// PID is the id of the server's process, or 0.
	PID int
	// Origin is the scheme, host and port of a server that is reached by HTTP.
	Origin string
	// Degraded is what the connection lacks although it works, or nil.
	Degraded error
	// Stateless says that nothing is lost with the connection, so that it is not pinged.
	Stateless bool
	// Signs grows whenever the server shows that it is at work: with all that it writes,
	// also a part of a message, and as far as the transport can see it, with the
	// processor time that it uses.
	Signs uint64

	// The following are set by the client, for a [Tracer].

	// ProtocolVersion is the revision of the protocol; empty during the handshake.
	ProtocolVersion string
	// SessionID is the id of the session over HTTP; empty if there is none. It may give
	// access to the session: treat it as a secret.
	SessionID string
}

// CallOptions are the options of one [Caller] call. Nil means none.
type CallOptions struct {
	// ProgressToken is the token that params carry in _meta.progressToken.
	// Notifications with this token go to Progress and nowhere else.
	ProgressToken int64
	// Progress receives the params of each progress notification of this call,
	// in order, on the goroutine that called Call and before Call returns.
	Progress func(params json.RawMessage)
	// Header holds further header fields of this request, such as Mcp-Param-*.
	// Streamable HTTP sends them with a request of revision 2026-07-28, their values
	// encoded as it requires; other transports and revisions ignore them.
	Header map[string]string
	// Numbered is called with the id that the request gets, before it is sent and on
	// the goroutine that called Call. It may be nil.
	Numbered func(id int64)
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
