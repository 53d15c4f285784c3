package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/outcome"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// WithOutcome returns an error that reads and unwraps as err and whose [OutcomeOf] is
// o. Control and hidden characters in its text are made visible. Transports use it to
// report the outcome of a request. It returns nil if err is nil.
func WithOutcome(err error, o Outcome) error {
	if err == nil {
		return nil
	}
	return &outcomeError{err, o}
}

type outcomeError struct {
	err     error
	outcome Outcome
}

func (e *outcomeError) Error() string { return plain.Text(e.err.Error()) }

func (e *outcomeError) Unwrap() error { return e.err }

func (e *outcomeError) Outcome() Outcome { return e.outcome }

// ErrSessionLost is wrapped by the errors of a transport whose server no longer
// knows the session. The request was not run; a new connection starts a new
// session.
//
//cure:none is needed: the next call makes a new session
var ErrSessionLost = errors.New("the server no longer knows the session")

// ErrAnswerLost is wrapped by the errors of a transport that lost the answer to one
// request, because its stream broke, while the connection stays. The request may have
// run.
//
//cure:look whether the call had its effect before you make it again
var ErrAnswerLost = errors.New("the answer was lost")

// ErrCutOff is wrapped by the errors of a transport whose connection ended while it wrote a
// request, so that the server cannot have read the whole of it. Perhaps it ended because of
// the request: servers do that which take no message of that size. The client sends the request
// once more at most, and not if it was meant for that connection.
//
//cure:send less in one call if the server ends each time
var ErrCutOff = errors.New("the connection ended while the request was written")

// ErrOtherConnection is returned for a call that is meant for a connection which has
// ended. If its outcome is [NotSent] it was not sent; else it may have run, and does no harm
// when it is made once more.
//
//cure:call again, on the next connection
var ErrOtherConnection = errors.New("the connection that the call is meant for has ended")

// An Outcome says what is known about a request that returned an error.
type Outcome = outcome.Outcome

const (
	// Unknown: the request may have run on the server, or not.
	Unknown = outcome.Unknown
	// NotSent: the server did not run the request and never will.
	NotSent = outcome.NotSent
	// Answered: the server ran the request and answered with an error.
	Answered = outcome.Answered
)

// OutcomeOf returns the outcome of the request that returned err. The outermost error
// in the chain that has one decides; an error without one is [Unknown]. The outcome of
// a nil error is Answered.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Answered
	}
	var knows interface{ Outcome() Outcome }
	if errors.As(err, &knows) {
		return knows.Outcome()
	}
	if errors.As(err, new(*JSONRPCError)) {
		return Answered
	}
	return Unknown
}

// SafeToRetry reports whether the request behind err can be sent again without
// the risk that it runs twice. As in pgx, it is true only if the server cannot
// have seen the request.
func SafeToRetry(err error) bool {
	return err != nil && OutcomeOf(err) == NotSent
}

// visible returns an error whose text shows control and hidden characters: err itself
// if it has none.
func visible(err error) error {
	if err == nil || plain.Text(err.Error()) == err.Error() {
		return err
	}
	return WithOutcome(err, OutcomeOf(err))
}

// ErrClosed is returned by the methods of a [Client] that was closed.
//
//cure:make a new Client
var ErrClosed = errors.New("mcp: client closed")

// An OutcomeUnknownError reports that a request was sent and that it is unknown whether
// the server ran it: the connection broke, or time ran out. Repeating it may repeat its
// side effects, so the Client does not.
//
//cure:look whether the call had its effect before you make it again
type OutcomeUnknownError struct {
	Server string // name of the server, as configured
	Method string // such as "tools/call"
	Tool   string // name of the tool, if Method is tools/call
	Err    error  // what happened
}

func (e *OutcomeUnknownError) Error() string {
	what := strings.TrimSpace(e.Method + " " + e.Tool)
	return plain.Text(fmt.Sprintf("mcp: server %q: %s: outcome unknown, it may have run: %v", e.Server, what, e.Err))
}

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// Outcome returns [Unknown].
func (e *OutcomeUnknownError) Outcome() Outcome { return Unknown }

// An UnavailableError reports that there is no connection to the server. The
// request was not sent.
//
//cure:call again later; State and the wrapped error say why there is no connection
type UnavailableError struct {
	Server  string    // name of the server, as configured
	RetryAt time.Time // when the Client tries again by itself; zero if it does not
	Err     error     // why the last connection or attempt ended
}

func (e *UnavailableError) Error() string {
	return plain.Text(fmt.Sprintf("mcp: server %q is unavailable: %v", e.Server, e.Err))
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// Outcome returns [NotSent].
func (e *UnavailableError) Outcome() Outcome { return NotSent }

// A BusyError reports that a request was refused by the client because too many are on
// their way to the server and waiting for their turn. It was not sent.
//
//cure:wait as long as RetryAfter says, or raise MaxInFlight or MaxQueued of ClientOptions
type BusyError struct {
	Server     string        // name of the server, as configured
	RetryAfter time.Duration // estimate of when those that wait will have been sent: 10 ms to 1 min; 1 s if nothing is known

	inFlight    int // the most that may be
	queued      int
	queuedBytes int64  // of their parameters
	bound       string // what does not let another one wait: "count", "bytes", or "user" for the share of its user
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("mcp: server %q is busy: %d requests in flight and %d waiting with %d bytes (limit: %s); try again in %v",
		e.Server, e.inFlight, e.queued, e.queuedBytes, e.bound, e.RetryAfter.Round(time.Millisecond))
}

// Outcome returns [NotSent].
func (e *BusyError) Outcome() Outcome { return NotSent }

// A ServerError is an error with which the server answered a request, as
// opposed to a tool's own failure, which is a [CallToolResult] with IsError set.
//
//cure:see the code and the message, which are those of the server
type ServerError struct {
	Server string        // name of the server, as configured
	Method string        // such as "tools/call"
	Err    *JSONRPCError // the server's code, message and data
}

// Error quotes the server's message on one line, cut off after 500 characters, with
// control and hidden characters made visible.
func (e *ServerError) Error() string {
	return fmt.Sprintf("mcp: server %q: %s: %s (code %d)", e.Server, e.Method, plain.Line(e.Err.Message), e.Err.Code)
}

func (e *ServerError) Unwrap() error { return e.Err }

// refusalCode returns the code with which a server refused a request, or 0 if that is not
// what err reports.
func refusalCode(err error) int64 {
	if refused, ok := errors.AsType[*ServerError](err); ok {
		return refused.Err.Code
	}
	return 0
}

// Outcome returns [Answered].
func (e *ServerError) Outcome() Outcome { return Answered }

// A ProtocolError reports an answer that the protocol does not allow. The connection
// stays. The server did answer, so the request has run.
//
//cure:tell the author of the server, with a recording by package cassette
type ProtocolError struct {
	Server string // name of the server, as configured
	Method string // such as "tools/list"
	Path   string // where in the answer, such as "tools[3].name"; may be empty
	Err    error  // what is wrong there
}

func (e *ProtocolError) Error() string {
	text := "mcp: the server sent an invalid answer"
	if e.Server != "" {
		text = fmt.Sprintf("mcp: server %q sent an invalid answer", e.Server)
	}
	if where := strings.TrimSpace(e.Method + " " + e.Path); where != "" {
		text += ": " + where
	}
	return plain.Text(fmt.Sprintf("%s: %v", text, e.Err))
}

func (e *ProtocolError) Unwrap() error { return e.Err }

// Outcome returns [Answered].
func (e *ProtocolError) Outcome() Outcome { return Answered }

// A ProtocolVersionError reports a server that does not speak the protocol revision that
// [ClientOptions].ProtocolVersion pins, or one that this client does not know.
//
//cure:take another ProtocolVersion in ClientOptions, or none, or update the server
type ProtocolVersionError struct {
	want    string   // the pinned revision
	offered []string // what the server has, as it says; empty if it does not say
	err     error    // how the server refused; nil if it offered another one
}

func (e *ProtocolVersionError) Error() string {
	text := fmt.Sprintf("protocol revision %s is not spoken", namesOf([]string{e.want}))
	if len(e.offered) > 0 {
		text += ": the server has " + namesOf(e.offered)
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return plain.Text(text)
}

func (e *ProtocolVersionError) Unwrap() error { return e.err }

// Outcome returns [NotSent]: there is no connection for a request.
func (e *ProtocolVersionError) Outcome() Outcome { return NotSent }

// A LimitError reports that a peer sent more than a limit allows, or, if the outcome is
// [NotSent], that a request has more and was not sent.
//
//cure:ask for less, or raise the limit that the text names
type LimitError struct {
	Limit string // name of the limit, such as "message bytes"
	Max   int64  // its value
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit exceeded: %s > %d", e.Limit, e.Max)
}

// Outcome returns [Answered]: what was too large was an answer.
func (e *LimitError) Outcome() Outcome { return Answered }

// A TimeoutError reports that a call ran into a time limit of the Client (not
// of the caller's context, which returns the context's own error).
//
//cure:see Outcome; if the server needs longer, raise CallTimeout or IdleTimeout of ClientOptions
type TimeoutError struct {
	Limit string        // "idle" or "total"
	After time.Duration // the limit's value
}

func (e *TimeoutError) Error() string {
	if e.Limit == "idle" {
		return fmt.Sprintf("no answer and no progress for %v", e.After)
	}
	return fmt.Sprintf("no answer within %v", e.After)
}

// Timeout reports true, as for a net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// Is makes errors.Is(err, context.DeadlineExceeded) hold, and of no other error.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// namesOf names revisions in a text that is short and safe to print.
func namesOf(versions []string) string {
	const most, size = 8, 32
	var names []string
	for i, version := range versions {
		if i == most {
			names = append(names, "and more")
			break
		}
		if len(version) > size {
			version = version[:size] + "..."
		}
		names = append(names, plain.Line(version))
	}
	return strings.Join(names, ", ")
}
