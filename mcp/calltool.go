package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const (
	methodCallTool = "tools/call"
	// maxInputRounds is how often in one call a server may ask for input.
	maxInputRounds = 10
	// maxBusyRounds is how often in one call a server may ask for nothing but
	// to be called again, and busyWait the wait before the first time.
	maxBusyRounds = 3
	busyWait      = 200 * time.Millisecond
)

// CallToolOptions are the options of one call. Nil means the defaults.
type CallToolOptions struct {
	// Progress receives what the server reports of its progress, in order, on
	// the caller's goroutine, and before CallTool returns.
	Progress func(*ProgressParams)
	// IdleTimeout and CallTimeout replace those of [ClientOptions].
	IdleTimeout, CallTimeout time.Duration
	// Meta holds further members of the request's _meta.
	Meta Meta
}

// CallTool calls a tool. The arguments must be a JSON object; empty means {}.
// They are sent as they are, and the result's StructuredContent holds what the
// server sent as a [json.RawMessage].
//
// A failure of the tool itself is no error but a result with IsError set. The
// errors are [*ServerError] if the server refused the call, [*ProtocolError] if
// its answer is not allowed, [*LimitError] if it is too large,
// [*UnavailableError] if there is no connection, [*OutcomeUnknownError] if the
// call was sent and nothing tells what became of it, and what Elicit returned if
// the server asked and could not be answered. See [OutcomeOf].
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, opts *CallToolOptions) (*CallToolResult, error) {
	var o CallToolOptions
	if opts != nil {
		o = *opts
	}
	orDefault(&o.IdleTimeout, c.opts.IdleTimeout)
	orDefault(&o.CallTimeout, c.opts.CallTimeout)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if _, err := jsonscan.Scan(args); err != nil {
		return nil, WithOutcome(fmt.Errorf("mcp: server %q: tool %q: arguments: %w", c.name, name, err), NotSent)
	}
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: methodCallTool}, err)
	}
	defer c.leave()
	call := &toolCall{client: c, name: name, args: args, opts: o}
	call.prepare()
	return call.run(ctx)
}

// A toolCall is one CallTool with all its rounds.
type toolCall struct {
	client  *Client
	name    string
	args    json.RawMessage
	opts    CallToolOptions
	request request
	first   flight // of the first request
	sent    bool   // first is used
	room    [48]byte
}

// prepare writes the request, but for what later rounds add.
func (t *toolCall) prepare() {
	t.request = request{
		method: methodCallTool,
		tool:   t.name,
		params: [4]member{{"name", t.quoted()}, {"arguments", t.args}, {"inputResponses", nil}, {"requestState", nil}},
		meta:   t.opts.Meta,
		call:   t,
		idle:   t.opts.IdleTimeout,
		total:  t.opts.CallTimeout,
		until:  time.Now().Add(t.opts.CallTimeout),
	}
}

// quoted returns the name of the tool as a JSON string, without taking memory
// for one that is short.
func (t *toolCall) quoted() json.RawMessage { return appendQuoted(t.room[:0], t.name) }

func (t *toolCall) run(ctx context.Context) (*CallToolResult, error) {
	busy := 0
	for round := 1; ; round++ {
		raw, l, err := t.send(ctx)
		if err != nil {
			if round > 1 && OutcomeOf(err) == NotSent {
				err = WithOutcome(err, Answered) // what came before was sent
			}
			return nil, err
		}
		res, need, err := decodeCallResult(raw, l.modern())
		if err != nil {
			return nil, t.answered(err)
		}
		if need == nil {
			return res, nil
		}
		if round == maxInputRounds {
			return nil, t.answered(at("inputRequests", fmt.Errorf("the server asked for input %d times in one call", round)))
		}
		if need.requests == nil {
			if busy++; busy > maxBusyRounds {
				return nil, t.answered(at("inputRequests", errors.New("the server asks to be called again and again")))
			}
			if err := sleep(ctx, busyWait<<(busy-1)); err != nil {
				return nil, t.answered(err)
			}
		}
		if err := t.fulfil(ctx, need); err != nil {
			return nil, t.answered(err)
		}
	}
}

// fulfil gives the server what it needs, within the time of the call.
func (t *toolCall) fulfil(ctx context.Context, need *inputRequired) error {
	ctx, stop := context.WithDeadline(ctx, t.request.until)
	defer stop()
	defer context.AfterFunc(t.client.closing, stop)()
	responses, err := t.client.fulfil(ctx, need.requests)
	t.request.params[2].value, t.request.params[3].value = responses, need.state
	return err
}

// send sends the call as it stands, and once more if the server refused it
// because of its header fields: the schema that asks for them has changed since
// it was listed, and the call was not run.
func (t *toolCall) send(ctx context.Context) (json.RawMessage, *life, error) {
	raw, l, err := t.sendOnce(ctx)
	if err == nil || !headerMismatch(err) {
		return raw, l, err
	}
	t.client.forgetTools()
	if _, listErr := t.client.Tools(ctx); listErr != nil {
		return nil, nil, err
	}
	return t.sendOnce(ctx)
}

func (t *toolCall) sendOnce(ctx context.Context) (json.RawMessage, *life, error) {
	t.request.header = headerFields(t.client.knownTool(t.name).headers, t.args)
	if t.sent {
		return t.client.send(ctx, &t.request)
	}
	t.sent = true
	return t.client.sendWith(ctx, &t.request, &t.first)
}

// headerMismatch reports whether a server of revision 2026-07-28 refused a
// request because its header fields did not repeat its body as they should.
func headerMismatch(err error) bool {
	const code = -32020
	var refused *ServerError
	return errors.As(err, &refused) && refused.Err.Code == code
}

// progress hands one notification on. Every call asks for progress, since it
// also shows that the server is alive.
func (t *toolCall) progress(raw json.RawMessage) {
	if t.opts.Progress == nil {
		return
	}
	var params ProgressParams
	if json.Unmarshal(raw, &params) == nil {
		t.opts.Progress(&params)
	}
}

func (t *toolCall) repeatable() bool {
	if !t.client.opts.TrustAnnotations {
		return false
	}
	tool := t.client.knownTool(t.name)
	return tool.Tool != nil && tool.Annotations != nil && (tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint)
}

// answered gives its final form to an error about what the server answered.
func (t *toolCall) answered(err error) error {
	var invalid *ProtocolError
	if errors.As(err, &invalid) {
		return &ProtocolError{Server: t.client.name, Method: methodCallTool, Path: invalid.Path, Err: invalid.Err}
	}
	return WithOutcome(fmt.Errorf("mcp: server %q: %s %s: %w", t.client.name, methodCallTool, t.name, err), Answered)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
