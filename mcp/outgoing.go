package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Places of the parameters of an exchange, behind those of its method.
const (
	paramResponses = 2 + iota
	paramState
	paramTask
	numParams
)

// A request is one request of the client, which may be sent more than once.
type request struct {
	method string
	tool   string            // for errors
	params [numParams]member // those without a value are left out
	more   []member          // further parameters
	meta   Meta              // the caller's own members of _meta
	header map[string]string // further HTTP header fields
	call   rounds            // that it belongs to; may be nil
	asked  *asked            // questions in the course of it; nil if it is no reason for any
	caller context.Context   // of its caller; set when it is sent
	trace  *RequestInfo      // while it is traced

	capabilities json.RawMessage // declared in the place of the client's own; nil: those are

	effectUnknown  bool // nothing is known of what it does
	onlyConnection int  // number of the only connection that it may be sent on; 0: any

	idle  time.Duration
	total time.Duration
	until time.Time // when total is over, for all requests that make up a call
}

// rounds are the requests that make up a call of the program.
type rounds interface {
	repeatable() bool              // whether the request can be sent twice without harm
	report(params json.RawMessage) // hands one notification of progress on
}

// fill makes a request that may take that time in all, and be without an answer or progress
// for idle.
func (r *request) fill(method string, idle, total time.Duration, params []member) {
	r.method, r.idle, r.total, r.until = method, idle, total, time.Now().Add(total)
	copy(r.params[:], params)
}

// newRequest returns a request with the client's own limits of time.
func (s *shared) newRequest(method string, params ...member) *request {
	r := &request{}
	r.fill(method, s.opts.IdleTimeout, s.opts.CallTimeout, params)
	return r
}

// repeatable reports whether running the request twice does no harm.
func (r *request) repeatable() bool { return r.call == nil || r.call.repeatable() }

// task returns the id of the task that the request is about; empty if it is about none.
func (r *request) task() string {
	if r.params[0].key != "taskId" {
		return ""
	}
	id, _ := jsonscan.String(r.params[0].value)
	return id
}

// size returns how many bytes the parameters have.
func (r *request) size() (bytes int64) {
	for _, m := range r.params {
		bytes += int64(len(m.value))
	}
	for _, m := range r.more {
		bytes += int64(len(m.value))
	}
	return bytes
}

// appendParams appends the parameters to an object, and its end.
func (r *request) appendParams(object []byte) []byte {
	object = appendMembers(object, r.params[:]...)
	if len(r.more) == 0 {
		return object
	}
	return appendMembers(object[:len(object)-1], r.more...)
}

// explain gives an error its final form: it names the server and the request,
// and tells the outcome.
func (s *shared) explain(r *request, err error) error {
	var answer *JSONRPCError
	var invalid *ProtocolError
	outcome := OutcomeOf(err)
	answered := outcome == Answered // else what is inside ended the connection, and answers another request
	switch {
	case errors.As(err, new(*UnavailableError)), errors.As(err, new(*BusyError)):
		return err
	case answered && errors.As(err, &invalid):
		return &ProtocolError{Server: s.name, Method: r.method, Path: invalid.Path, Err: invalid.Err}
	case answered && errors.As(err, &answer):
		return &ServerError{Server: s.name, Method: r.method, Err: answer}
	}
	switch outcome {
	case Unknown:
		return &OutcomeUnknownError{Server: s.name, Method: r.method, Tool: r.tool, Err: err}
	case NotSent:
		return WithOutcome(fmt.Errorf("mcp: server %q: %s not sent: %w", s.name, r.method, err), NotSent)
	default:
		return WithOutcome(fmt.Errorf("mcp: server %q: %s: %w", s.name, r.method, err), outcome)
	}
}

// taskRequest returns a request about a task.
func (s *shared) taskRequest(method, id string) *request {
	return s.newRequest(method, member{"taskId", appendQuoted(nil, id)})
}

// trace begins to trace a request of this client; nil if there is no tracer.
func (s *shared) trace(ctx context.Context, r *request) (context.Context, *RequestInfo) {
	if s.tracing == nil {
		return ctx, nil
	}
	r.trace = &RequestInfo{Server: s.name, Method: r.method, outgoing: [2][]member{r.params[:], r.more}, own: r.meta}
	return s.tracing.start(ctx, r.trace), r.trace
}

// traceUnsent traces a request that comes to nothing before it could be sent.
func (s *shared) traceUnsent(ctx context.Context, r *request, err error) {
	_, info := s.trace(ctx, r)
	info.end(nil, err)
}
