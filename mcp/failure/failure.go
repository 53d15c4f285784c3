package failure

import (
	"context"

	"github.com/mcpbelt/mcpbelt/internal/outcome"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Class says what kind of failure an error is, for programs that count, log or explain
// errors. What became of the request is another question: see [mcp.OutcomeOf].
type Class = outcome.Class

const (
	// None: there is no error.
	None = outcome.None
	// Other: none of the following.
	Other = outcome.Other
	// Cancelled: the caller gave up.
	Cancelled = outcome.Cancelled
	// Timeout: there was no answer in time.
	Timeout = outcome.Timeout
	// LoginRequired: the user has to log in, or to log in with more rights.
	LoginRequired = outcome.LoginRequired
	// Denied: the server, a policy or a user does not allow it.
	Denied = outcome.Denied
	// Busy: too many requests are under way.
	Busy = outcome.Busy
	// Closed: the client was closed.
	Closed = outcome.Closed
	// Unreachable: there was no connection.
	Unreachable = outcome.Unreachable
	// Lost: the connection or the answer was lost while the request was under way.
	Lost = outcome.Lost
	// TooLarge: a message exceeded a limit.
	TooLarge = outcome.TooLarge
	// Protocol: the server sent an answer that the protocol, or the tool's output
	// schema, does not allow.
	Protocol = outcome.Protocol
	// ServerError: the server answered with an error.
	ServerError = outcome.ServerError
)

// Of returns the class of an error that a call or a connection has returned. The
// outermost error in the chain that has a class decides. Errors of other packages have
// one if they have a method Class() Class.
//
// The exceptions are errors of package mcp that report where a failure was met: an
// [*mcp.UnavailableError] is LoginRequired or Cancelled if that is why there is no
// connection, and an [*mcp.OutcomeUnknownError] has the class of its cause, if that has one.
func Of(err error) Class {
	if err == nil {
		return None
	}
	if c := ofNode(err); c != Other {
		return c
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return Of(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if c := Of(inner); c > Other {
				return c
			}
		}
	}
	return Other
}

// ofNode returns the class that one error in a chain has; Other if those that
// it wraps decide.
func ofNode(err error) Class {
	switch e := err.(type) {
	case interface{ Class() Class }:
		return e.Class()
	case interface{ LoginURL() string }:
		return LoginRequired
	case *mcp.UnavailableError:
		if c := Of(e.Err); c == LoginRequired || c == Cancelled {
			return c
		}
		return Unreachable
	case *mcp.OutcomeUnknownError:
		if c := Of(e.Err); c > Other {
			return c
		}
		return Lost
	case *mcp.BusyError:
		return Busy
	case *mcp.LimitError:
		return TooLarge
	case *mcp.ProtocolError, *mcp.OutputError:
		return Protocol
	case *mcp.ServerError, *mcp.JSONRPCError:
		return ServerError
	case *mcp.UnresponsiveError:
		return Lost
	}
	switch err { //nolint:errorlint // Of unwraps it
	case context.Canceled:
		return Cancelled
	case context.DeadlineExceeded:
		return Timeout
	case mcp.ErrClosed:
		return Closed
	case mcp.ErrSessionLost, mcp.ErrAnswerLost, mcp.ErrCutOff:
		return Lost
	}
	if is, ok := err.(interface{ Is(error) bool }); ok && is.Is(context.DeadlineExceeded) { // such as *mcp.TimeoutError
		return Timeout
	}
	return Other
}
