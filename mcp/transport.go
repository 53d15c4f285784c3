package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Transport is a recipe for connections to one server: Connect may be called
// any number of times, and each [Conn] that it returns is one life.
//
// The context of Connect bounds the making of the connection only; a Conn ends
// by its Close or by the server's end.
//
// It is the official SDK's interface. A transport of the SDK itself can be
// used for one life, since those recipes serve once.
type Transport = sdk.Transport

// A Conn carries JSON-RPC messages to and from one server for as long as the
// connection lives: the control plane, over which the handshake, the server's
// requests and notifications pass. A Conn that also implements [Caller] carries
// the client's requests on a data plane of its own.
//
// A Client also makes use of these methods, each of which a Conn may have:
//
//	Err() error       // why it ended, as soon as that is known; nil while it lives
//	PID() int         // of the server's process, for State
//	Degraded() error  // what it lacks although it works, for State
//	Working() bool    // the server has done work since the last question, or written anything
//	Stateless() bool  // nothing is lost with it, so it is not pinged
//	Announced() int64 // announcements of other tools that came before the last answer
//	LateProgress() int64 // progress that came before the last answer and went to Read
//	Origin() string   // scheme, host and port of a server reached by HTTP, for Tracer
//
// One that stands before another Conn should have them all, or the client believes
// that there is nothing to tell. Announced of less than zero is as if it had none.
//
// and of these, of an error in the chain of one that a Conn, a Caller or Connect
// returns, if it has the first of them:
//
//	LoginURL() string          // a human has to log in there before requests are let in
//	LoggedIn() <-chan struct{} // closed when somebody has; nil if nobody will tell
//	StepUp() bool              // only that request needs more rights
//
// and of these, of an error that a Caller returns:
//
//	Refused() bool // by HTTP status 400, 404 or 405, whether or not there is a JSON-RPC error
type Conn = sdk.Connection

// A Caller is the second face of a [Conn]: the data plane. The Conn numbers
// the request, sends it, and returns the result exactly as the server wrote it.
//
// A request that the server answered with an error returns a [*JSONRPCError].
// Any other error tells by [OutcomeOf] whether the server can have seen the
// request. Call returns when ctx ends, whatever the server does; it then tells
// the server that the request is cancelled, without waiting.
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
	// Header holds further header fields of this request, such as
	// Mcp-Param-*. Streamable HTTP sends them with a request of revision
	// 2026-07-28, their values encoded as that wants; all else ignores them.
	Header map[string]string
	// Numbered is called with the id that the request gets, before it is sent and on
	// the goroutine that called Call. Nil: nobody wants to know.
	Numbered func(id int64)
}
