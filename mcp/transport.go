package mcp

import (
	"context"
	"encoding/json"

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
// server ends. A Conn that also implements [Caller] sends the client's requests and
// finds their answers by its method Call; Read then returns the server's requests and
// notifications only, and Write takes answers, notifications and subscriptions/listen.
//
// A Client also makes use of these methods, each of which a Conn may have:
//
//	Err() error       // why it ended, as soon as that is known; nil before
//	PID() int         // of the server's process, for State
//	Degraded() error  // what it lacks although it works, for State
//	Working() bool    // the server has done work since the last question, or written anything
//	Stateless() bool  // nothing is lost with it, so it is not pinged
//	Announced() int64 // notifications of changed tools that came before the last answer
//	LateProgress() int64 // progress that came before the last answer and went to Read
//	Origin() string   // scheme, host and port of a server reached by HTTP, for Tracer
//
// A Conn that wraps another should have all that the other has, or the client assumes
// that there is nothing to report. A result of Announced below zero means that it is
// unknown.
//
// and of these, of an error in the chain of one that a Conn, a Caller or Connect
// returns, if it has the first of them:
//
//	LoginURL() string          // where the user has to log in
//	LoggedIn() <-chan struct{} // closed when the login is over; nil if that is not signalled
//	StepUp() bool              // only that request needs more scopes
//
// and of these, of an error that a Caller returns:
//
//	Refused() bool // by HTTP status 400, 404 or 405, whether or not there is a JSON-RPC error
type Conn = sdk.Connection

// A Caller is a [Conn] that carries requests: it numbers the request, sends it, and
// returns the result exactly as the server wrote it.
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
//
// Call is safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, method string, params json.RawMessage, opts *CallOptions) (json.RawMessage, error)
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
