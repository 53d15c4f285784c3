package mcp

import (
	"context"
	"errors"
	"maps"
	"net/http"

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

func (e *outcomeError) Error() string    { return plain.Text(e.err.Error()) }
func (e *outcomeError) Unwrap() error    { return e.err }
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
