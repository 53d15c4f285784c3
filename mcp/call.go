package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// paramArguments is the place of a tool's arguments in the request.
const paramArguments = 1

// CallTool calls a tool. The arguments must be a JSON object; empty means {}.
// They are sent as they are, except that line breaks between tokens become spaces, since
// a line is a message to local servers. The result's StructuredContent holds what the
// server sent as a [json.RawMessage], and its Raw is the whole of it.
//
// A failure of the tool itself is no error but a result with IsError set. The errors
// are [*ServerError] if the server refused the call, [*ProtocolError] if its answer is
// not allowed, [*LimitError] if it is too large, [*OutputError] if the result does not
// match the tool's output schema, [*UnavailableError] if there is no connection,
// [*OutcomeUnknownError] if the call was sent and its outcome is unknown, [*TaskError]
// if the call became a task that did not end well, [*InputRequiredError] if the caller
// makes the rounds itself and the server needs input, and what Elicit or another handler
// returned if the server asked and could not be answered. See [OutcomeOf].
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, opts *RequestOptions) (*CallToolResult, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if opts == nil {
		opts = &RequestOptions{}
	}
	if !jsonscan.IsChecked(ctx, args) {
		if _, err := jsonscan.Scan(args); err != nil {
			return nil, WithOutcome(fmt.Errorf("mcp: server %q: tool %q: arguments: %w", c.name, name, err), NotSent)
		}
	}
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: protocol.CallTool}, err)
	}
	defer c.leave()
	call := &toolCall{}
	call.prepare(c, name, args, opts)
	if err := call.offerTask(ctx, opts.Task); err != nil {
		c.traceUnsent(ctx, &call.request, err)
		return nil, err
	}
	if err := call.run(ctx, call.decode); err != nil {
		return nil, err
	}
	if call.task != nil {
		result, err := call.await(ctx, call.task, opts.Task)
		if err != nil {
			return nil, err
		}
		call.result = result
	}
	if err := c.checkOutput(ctx, call.request.until, call.conn, name, call.result); err != nil {
		return nil, err
	}
	return call.result, nil
}

// A toolCall is one CallTool.
type toolCall struct {
	exchange
	result *CallToolResult
	task   *taskState // what the call has become; nil: no task
	skips  bool       // see SkipContent
	room   [48]byte
}

// prepare writes the request, but for what later rounds add.
func (t *toolCall) prepare(c *Client, name string, args json.RawMessage, opts *RequestOptions) {
	t.begin(c, protocol.CallTool, opts, member{"name", appendQuoted(t.room[:0], name)}, member{"arguments", oneLine(args)})
	t.request.tool, t.asked.tool = name, name
	t.request.onlyConnection, t.skips = opts.Connection, opts.SkipContent
}

// decode implements answer.
func (t *toolCall) decode(raw json.RawMessage, conn *connection) (need *inputRequired, err error) {
	if t.request.params[paramTask].value != nil {
		if t.task, err = createdTask(raw); t.task != nil || err != nil {
			return nil, err
		}
	}
	t.result, need, err = decodeCallResult(raw, conn.modern(), t.skips)
	if conn.modern() && errors.Is(err, unknownResult("task")) {
		if !t.client.opts.declaresTasks() {
			return nil, at("resultType", errUnaskedTask)
		}
		t.task, err = decodeTask(raw, true)
	}
	return need, err
}

// Request sends a request of any method, such as one of an extension, and returns the
// result as the server wrote it, whatever its resultType. Params must be a JSON object
// without _meta, or empty; what the revision requires in _meta is added.
//
// The client knows nothing of the method: it does not look for a capability, and
// repeats the request only if it was not sent. The errors are those of
// [Client.CallTool].
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, opts *RequestOptions) (json.RawMessage, error) {
	more, err := membersOf(params)
	switch {
	case err != nil:
	case method == protocol.Initialize || method == protocol.Listen || method == "":
		err = errors.New("this method is the client's own")
	default:
		err = c.enter()
	}
	if err != nil {
		return nil, c.explain(&request{method: method}, WithOutcome(err, NotSent))
	}
	defer c.leave()
	x := &exchange{}
	x.begin(c, method, opts)
	x.request.more, x.request.effectUnknown = more, true
	result, _, err := x.send(ctx)
	if err == nil && protocol.ListsItems(method) {
		if err := jsonscan.Valid(result); err != nil {
			return nil, x.answered(at("result", err))
		}
	}
	return result, err
}

// checkOutput checks a complete result against the output schema of its tool, as
// last listed. A list is read, until the given time, if there is none yet, or
// if the result does not match and a notification said that there is another one.
func (c *Client) checkOutput(ctx context.Context, until time.Time, conn *connection, tool string, res *CallToolResult) error {
	if res.IsError || !protocol.RevisionOf(conn.info.revision).StructuredContent {
		return nil
	}
	content, _ := res.StructuredContent.(json.RawMessage)
	schema, never, stale := c.knownOutput(conn, tool)
	err := c.checkContent(ctx, tool, schema, content, conn.modern())
	if stale && (err != nil || content != nil && never) {
		c.forgetTools()
		if c.listForOutput(ctx, until, tool) {
			schema, _, _ = c.knownOutput(conn, tool)
			err = c.checkContent(ctx, tool, schema, content, conn.modern())
		}
	}
	if err == nil {
		return nil
	}
	own := *res.WithContent()
	own.raw = nil // or the whole message would be kept
	own.Content = slices.Clone(own.Content)
	if content != nil {
		own.StructuredContent = json.RawMessage(bytes.Clone(content))
	}
	invalid := &OutputError{Server: c.name, Tool: tool, Result: &own, Err: err}
	if wrong, ok := errors.AsType[*schemagate.Problem](err); ok {
		invalid.Path = wrong.Path
	}
	return invalid
}

// checkContent checks the structured content of a result of a tool. A nil schema allows all,
// and so does one that cannot be used: it is optional, and the result is there.
func (c *Client) checkContent(ctx context.Context, tool string, schema *outputSchema, content json.RawMessage, modern bool) error {
	if schema == nil {
		return nil
	}
	schema.once.Do(func() {
		raw, _, _ := schemagate.Modern(schema.raw)
		var err error
		if schema.gate, err = schemagate.Compile(raw); err != nil {
			c.opts.Logger.Warn("mcp: results are not checked: the output schema cannot be used", "server", c.name, "tool", tool, "error", err)
		}
	})
	if schema.gate == nil {
		return nil
	}
	if len(content) >= largeOutput {
		unlock, err := c.locks.Lock(ctx, "check")
		if err != nil {
			return fmt.Errorf("it was not checked: %w", err)
		}
		defer unlock()
	}
	return schema.check(content, modern)
}

// knownOutput returns the output schema of a tool as last listed, whether none was listed yet, and
// whether the list is out of date: it is of another version, or the server has announced
// a change, on the connection conn, that has not been passed on yet.
func (c *Client) knownOutput(conn *connection, tool string) (s *outputSchema, never, stale bool) {
	announced := conn.changes.Load() != conn.listed.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools.byName[tool].output, c.tools.byName == nil, announced || c.tools.version != c.state.ToolsVersion
}

// listForOutput has the list of tools read, unless it is up to date, and reports
// whether there is one now. A failure is no news to the caller, who has a result.
func (c *Client) listForOutput(ctx context.Context, until time.Time, tool string) bool {
	ctx, stop := context.WithDeadline(ctx, until)
	defer stop()
	_, err := c.Tools(ctx)
	if err == nil {
		return true
	}
	c.opts.Logger.Warn("mcp: the tools could not be listed to check a result", "server", c.name, "tool", tool, "error", err)
	if ctx.Err() == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.tools.byName == nil {
			c.tools.byName = map[string]knownTool{} // it is not asked for again for each result
		}
	}
	return false
}
