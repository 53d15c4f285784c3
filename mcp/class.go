package mcp

import "context"

// A Class says what kind of failure an error is, for programs that count, log or explain
// errors. What became of the request is another question: see [OutcomeOf].
type Class int

const (
	// ClassNone: there is no error.
	ClassNone Class = iota
	// ClassOther: none of the following.
	ClassOther
	// ClassCancelled: the caller gave up.
	ClassCancelled
	// ClassTimeout: there was no answer in time.
	ClassTimeout
	// ClassLoginRequired: the user has to log in, or to log in with more rights.
	ClassLoginRequired
	// ClassDenied: the server, a policy or a user does not allow it.
	ClassDenied
	// ClassBusy: too many requests are under way.
	ClassBusy
	// ClassClosed: the client was closed.
	ClassClosed
	// ClassUnreachable: there was no connection.
	ClassUnreachable
	// ClassLost: the connection or the answer was lost while the request was under way.
	ClassLost
	// ClassTooLarge: a message exceeded a limit.
	ClassTooLarge
	// ClassProtocol: the server sent an answer that the protocol, or the tool's output
	// schema, does not allow.
	ClassProtocol
	// ClassServerError: the server answered with an error.
	ClassServerError
)

// String returns the name of the class, such as "login_required".
func (c Class) String() string {
	switch c {
	case ClassNone:
		return "none"
	case ClassCancelled:
		return "cancelled"
	case ClassTimeout:
		return "timeout"
	case ClassLoginRequired:
		return "login_required"
	case ClassDenied:
		return "denied"
	case ClassBusy:
		return "busy"
	case ClassClosed:
		return "closed"
	case ClassUnreachable:
		return "unreachable"
	case ClassLost:
		return "lost"
	case ClassTooLarge:
		return "too_large"
	case ClassProtocol:
		return "protocol"
	case ClassServerError:
		return "server_error"
	}
	return "other"
}

// ClassOf returns the class of an error that a call or a connection has returned. The
// outermost error in the chain that has a class decides. Errors of other packages have
// one if they have a method Class() Class.
//
// The exceptions are errors of this package that report where a failure was met: an
// [*UnavailableError] is ClassLoginRequired or ClassCancelled if that is why there is no
// connection, and an [*OutcomeUnknownError] has the class of its cause, if that has one.
func ClassOf(err error) Class {
	if err == nil {
		return ClassNone
	}
	if c := classOfNode(err); c != ClassOther {
		return c
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return ClassOf(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if c := ClassOf(inner); c > ClassOther {
				return c
			}
		}
	}
	return ClassOther
}

// classOfNode returns the class that one error in a chain has; ClassOther if those that
// it wraps decide.
func classOfNode(err error) Class {
	switch e := err.(type) {
	case interface{ Class() Class }:
		return e.Class()
	case interface{ LoginURL() string }:
		return ClassLoginRequired
	case *UnavailableError:
		if c := ClassOf(e.Err); c == ClassLoginRequired || c == ClassCancelled {
			return c
		}
		return ClassUnreachable
	case *OutcomeUnknownError:
		if c := ClassOf(e.Err); c > ClassOther {
			return c
		}
		return ClassLost
	case *BusyError:
		return ClassBusy
	case *LimitError:
		return ClassTooLarge
	case *ProtocolError, *OutputError:
		return ClassProtocol
	case *ServerError, *JSONRPCError:
		return ClassServerError
	case *UnresponsiveError:
		return ClassLost
	}
	switch err {
	case context.Canceled:
		return ClassCancelled
	case context.DeadlineExceeded:
		return ClassTimeout
	case ErrClosed:
		return ClassClosed
	case ErrSessionLost, ErrAnswerLost:
		return ClassLost
	}
	if is, ok := err.(interface{ Is(error) bool }); ok && is.Is(context.DeadlineExceeded) { // such as *TimeoutError
		return ClassTimeout
	}
	return ClassOther
}
