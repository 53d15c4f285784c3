package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp/internal/pages"
)

// pagesIn returns what a server of revision 2025-11-25 wants the user to visit
// before it runs a request, as parameters of elicitations, or nil if that is not why it refused.
func (c *Client) pagesIn(err error, conn *connection) []json.RawMessage {
	var refused *ServerError
	if c.opts.ElicitURL == nil || conn == nil || conn.modern() || !errors.As(err, &refused) || refused.Err.Code != protocol.CodeURLRequired {
		return nil
	}
	if jsonscan.Valid(refused.Err.Data) != nil {
		return nil
	}
	var wanted []json.RawMessage
	walk := jsonscan.Walk(refused.Err.Data)
	for key := range walk.Members() {
		if string(key) != "elicitations" || walk.Kind() != '[' {
			continue
		}
		for range walk.Elements() {
			raw := walk.Value()
			params, err := decodeElicit(raw)
			if err != nil || params.Mode != "" && params.Mode != "url" || len(wanted) == maxServerRequests {
				return nil
			}
			wanted = append(wanted, raw)
		}
	}
	return wanted
}

// visit has the user visit the pages that stand before a request, and returns when they
// are done with all of them.
func (x *exchange) visit(ctx context.Context, wanted []json.RawMessage, cause error) error {
	bounded, stop := x.within(ctx)
	defer stop()
	late := func() error {
		return x.answered(fmt.Errorf("waiting for the user to visit a page: %w", x.ended(ctx)))
	}
	var open []*pages.Page
	for _, raw := range wanted {
		var p *pages.Page
		if !x.conn.mayAsk(protocol.Elicit, &x.asked) {
			return x.answered(fmt.Errorf("%w: %w", errTooManyQuestions, cause))
		}
		err := x.client.runHandler(protocol.Elicit, func() (err error) {
			params, err := decodeElicit(raw)
			if err == nil {
				_, p, err = x.client.elicitURL(bounded, params, raw, false, &x.asked)
			}
			return err
		})
		if err != nil && bounded.Err() != nil {
			return late()
		}
		if err == nil && p == nil {
			err = errors.New("the user did not agree to visit the page")
		}
		if err != nil {
			return x.answered(fmt.Errorf("%w: %w", err, cause))
		}
		open = append(open, p)
	}
	for _, p := range open {
		select {
		case <-p.Completed:
		case <-bounded.Done():
			return late()
		}
	}
	return nil
}

const (
	// maxInputRounds is how often in one exchange a server may ask for input.
	maxInputRounds = 10
	// maxBusyRounds is how often in one exchange a server may ask for nothing
	// but to be asked again, and busyWait the wait before the first time.
	maxBusyRounds = 3
	busyWait      = 200 * time.Millisecond
)

// RequestOptions are the options of one request, such as a call of a tool. Nil means the
// defaults.
type RequestOptions struct {
	// Progress receives what the server reports of its progress, in order, on
	// the caller's goroutine, and before the method returns.
	Progress func(*ProgressParams)
	// IdleTimeout and CallTimeout replace those of [ClientOptions]. Negative: none.
	IdleTimeout, CallTimeout time.Duration
	// Meta holds further members of the request's _meta.
	Meta Meta
	// Input, if not nil, makes the caller get what the server needs before it answers,
	// instead of the handlers. [Client.Request] and [Client.Complete] ignore it.
	Input *InputRound

	// Raw, if not nil, receives the result as the server wrote it, which may share memory
	// with others: do not change it. Only ReadResource, GetPrompt and Complete heed it.
	Raw *json.RawMessage

	// The following are for [Client.CallTool], and Task is for [Client.ResumeTask] as well.

	// Task says what to do if the call becomes a task. Nil means the defaults.
	Task *TaskOptions
	// Connection, if not 0, restricts the call to the connection of that number, see
	// Connections of [State]: it is for callers that have read the tools on it. Once
	// there is a newer one the call fails with [ErrOtherConnection].
	Connection int
	// SkipContent leaves the Content of a result empty, which spares most of the work for a
	// long one. It is for callers that pass on what Raw of the result returns; the result's
	// WithContent has the content. It does not count if the call becomes a task.
	SkipContent bool
}

// An InputRound is one round of a request of revision 2026-07-28 for which the caller
// gets the server's input itself: a gateway without state passes the server requests on to
// its own client, and the responses back. If the server needs input the error is an
// [*InputRequiredError]; make the same request again with the responses to continue. The
// zero value is the first round.
//
// The handlers of [ClientOptions] still determine which capabilities are declared, unless the
// round says so, and still handle what does not come with a result: the server requests of
// an older revision, where the fields mean nothing, and the input for a task. MaxQuestions
// does not count what the caller handles.
type InputRound struct {
	// Responses are the results of Requests of the error, by the same ids: a JSON object,
	// or empty. It is sent as it is.
	Responses json.RawMessage
	// State is State of the error, or empty. It is sent as it is.
	State json.RawMessage
	// Capabilities are those of the client that gives the responses, such as
	// {"elicitation":{"form":{}}}, and are declared in the place of this client's own to a
	// server of revision 2026-07-28. Empty: its own are.
	Capabilities json.RawMessage
}

// An InputRequiredError reports that a server of revision 2026-07-28 needs input before it
// answers a request that was made with an [InputRound]. It is no failure: the server waits
// for the next round, which any client of the same server can make.
//
//cure:answer what it asks for, and make the next round with the answers
type InputRequiredError struct {
	server string // name of the server, as configured
	method string // such as "tools/call"
	tool   string // name of the tool, if Method is tools/call
	// Requests are the server requests by the ids that the server gave them: a JSON
	// object, as it came.
	Requests json.RawMessage
	// State is the server's requestState, as it came; nil if there is none.
	State json.RawMessage
}

// Error returns a text without anything of Requests and State.
func (e *InputRequiredError) Error() string {
	return plain.Text(fmt.Sprintf("mcp: server %q: %s: the server needs input", e.server, strings.TrimSpace(e.method+" "+e.tool)))
}

// Outcome returns [Answered].
func (e *InputRequiredError) Outcome() Outcome { return Answered }

// An exchange is one request of a caller with all its rounds: before it answers,
// the server may ask for input, and is then asked again.
type exchange struct {
	client   *Client
	request  request
	progress func(*ProgressParams) // may be nil
	input    *InputRound           // that the caller makes itself; nil: the handlers make all rounds
	rounds   int                   // requests sent
	asked    asked
	conn     *connection // of the last one; nil if there was none

	first pendingRequest // of the first round
}

// begin prepares a request with at most two parameters of its own.
func (x *exchange) begin(c *Client, method string, opts *RequestOptions, params ...member) {
	var o RequestOptions
	if opts != nil {
		o = *opts
	}
	setLimit(&o.IdleTimeout, c.opts.IdleTimeout, noTimeout)
	setLimit(&o.CallTimeout, c.opts.CallTimeout, noTimeout)
	x.client, x.progress, x.input = c, o.Progress, o.Input
	x.request.fill(method, o.IdleTimeout, o.CallTimeout, params)
	x.request.meta, x.request.call, x.request.asked = o.Meta, x, &x.asked
	x.request.params[paramResponses].key = "inputResponses"
	x.request.params[paramState].key = "requestState"
	x.request.params[paramTask].key = "task"
}

// resume puts the responses and the state of an earlier round into the request. They may
// be empty.
func (x *exchange) resume(r *InputRound) error {
	if len(r.Responses) > 0 {
		if _, err := jsonscan.Scan(r.Responses); err != nil {
			return fmt.Errorf("inputResponses: %w", err)
		}
		x.request.params[paramResponses].value = oneLine(r.Responses)
	}
	if len(r.State) > 0 {
		if err := jsonscan.Valid(r.State); err != nil {
			return fmt.Errorf("requestState: %w", err)
		}
		x.request.params[paramState].value = oneLine(r.State)
	}
	if len(r.Capabilities) > 0 {
		if _, err := jsonscan.Scan(r.Capabilities); err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
		x.request.capabilities = oneLine(r.Capabilities)
	}
	return nil
}

// run sends the request until there is an answer. Decode takes a result of the server, or
// returns what the server needs before there is one.
func (x *exchange) run(ctx context.Context, decode func(result json.RawMessage, conn *connection) (*inputRequired, error)) error {
	busy := 0
	if x.input != nil {
		if err := x.resume(x.input); err != nil {
			return x.client.explain(&x.request, WithOutcome(err, NotSent))
		}
	}
	for {
		x.rounds++
		result, conn, err := x.send(ctx)
		x.conn = conn
		if err != nil {
			wanted := x.client.pagesIn(err, conn)
			if wanted == nil || x.rounds == maxInputRounds {
				if x.rounds > 1 && OutcomeOf(err) == NotSent {
					err = WithOutcome(err, Answered) // what came before was sent
				}
				return err
			}
			if err := x.visit(ctx, wanted, err); err != nil {
				return err
			}
			continue
		}
		need, err := decode(result, conn)
		if err != nil {
			return x.answered(err)
		}
		if need == nil {
			return nil
		}
		if x.input != nil && need.requests != nil {
			return &InputRequiredError{server: x.client.name, method: x.request.method, tool: x.request.tool, Requests: need.requests, State: need.state}
		}
		if x.rounds == maxInputRounds {
			return x.answered(at("inputRequests", fmt.Errorf("the server asked for input %d times in one call", x.rounds)))
		}
		if need.requests == nil {
			if busy++; busy > maxBusyRounds {
				return x.answered(at("inputRequests", errors.New("the server asks to be called again and again")))
			}
			if err := feed.Sleep(ctx, busyWait<<(busy-1)); err != nil {
				return x.answered(err)
			}
		}
		if err := x.fulfil(ctx, need); err != nil {
			return x.answered(err)
		}
	}
}

// fetch makes a request of a server that offers it, and returns its result as decode reads it.
func fetch[T any](ctx context.Context, x *exchange, opts *RequestOptions, decode func(raw json.RawMessage, modern bool) (*T, *inputRequired, error)) (res *T, err error) {
	if err := x.client.enter(); err != nil {
		return nil, x.client.explain(&x.request, err)
	}
	defer x.client.leave()
	err = x.run(ctx, func(raw json.RawMessage, conn *connection) (need *inputRequired, err error) {
		if res, need, err = decode(raw, conn.modern()); res != nil && opts != nil && opts.Raw != nil {
			*opts.Raw = raw
		}
		return need, err
	})
	return decoded(res, err)
}

// offered returns an error unless the server offers what a request is about.
func (x *exchange) offered(ctx context.Context, lacks string, offers func(*connection) bool) error {
	conn, err := x.client.enterConnected(ctx, &x.request)
	if err != nil {
		return err
	}
	defer x.client.leave()
	if !offers(conn) {
		return x.client.explain(&x.request, WithOutcome(fmt.Errorf("the server %s: %w", lacks, errors.ErrUnsupported), NotSent))
	}
	return nil
}

// within returns a context that ends with the time of the exchange, and with the
// client.
func (x *exchange) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithDeadline(ctx, x.request.until)
	unbind := context.AfterFunc(x.client.closing, stop)
	return ctx, func() { unbind(); stop() }
}

// ended returns why a context made by within has ended.
func (x *exchange) ended(ctx context.Context) error {
	switch {
	case x.client.closing.Err() != nil:
		return ErrClosed
	case !time.Now().Before(x.request.until):
		return &TimeoutError{"total", x.request.total}
	}
	return ctx.Err()
}

// fulfil gets the server what it needs.
func (x *exchange) fulfil(ctx context.Context, need *inputRequired) error {
	bounded, stop := x.within(ctx)
	defer stop()
	responses, err := x.conn.handleInput(bounded, &x.asked, need.requests)
	if err != nil && bounded.Err() != nil {
		err = fmt.Errorf("waiting for what the server wants to know: %w", x.ended(ctx))
	}
	x.request.params[paramResponses].value, x.request.params[paramState].value = responses, need.state
	return err
}

// send sends the request as it stands, and once more if the server refused it
// because of its header fields: the schema that asks for them has changed since
// it was listed, and the call was not run. The connection is that of the last attempt,
// or nil if there was none.
func (x *exchange) send(ctx context.Context) (json.RawMessage, *connection, error) {
	raw, conn, err := x.sendOnce(ctx)
	if err == nil || x.request.tool == "" || refusalCode(err) != protocol.CodeHeaderMismatch {
		return raw, conn, err
	}
	x.client.forgetTools()
	if _, listErr := x.client.Tools(ctx); listErr != nil {
		return nil, conn, err
	}
	return x.sendOnce(ctx)
}

func (x *exchange) sendOnce(ctx context.Context) (json.RawMessage, *connection, error) {
	if x.request.tool != "" {
		x.request.header = paramheader.Fields(x.client.knownTool(x.request.tool).headers, x.request.params[paramArguments].value)
	}
	if x.rounds > 1 || x.first.conn != nil {
		return x.client.send(ctx, &x.request)
	}
	return x.client.sendWith(ctx, &x.request, &x.first)
}

// report hands one notification of progress on. Every exchange asks for
// progress, since it also shows that the server is alive.
func (x *exchange) report(raw json.RawMessage) {
	if x.progress == nil {
		return
	}
	var params ProgressParams
	if json.Unmarshal(raw, &params) == nil {
		x.progress(&params)
	}
}

// repeatable reports whether the request can be sent twice without harm. Only
// tools have side effects.
func (x *exchange) repeatable() bool {
	if x.request.tool == "" {
		return !x.request.effectUnknown
	}
	if !x.client.opts.TrustAnnotations {
		return false
	}
	tool := x.client.knownTool(x.request.tool)
	return tool.Tool != nil && tool.Annotations != nil && (tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint)
}

// answered gives its final form to an error about what the server answered.
func (x *exchange) answered(err error) error {
	if invalid, ok := errors.AsType[*ProtocolError](err); ok {
		invalid = &ProtocolError{Server: x.client.name, Method: x.request.method, Path: invalid.Path, Err: invalid.Err}
		if errors.Is(err, errUnaskedTask) {
			return &OutcomeUnknownError{Server: x.client.name, Method: x.request.method, Tool: x.request.tool, Err: invalid}
		}
		return invalid
	}
	what := strings.TrimSpace(x.request.method + " " + x.request.tool)
	return WithOutcome(fmt.Errorf("mcp: server %q: %s: %w", x.client.name, what, err), Answered)
}
