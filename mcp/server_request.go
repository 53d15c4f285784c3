package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// A server request is an elicitation, sampling, or a request for the roots. Until revision
// 2025-11-25 it is a request of its own; in 2026-07-28 it comes with a result. Both are
// handled here.

const (
	// maxServerRequests is how many requests of one server can be under way, and how many
	// can come with one result.
	maxServerRequests = 16
)

// A RawRequest is a server request as it came, for handlers that pass it on, as a gateway does.
type RawRequest struct {
	// Raw are the parameters as the server wrote them, which may share memory with others: do not
	// change them. Text of an untrusted party.
	Raw json.RawMessage

	answer json.RawMessage
}

// Answer has a JSON object sent as the result, as it is, in the place of what the handler returns: that
// is not looked at then, unless it is an error.
func (r *RawRequest) Answer(result json.RawMessage) { r.answer = oneLine(result) }

type askerKey struct{}

// WithAsker says who is asked what servers want to know in the course of calls under the returned context. If several calls
// are under way, and it is not known which of them makes the server ask, the handler gets the values of the
// context of one of them if all have the same asker, a pointer or another comparable value. Caused of its request
// is false then.
func WithAsker(ctx context.Context, asker any) context.Context {
	return context.WithValue(ctx, askerKey{}, asker)
}

// declares reports whether the server was told that there is a handler for the method.
func (c *Client) declares(method string) bool {
	switch method {
	case protocol.Elicit:
		return c.opts.Elicit != nil || c.opts.ElicitURL != nil
	case protocol.Sample:
		return c.opts.Sample != nil
	case protocol.ListRoots:
		return c.opts.ListRoots != nil
	}
	return false
}

// handleRequest runs the handler for a server request and returns its result. The
// parameters were checked by jsonscan, or are nil. Waits says that the server waits for
// the answer. Of belongs to the request that caused it; nil if that is not known.
func (c *Client) handleRequest(ctx context.Context, method string, params json.RawMessage, waits bool, of *asked) (result json.RawMessage, err error) {
	if !c.declares(method) {
		return nil, &JSONRPCError{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this client has no %.80s", method)}
	}
	err = c.runHandler(method, func() error {
		switch method {
		case protocol.Elicit:
			result, err = c.elicit(ctx, params, waits, of)
		case protocol.Sample:
			result, err = c.sample(ctx, params, of)
		case protocol.ListRoots:
			result, err = c.listRoots(ctx)
		}
		return err
	})
	return result, err
}

// maxHandlers is how many handlers run at a time: as many as requests can be under way, if the
// program wants no limit to what servers ask, since it has many users.
func (c *Client) maxHandlers() int {
	if c.opts.MaxQuestions < math.MaxInt {
		return maxServerRequests
	}
	return min(max(maxServing, c.opts.MaxInFlight), 4096)
}

// runHandler runs a handler of the program, unless too many run already.
func (c *Client) runHandler(method string, handle func() error) (err error) {
	limit := c.maxHandlers()
	defer c.handling.Add(-1)
	if int(c.handling.Add(1)) > limit {
		return refused("more than %d requests at one time", limit)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of %s panicked: %v", method, r)
		}
	}()
	return handle()
}

// A refusal says why a server request is refused, in words that the server may see.
type refusal string

func (r refusal) Error() string { return string(r) }

// refusalOf finds a refusal in an error.
func refusalOf(err error) (string, bool) {
	var reason refusal
	var schema *form.SchemaError
	var field *form.FieldError
	switch {
	case errors.As(err, &reason):
		return string(reason), true
	case errors.As(err, &schema):
		return schema.Error(), true
	case errors.As(err, &field):
		return field.Error(), true
	}
	return "", false
}

func refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// refuse turns an error into an answer for the server. Of an error that a
// handler returned the server learns nothing, unless it is meant for it.
func refuse(err error) *JSONRPCError {
	var invalid *ProtocolError
	var refusal *JSONRPCError
	reason, refusalFor := refusalOf(err)
	switch {
	case errors.As(err, &refusal):
		return refusal
	case refusalFor:
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: reason}
	case errors.As(err, &invalid):
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: %v", invalid.Path, invalid.Err)}
	}
	return &JSONRPCError{Code: jsonrpc.CodeInternalError, Message: "the client could not do that"}
}

// handleInput handles the requests that came with a result of revision 2026-07-28, one
// after the other, and returns the results by the ids that the server gave. Of counts the
// questions among them.
func (c *Client) handleInput(ctx context.Context, conn *connection, of *asked, requests json.RawMessage) (json.RawMessage, error) {
	if requests == nil {
		return nil, nil
	}
	var responses []member
	for id, raw := range jsonscan.Fields(requests) {
		if len(responses) == maxServerRequests {
			return nil, at("inputRequests", fmt.Errorf("more than %d", maxServerRequests))
		}
		path := fmt.Sprintf("inputRequests[%q]", id)
		method, params, err := decodeServerRequest(raw)
		if err == nil && !c.declares(method) {
			err = at("method", fmt.Errorf("%q was not declared by this client", method))
		}
		if err != nil {
			return nil, at(path, err)
		}
		work, o := conn.open(ctx, &jsonrpc.Request{Method: method, Params: params}, true, true)
		var response json.RawMessage
		if isQuestion(method) && !conn.mayAsk(method, of) {
			response, err = declinedAnswer(method)
		} else {
			response, err = c.handleRequest(work, method, params, false, of)
		}
		o.end(response, err)
		if err != nil {
			return nil, notHandled(path, err)
		}
		responses = append(responses, member{string(id), response})
	}
	return object(responses...), nil
}

// notHandled says which request could not be handled. A request that is wrong itself makes
// the answer invalid with which it came.
func notHandled(path string, err error) error {
	if _, ok := refusalOf(err); ok || errors.As(err, new(*ProtocolError)) {
		return at(path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// decodeServerRequest decodes a request that came with a result.
func decodeServerRequest(raw []byte) (method string, params json.RawMessage, err error) {
	err = decodeObject(raw,
		field{name: "method", into: &method},
		field{name: "params", into: func(value []byte) error {
			if !isObject(value) && !isNull(value) {
				return wrongKind(value, anObject)
			}
			params = value
			return nil
		}},
	)
	return method, params, err
}

// A question is an elicitation or a sampling: what a server wants of a human.

const (
	// questionBurst is how many times MaxQuestions a connection can ask at once, and
	// questionPause the time after which it can ask once more.
	questionBurst = 4
	questionPause = time.Second
	// declinedPause is how long after telling of declined questions no more are told of.
	declinedPause = 10 * time.Second
)

// errTooManyQuestions declines a question that is no elicitation.
const errTooManyQuestions = refusal("too many questions")

func isQuestion(method string) bool { return method == protocol.Elicit || method == protocol.Sample }

// asked counts the questions in the course of one request of a caller.
type asked struct {
	n      atomic.Int64
	tool   string // that the request calls; empty if none
	awaits bool   // the request has become a task; changed only while there is no pending request of it
}

// cause returns what a handler is told of the request that caused a question.
func (a *asked) cause() (caused bool, tool string) {
	if a == nil {
		return false, ""
	}
	return true, a.tool
}

// more counts up to n questions, as far as limit lets it, and returns how many.
func (a *asked) more(n, limit int64) int64 {
	n = min(n, max(0, limit-a.n.Load()))
	a.n.Add(n)
	return n
}

// more counts a question that belongs to one of the requests on their way, though it is
// not known to which. It reports whether there is room for it, or no such request.
func (conn *connection) more(limit int64) bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	room, none := int64(0), true
	for p := range conn.pending {
		if of := p.request.asked; of != nil {
			room += max(0, limit-of.n.Load())
			none = false
		}
	}
	if none {
		return true
	}
	if conn.questions >= room {
		return false
	}
	conn.questions++
	return true
}

// settleLocked counts as many questions as there is room for as those of a request that
// ends, so that one that asks little is not at a loss for it.
func (conn *connection) settleLocked(of *asked) {
	if of != nil && conn.questions > 0 {
		conn.questions -= of.more(conn.questions, conn.client.maxQuestions())
	}
}

// An allowance is how many questions a connection may ask, whatever for.
type allowance struct {
	mu   sync.Mutex
	full time.Time // when it is as large as at first
}

// receive takes a question from an allowance of size at most. It reports whether there is
// one.
func (a *allowance) take(size int64) bool {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > time.Duration(size-1)*questionPause {
		return false
	}
	a.full = a.full.Add(questionPause)
	return true
}

func (c *Client) maxQuestions() int64 {
	const most = 1 << 20 // more is no bound
	return int64(min(c.opts.MaxQuestions, most))
}

// mayAsk counts a question of the server. It reports whether it may be asked, and tells
// the program if not. Of is the request that it belongs to; nil if that is not known.
func (conn *connection) mayAsk(method string, of *asked) bool {
	limit := conn.client.maxQuestions()
	var may bool
	if of != nil {
		may = of.more(1, limit) == 1
	} else {
		may = conn.more(limit)
	}
	if may && conn.allowance.take(questionBurst*limit) {
		return true
	}
	conn.client.declined(method)
	return false
}

// declined counts a question that was declined.
func (c *Client) declined(method string) {
	c.mu.Lock()
	s := c.state
	s.QuestionsDeclined++
	tell := c.declinedAt.IsZero() || time.Since(c.declinedAt) >= declinedPause
	if tell {
		c.declinedAt = time.Now()
		c.setLocked(s, c.current)
	} else {
		c.state = s
	}
	c.mu.Unlock()
	if tell {
		c.opts.Logger.Warn("mcp: the server asks too many questions: declined", "server", c.name, "method", method, "declined", s.QuestionsDeclined)
	}
}

// declinedAnswer is the answer to a question that the user was not asked.
func declinedAnswer(method string) (json.RawMessage, error) {
	if method == protocol.Elicit {
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	return nil, errTooManyQuestions
}
