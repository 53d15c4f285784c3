package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const methodCallTool = "tools/call"

// paramArguments is the place of a tool's arguments in the request.
const paramArguments = 1

// CallToolOptions are the options of one call. Nil means the defaults.
type CallToolOptions struct {
	// Progress receives what the server reports of its progress, in order, on
	// the caller's goroutine, and before CallTool returns.
	Progress func(*ProgressParams)
	// IdleTimeout and CallTimeout replace those of [ClientOptions].
	IdleTimeout, CallTimeout time.Duration
	// Meta holds further members of the request's _meta.
	Meta Meta
	// Task says what to do if the call becomes a task. Nil means the defaults.
	Task *TaskOptions
	// Connection, if not 0, restricts the call to the connection of that number, see
	// Connections of [State]: it is for callers that have read the tools on it. Once
	// there is a newer one the call fails with [ErrOtherConnection].
	Connection int
}

// CallTool calls a tool. The arguments must be a JSON object; empty means {}.
// They are sent as they are, and the result's StructuredContent holds what the
// server sent as a [json.RawMessage].
//
// A failure of the tool itself is no error but a result with IsError set. The errors
// are [*ServerError] if the server refused the call, [*ProtocolError] if its answer is
// not allowed, [*LimitError] if it is too large, [*OutputError] if the result does not
// match the tool's output schema, [*UnavailableError] if there is no connection,
// [*OutcomeUnknownError] if the call was sent and its outcome is unknown, [*TaskError]
// if the call became a task that did not end well, and what Elicit or another handler
// returned if the server asked and could not be answered. See [OutcomeOf].
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, opts *CallToolOptions) (*CallToolResult, error) {
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
	call := &toolCall{}
	call.prepare(c, name, args, opts)
	var task *TaskOptions
	if opts != nil {
		task = opts.Task
	}
	if err := call.offerTask(ctx, task); err != nil {
		c.traceUnsent(ctx, &call.request, err)
		return nil, err
	}
	defer c.tasks.leave(call.watch)
	if err := call.run(ctx, call); err != nil {
		return nil, err
	}
	if call.task != nil {
		if err := call.await(ctx, call.task, opts); err != nil {
			return nil, err
		}
	}
	if err := c.checkOutput(ctx, call.request.until, call.life, name, call.result); err != nil {
		return nil, err
	}
	return call.result, nil
}

// A toolCall is one CallTool.
type toolCall struct {
	exchange
	result *CallToolResult
	task   *taskState // what the call has become; nil: no task
	room   [48]byte
}

// prepare writes the request, but for what later rounds add.
func (t *toolCall) prepare(c *Client, name string, args json.RawMessage, opts *CallToolOptions) {
	t.beginCall(c, methodCallTool, opts, member{"name", appendQuoted(t.room[:0], name)}, member{"arguments", args})
	t.request.tool = name
	if opts != nil {
		t.request.life = opts.Connection
	}
}

// beginCall is begin with the options of a call.
func (t *toolCall) beginCall(c *Client, method string, opts *CallToolOptions, params ...member) {
	var o CallToolOptions
	if opts != nil {
		o = *opts
	}
	t.begin(c, method, &RequestOptions{Progress: o.Progress, IdleTimeout: o.IdleTimeout, CallTimeout: o.CallTimeout, Meta: o.Meta}, params...)
}

// decode implements answer.
func (t *toolCall) decode(raw json.RawMessage, l *life) (need *inputRequired, err error) {
	if t.request.params[paramTask].value != nil {
		if t.task, err = createdTask(raw); t.task != nil || err != nil {
			return nil, err
		}
	}
	t.result, need, err = decodeCallResult(raw, l.modern())
	if err != nil && l.modern() && isTask(err) {
		if !t.client.declaresTasks() {
			return nil, at("resultType", errUnaskedTask)
		}
		t.task, err = decodeTask(raw, true)
	}
	return need, err
}
