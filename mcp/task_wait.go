package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// ResumeTask waits for a task that a call began earlier, perhaps in another
// process, and returns the result of that call, as [Client.CallTool] would. Its
// errors about the task are [*TaskError]. A server of revision 2026-07-28 can be
// asked only if [ClientOptions].Tasks is set, one of revision 2025-11-25 only if
// it offers tasks; else the error is [errors.ErrUnsupported]. How far a task is, without waiting
// for it, tells [Client.Request] of tasks/get, and tasks/cancel ends it.
func (c *Client) ResumeTask(ctx context.Context, id string, opts *RequestOptions) (*CallToolResult, error) {
	if err := checkTaskID(id); err != nil {
		return nil, c.explain(&request{method: protocol.GetTask}, WithOutcome(fmt.Errorf("the task's id: %w", err), NotSent))
	}
	conn, err := c.enterConnected(ctx, &request{method: protocol.GetTask})
	if err != nil {
		return nil, err
	}
	defer c.leave()
	if opts == nil {
		opts = &RequestOptions{}
	}
	call := &exchange{}
	call.begin(c, protocol.GetTask, opts)
	if conn.modern() && !c.opts.declaresTasks() || !conn.modern() && !conn.info.tasks.any {
		err := fmt.Errorf("the server has no tasks, or ClientOptions.Tasks is not set: %w", errors.ErrUnsupported)
		return nil, c.explain(&call.request, WithOutcome(err, NotSent))
	}
	return call.await(ctx, &taskState{Task: Task{ID: id}}, opts.Task)
}

const (
	// defaultPoll is how often a server is asked that does not say how often it
	// wants to be, minPoll and maxPoll how often at most and at least.
	defaultPoll = time.Second
	minPoll     = 50 * time.Millisecond
	maxPoll     = 10 * time.Minute
	// maxPollPause bounds the wait after answers that did not come, unless the
	// server wants to be asked less often.
	maxPollPause = 30 * time.Second
	// maxTaskInputs is how much a server can ask for in the course of one task.
	maxTaskInputs = maxInputRounds * maxServerRequests
	// maxInputKey bounds the ids of what it asks for, since they are kept.
	maxInputKey = 4096
)

// offerTask makes a call a task if the server is of revision 2025-11-25 and
// wants that, or would like it and the caller too.
func (x *exchange) offerTask(ctx context.Context, o *TaskOptions) error {
	c := x.client
	conn, err := c.connected(ctx)
	if err != nil {
		return c.explain(&x.request, err)
	}
	if !conn.info.tasks.calls {
		return nil
	}
	support, err := x.taskSupport(ctx)
	if err != nil {
		return err
	}
	if support == taskRequired || support == taskOptional && o != nil {
		x.request.params[paramTask].value = json.RawMessage(`{}`)
	}
	return nil
}

// taskSupport looks the tool up, reading the list if that was never done. A
// server that refuses its list gets the call as it is.
func (x *exchange) taskSupport(ctx context.Context) (taskSupport, error) {
	c := x.client
	c.mu.Lock()
	read := c.tools.byName != nil
	c.mu.Unlock()
	if !read {
		bounded, stop := x.within(ctx)
		defer stop()
		_, err := c.Tools(bounded)
		switch {
		case err == nil:
		case bounded.Err() != nil:
			return 0, c.explain(&x.request, WithOutcome(x.ended(ctx), NotSent))
		case OutcomeOf(err) != Answered:
			return 0, WithOutcome(fmt.Errorf("mcp: server %q: %s not sent: %w", c.name, x.request.method, err), NotSent)
		}
	}
	if tool := c.knownTool(x.request.tool).Tool; tool != nil {
		return tool.tasks, nil
	}
	return taskForbidden, nil
}

// A taskWait is the waiting for the task that a call has become.
type taskWait struct {
	call   *exchange
	result *CallToolResult // of the call; nil before the end
	opts   TaskOptions
	task   Task // as last seen

	failures int   // requests in a row that were not answered
	failure  error // of the last of them
	hasty    bool  // the server does not take tasks/result before the end
	asked    map[string]struct{}
	pending  json.RawMessage // inputResponses that were not delivered yet
	refused  error           // why the last ones were not taken
	helpless bool            // the server cannot be given what it asked for
	gone     bool            // the server does not know the task
}

// await waits for a task and returns its result. Of a task that was not seen yet only the
// id is set.
func (x *exchange) await(ctx context.Context, task *taskState, o *TaskOptions) (*CallToolResult, error) {
	w := &taskWait{call: x, task: Task{ID: task.ID}}
	x.asked.awaits = true
	x.client.awaiting.Add(1)
	defer x.client.awaiting.Add(-1)
	if o != nil {
		w.opts = *o
	}
	bounded, stop := x.within(ctx)
	defer stop()
	err := w.run(bounded, task)
	if err == nil {
		return w.result, nil
	}
	over := bounded.Err() != nil && !w.gone && !w.task.Status.Ended()
	if over {
		err = x.ended(ctx)
		if w.failures > 0 {
			err = fmt.Errorf("%w (before that: %w)", err, w.failure)
		}
	}
	if (over || w.helpless) && !w.opts.Keep && !errors.Is(err, ErrClosed) { // the task may outlive the client
		x.client.abandonTask(w.task.ID)
	}
	return nil, &TaskError{Server: x.client.name, Tool: x.request.tool, Task: new(w.task), Err: err, gone: w.gone}
}

// run waits for the task, whose first state comes without its details.
func (w *taskWait) run(ctx context.Context, s *taskState) error {
	if s.Status != "" {
		w.see(s)
	}
	for rested := s.Status != taskWorking; ; rested = false {
		if !rested {
			if err := w.rest(ctx); err != nil {
				return err
			}
		}
		s, conn, err := w.poll(ctx)
		switch {
		case err != nil:
			return err
		case s == nil:
			continue // the answer was lost
		}
		w.see(s)
		if done, err := w.advance(ctx, s, conn); done || err != nil {
			return err
		}
	}
}

// see notes a state of the task, and tells the caller if it is news.
func (w *taskWait) see(s *taskState) {
	news := s.Status != w.task.Status || s.StatusMessage != w.task.StatusMessage
	w.task = s.Task
	if news && w.opts.Update != nil {
		w.opts.Update(new(s.Task))
	}
}

// rest waits until the task is to be looked at again.
func (w *taskWait) rest(ctx context.Context) error {
	pause := defaultPoll
	if w.task.PollInterval > 0 {
		pause = min(max(w.task.PollInterval, minPoll), maxPoll)
	}
	if w.failures > 0 {
		pause = min(pause<<min(w.failures-1, 10), max(pause, maxPollPause))
	}
	return feed.Sleep(ctx, pause)
}

// request returns a request about the task, within the time of the call.
func (w *taskWait) request(method string) *request {
	r := w.call.client.taskRequest(method, w.task.ID)
	r.idle, r.total, r.until = w.call.request.idle, w.call.request.total, w.call.request.until
	r.asked = &w.call.asked
	return r
}

// poll asks how far the task is. The state is nil if the answer was lost.
func (w *taskWait) poll(ctx context.Context) (*taskState, *connection, error) {
	r := w.request(protocol.GetTask)
	raw, conn, err := w.call.client.send(ctx, r)
	if err != nil {
		return nil, nil, w.survive(ctx, err)
	}
	w.failures = 0
	s, err := decodePolled(raw, w.task.ID, conn.modern())
	if err != nil {
		return nil, nil, w.call.client.explain(r, err)
	}
	return s, conn, nil
}

// survive returns nil if a request that failed is to be made again: the task
// lives on when the connection does not.
func (w *taskWait) survive(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return err
	}
	if OutcomeOf(err) == Answered {
		w.gone = refusalCode(err) == jsonrpc.CodeInvalidParams // it does not know the task
		return err
	}
	w.failures++
	w.failure = err
	return nil
}

// advance does what the state of the task asks for, and reports whether there is
// a result.
func (w *taskWait) advance(ctx context.Context, s *taskState, conn *connection) (done bool, err error) {
	switch {
	case s.Status == taskCancelled:
		return false, errors.New("the task was cancelled")
	case s.Status == taskWorking:
		return false, nil
	case !conn.modern():
		return w.fetch(ctx)
	case s.Status == taskInputRequired:
		return false, w.respond(ctx, s, conn)
	case s.Status == taskFailed && s.failure == nil:
		return false, errors.New("the task failed, and the server does not say why")
	case s.Status == taskFailed:
		return false, &ServerError{Server: w.call.client.name, Method: protocol.CallTool, Err: s.failure}
	}
	r := w.request(protocol.GetTask)
	switch {
	case s.result == nil:
		err = errMissing
	case s.result[0] != '{':
		err = wrongKind(s.result, anObject)
	default:
		err = w.take(s.result, true)
	}
	if err != nil {
		return false, w.call.client.explain(r, at("result", err))
	}
	return true, nil
}

// take decodes the result of the call.
func (w *taskWait) take(raw json.RawMessage, modern bool) error {
	res, need, err := decodeCallResult(raw, modern, false)
	if need != nil {
		return at("resultType", unknownResult("input_required"))
	}
	w.result = res
	return err
}

// fetch asks a server of revision 2025-11-25 for the result. If the server needs
// input it asks for it while this waits, for as long as the call may take.
func (w *taskWait) fetch(ctx context.Context) (done bool, err error) {
	ended := w.task.Status.Ended()
	if w.hasty && !ended {
		return false, nil
	}
	r := w.request(protocol.TaskResult)
	r.idle = r.total
	raw, conn, err := w.call.client.send(ctx, r)
	if err != nil {
		if w.hasty = OutcomeOf(err) == Answered && !ended; w.hasty {
			return false, nil // how the task is, tasks/get will tell
		}
		return false, w.survive(ctx, err)
	}
	w.failures = 0
	if err := w.take(raw, conn.modern()); err != nil {
		return false, w.call.client.explain(r, err)
	}
	if !ended { // that there is a result says so
		task := w.task
		task.Status, task.StatusMessage = taskCompleted, ""
		w.see(&taskState{Task: task})
	}
	return true, nil
}

// respond gives a server of revision 2026-07-28 the input that it has not been
// given yet.
func (w *taskWait) respond(ctx context.Context, s *taskState, conn *connection) error {
	c := w.call.client
	if w.pending == nil {
		fresh, err := w.fresh(s.requests)
		if err == nil && fresh != nil {
			w.refused = nil
			w.pending, err = conn.handleInput(ctx, &w.call.asked, fresh)
		}
		if err != nil {
			w.helpless = true
			return c.explain(w.request(protocol.GetTask), WithOutcome(err, Answered))
		}
	}
	if w.pending == nil {
		return w.refused // it asks again for what it did not take
	}
	r := w.request(protocol.UpdateTask)
	r.params[1] = member{"inputResponses", w.pending}
	_, _, err := w.call.client.send(ctx, r)
	if err != nil && OutcomeOf(err) != Answered {
		return w.survive(ctx, err)
	}
	w.failures, w.pending, w.refused = 0, nil, err
	return nil
}

// fresh returns those of the requests that were not seen before, or nil. To ask
// the user twice for the same would be wrong, and so would two answers.
func (w *taskWait) fresh(requests json.RawMessage) (json.RawMessage, error) {
	var members []member
	for key, value := range jsonscan.Fields(requests) {
		if _, again := w.asked[string(key)]; again {
			continue
		}
		switch {
		case len(w.asked) == maxTaskInputs:
			return nil, at("inputRequests", fmt.Errorf("more than %d in the course of one task", maxTaskInputs))
		case len(key) > maxInputKey:
			return nil, at("inputRequests", fmt.Errorf("a key is longer than %d bytes", maxInputKey))
		}
		if w.asked == nil {
			w.asked = make(map[string]struct{})
		}
		w.asked[string(key)] = struct{}{}
		members = append(members, member{string(key), value})
	}
	if members == nil {
		return nil, nil
	}
	return object(members...), nil
}

// abandonTask tells the server that no call waits for a task any more, without
// waiting for an answer. The goroutine belongs to the connection.
func (c *Client) abandonTask(id string) {
	conn := c.connection()
	if conn == nil || !conn.modern() && !conn.info.tasks.cancel {
		return
	}
	conn.run(func() {
		r := c.taskRequest(protocol.CancelTask, id)
		r.idle, r.total, r.until = cancelTimeout, cancelTimeout, time.Now().Add(cancelTimeout)
		_, _ = conn.sendOnce(conn.ctx, r, &pendingRequest{})
	})
}
