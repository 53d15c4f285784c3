package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK does not know tasks. This file adds the extension of revision 2026-07-28,
// where the server decides which calls become tasks. Clients of older revisions get
// the results of the same tools as those of any other.

const (
	firstModern    = "2026-07-28" // the first revision with the extension
	tasksExtension = "io.modelcontextprotocol/tasks"

	maxTasks     = 100
	taskTTL      = 10 * time.Minute
	pollInterval = 100 * time.Millisecond
)

// The states of a task. Of the last three there is no way on.
const (
	working       = "working"
	inputRequired = "input_required"
	completed     = "completed"
	failed        = "failed"
	cancelled     = "cancelled"
)

// tasks are the tool calls that outlive their requests. They live in memory for
// their time to live, and no longer than the server.
type tasks struct {
	tools []string // that run as tasks

	ctx  context.Context // ends with close
	stop context.CancelFunc
	wg   sync.WaitGroup // one for each task that runs

	mu   sync.Mutex
	kept []*task // in the order of their creation
}

func newTasks(tools ...string) *tasks {
	ctx, stop := context.WithCancel(context.Background())
	return &tasks{tools: tools, ctx: ctx, stop: stop}
}

// close cancels the tasks that run and waits for them.
func (ts *tasks) close() {
	ts.stop()
	ts.wg.Wait()
}

// serve adds the tasks to s.
func (ts *tasks) serve(s *mcp.Server) {
	s.AddReceivingMiddleware(ts.middleware)
	for method, handle := range map[string]func(*task, *taskParams) mcp.Result{
		"tasks/get":    func(t *task, _ *taskParams) mcp.Result { return t.describe("complete") },
		"tasks/update": (*task).answer,
		"tasks/cancel": (*task).end,
	} {
		err := mcp.AddReceivingCustomMethod(s, method, func(_ context.Context, _ *mcp.ServerSession, params *taskParams) (mcp.Result, error) {
			if params == nil {
				return nil, invalid("the parameters are missing")
			}
			t, err := ts.get(params.TaskID)
			if err != nil {
				return nil, err
			}
			return handle(t, params), nil
		})
		if err != nil {
			panic(err) // the SDK has learned about tasks
		}
	}
}

// versioned is a request of any method.
type versioned interface {
	ProtocolVersion() string
	ClientCapabilities() *mcp.ClientCapabilities
}

func modern(req versioned) bool { return req.ProtocolVersion() >= firstModern }

func knowsTasks(req versioned) bool {
	caps := req.ClientCapabilities()
	return caps != nil && caps.Extensions[tasksExtension] != nil
}

// middleware declares the extension, and turns calls into tasks.
func (ts *tasks) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		v, _ := req.(versioned)
		call, isCall := req.(*mcp.CallToolRequest)
		isTask := isCall && modern(call) && slices.Contains(ts.tools, call.Params.Name)
		switch {
		case v != nil && strings.HasPrefix(method, "tasks/") && !modern(v):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not a method of this revision"}
		case v != nil && (isTask || strings.HasPrefix(method, "tasks/")) && !knowsTasks(v):
			return nil, missing(v, `{"extensions":{"`+tasksExtension+`":{}}}`)
		case isTask:
			return ts.start(func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
		}
		res, err := next(ctx, method, req)
		if found, ok := res.(*mcp.DiscoverResult); ok && err == nil {
			found.Capabilities.AddExtension(tasksExtension, nil)
		}
		return res, err
	}
}

// start runs a tool call as a task that goes on when the request ends, and returns the
// task as it was when it began: the protocol wants a new task to be working.
func (ts *tasks) start(call func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	now := time.Now()
	t := &task{id: rand.Text(), created: now, updated: now, status: working, questions: map[string]*question{}}
	// Not the request's context: what is sent with that belongs to the request.
	ctx, cancel := context.WithTimeout(context.WithValue(ts.ctx, taskKey{}, t), taskTTL)
	t.cancel = cancel

	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.kept = slices.DeleteFunc(ts.kept, (*task).expired)
	if len(ts.kept) == maxTasks || ts.ctx.Err() != nil {
		cancel()
		return nil, errors.New("there are too many tasks; try again later")
	}
	ts.kept = append(ts.kept, t)
	begun := t.describe("task")
	ts.wg.Go(func() {
		defer cancel()
		t.finish(call(ctx))
	})
	return begun, nil
}

// get returns a task that is kept. A client that knows the id may have it: it cannot be
// guessed.
func (ts *tasks) get(id string) (*task, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.kept {
		if t.id == id && !t.expired() {
			return t, nil
		}
	}
	return nil, invalid("there is no such task, or its time is over")
}

// A task is one tool call that runs or has run.
type task struct {
	id      string
	created time.Time
	cancel  context.CancelFunc // ends the call's context

	mu        sync.Mutex
	status    string
	message   string // what the task is doing, for people
	updated   time.Time
	result    *mcp.CallToolResult  // when completed
	err       error                // when failed
	questions map[string]*question // that wait for an answer
}

// A question is what a task wants to know from the user.
type question struct {
	params *mcp.ElicitParams
	answer chan *mcp.ElicitResult // holds one
}

type taskKey struct{}

// taskOf returns the task that ctx belongs to, or nil.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

func (t *task) expired() bool { return time.Since(t.created) > taskTTL }

// update changes the task, unless it has ended.
func (t *task) update(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == working || t.status == inputRequired {
		change()
		t.updated = time.Now()
	}
}

// say tells what the task is doing.
func (t *task) say(message string) { t.update(func() { t.message = message }) }

// finish ends the task with what the tool returned. A tool's own error is a
// result; a task fails only if there is none.
func (t *task) finish(result mcp.Result, err error) {
	t.update(func() {
		t.questions, t.message = nil, ""
		if res, ok := result.(*mcp.CallToolResult); ok && err == nil {
			t.status, t.result = completed, res
			return
		}
		t.status, t.err = failed, err
	})
}

// ask asks the user and waits for the answer. The key must be a new one for each
// question of a task.
func (t *task) ask(ctx context.Context, key string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	q := &question{params, make(chan *mcp.ElicitResult, 1)}
	t.update(func() {
		t.questions[key] = q
		t.status, t.message = inputRequired, "waiting for the user"
	})
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The parameters and results of the extension.
type (
	taskParams struct {
		mcp.ParamsBase
		TaskID         string               `json:"taskId"`
		InputResponses mcp.InputResponseMap `json:"inputResponses"` // of tasks/update
	}
	taskResult struct {
		mcp.ResultBase
		ResultType    string              `json:"resultType"`
		TaskID        string              `json:"taskId"`
		Status        string              `json:"status"`
		StatusMessage string              `json:"statusMessage,omitempty"`
		CreatedAt     time.Time           `json:"createdAt"`
		LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
		TTL           int64               `json:"ttlMs"`
		PollInterval  int64               `json:"pollIntervalMs"`
		InputRequests json.RawMessage     `json:"inputRequests,omitempty"`
		Result        *mcp.CallToolResult `json:"result,omitempty"`
		Error         *jsonrpc.Error      `json:"error,omitempty"`
	}
	acknowledgement struct {
		mcp.ResultBase
		ResultType string `json:"resultType"`
	}
)

// describe returns the task with all that is known of it.
func (t *task) describe(resultType string) *taskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	res := &taskResult{
		ResultType: resultType, TaskID: t.id, Status: t.status, StatusMessage: t.message,
		CreatedAt: t.created.UTC(), LastUpdatedAt: t.updated.UTC(),
		TTL: taskTTL.Milliseconds(), PollInterval: pollInterval.Milliseconds(), Result: t.result,
	}
	if t.err != nil && !errors.As(t.err, &res.Error) {
		res.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: t.err.Error()}
	}
	if len(t.questions) > 0 {
		requests := make(mcp.InputRequestMap)
		for key, q := range t.questions {
			requests[key] = q.params
		}
		res.InputRequests, _ = json.Marshal(requests) // they are our own
	}
	return res
}

// end cancels the task.
func (t *task) end(*taskParams) mcp.Result {
	t.update(func() { t.status, t.questions, t.message = cancelled, nil, "cancelled by the client" })
	t.cancel()
	return &acknowledgement{ResultType: "complete"}
}

// answer answers questions of the task. An answer that no question waits for is ignored.
func (t *task) answer(params *taskParams) mcp.Result {
	for key, response := range params.InputResponses {
		answer, _ := response.(*mcp.ElicitResult)
		t.update(func() {
			q := t.questions[key]
			if answer == nil || q == nil {
				return
			}
			q.answer <- answer
			if delete(t.questions, key); len(t.questions) == 0 {
				t.status, t.message = working, ""
			}
		})
	}
	return &acknowledgement{ResultType: "complete"}
}
