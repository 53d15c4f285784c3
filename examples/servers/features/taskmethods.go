package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK does not know tasks. This file adds what the protocol says about them,
// in its two forms: revision 2025-11-25 has them in the core, where the client
// asks for a task; 2026-07-28 has them as an extension, where the server decides.

const (
	firstTasks  = "2025-11-25" // the first revision with tasks
	firstModern = "2026-07-28" // the first revision without sessions

	tasksExtension = "io.modelcontextprotocol/tasks"
	relatedTask    = "io.modelcontextprotocol/related-task"

	pollInterval = 100 // milliseconds
)

// serve adds the tasks to s, whose tools are complete.
func (ts *tasks) serve(s *mcp.Server) {
	s.AddReceivingMiddleware(ts.middleware)
	for _, err := range []error{
		mcp.AddReceivingCustomMethod(s, "tasks/get", ts.handleGet),
		mcp.AddReceivingCustomMethod(s, "tasks/update", ts.handleUpdate),
		mcp.AddReceivingCustomMethod(s, "tasks/cancel", ts.handleCancel),
		mcp.AddReceivingCustomMethod(s, "tasks/result", ts.handleResult),
		mcp.AddReceivingCustomMethod(s, "tasks/list", ts.handleList),
	} {
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

// middleware declares the tasks, marks the tools that run as such, and turns
// their calls into tasks.
func (ts *tasks) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			return ts.call(ctx, call, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
		}
		if v, ok := req.(versioned); ok && strings.HasPrefix(method, "tasks/") {
			if err := allowed(method, v); err != nil {
				return nil, err
			}
		}
		res, err := next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		switch res := res.(type) {
		case *mcp.InitializeResult:
			if res.ProtocolVersion >= firstTasks {
				return declareTasks(res), nil
			}
		case *mcp.DiscoverResult:
			res.Capabilities.AddExtension(tasksExtension, nil)
		case *mcp.ListToolsResult:
			if v, ok := req.(versioned); ok && !modern(v) {
				return ts.mark(res), nil
			}
		}
		return res, nil
	}
}

// allowed refuses the methods that the request's revision does not have.
func allowed(method string, req versioned) error {
	core, extension := method == "tasks/result" || method == "tasks/list", method == "tasks/update"
	switch {
	case modern(req) && core || !modern(req) && extension:
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not a method of this revision"}
	case modern(req) && !knowsTasks(req):
		return missing(req, `{"extensions":{"`+tasksExtension+`":{}}}`)
	}
	return nil
}

func knowsTasks(req versioned) bool {
	caps := req.ClientCapabilities()
	return caps != nil && caps.Extensions[tasksExtension] != nil
}

// declareTasks adds the capability of the core, for which the SDK has no field.
func declareTasks(res *mcp.InitializeResult) mcp.Result {
	type capabilities struct {
		*mcp.ServerCapabilities
		Tasks json.RawMessage `json:"tasks"`
	}
	return &struct {
		*mcp.InitializeResult
		Capabilities capabilities `json:"capabilities"`
	}{res, capabilities{res.Capabilities, json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)}}
}

// mark adds to each tool what it says about tasks.
func (ts *tasks) mark(res *mcp.ListToolsResult) mcp.Result {
	type execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	type tool struct {
		*mcp.Tool
		Execution *execution `json:"execution,omitempty"`
	}
	marked := make([]tool, len(res.Tools))
	for i, t := range res.Tools {
		marked[i].Tool = t
		if support := ts.tools[t.Name]; support != "" {
			marked[i].Execution = &execution{support}
		}
	}
	return &struct {
		*mcp.ListToolsResult
		Tools []tool `json:"tools"`
	}{res, marked}
}

// call runs a tool call, as a task where the client and the tool want that.
func (ts *tasks) call(ctx context.Context, req *mcp.CallToolRequest, run func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	support := ts.tools[req.Params.Name]
	ttl, wanted := wish(req.Params)
	switch {
	case modern(req):
		wanted = support != "" && knowsTasks(req)
		if support == "required" && !wanted {
			return nil, missing(req, `{"extensions":{"`+tasksExtension+`":{}}}`)
		}
	case support == "" && wanted:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this tool does not run as a task"}
	case support == "required" && !wanted:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this tool runs only as a task"}
	}
	if !wanted {
		return run(ctx)
	}
	if modern(req) {
		return ts.start(req.Session, ttl, run, func(t *task) mcp.Result { return t.forExtension("task") })
	}
	return ts.start(req.Session, ttl, run, func(t *task) mcp.Result { return &createTaskResult{Task: t.forCore()} })
}

// The parameters and results of the core, and those of the extension.
type (
	taskParams struct {
		mcp.ParamsBase
		TaskID string `json:"taskId"`
	}
	updateParams struct {
		mcp.ParamsBase
		TaskID         string               `json:"taskId"`
		InputResponses mcp.InputResponseMap `json:"inputResponses"`
	}
	taskState struct {
		TaskID        string `json:"taskId"`
		Status        string `json:"status"`
		StatusMessage string `json:"statusMessage,omitempty"`
		CreatedAt     string `json:"createdAt"`
		LastUpdatedAt string `json:"lastUpdatedAt"`
	}
	coreTask struct {
		taskState
		TTL          int64 `json:"ttl"`
		PollInterval int   `json:"pollInterval"`
	}
	createTaskResult struct {
		mcp.ResultBase
		Task coreTask `json:"task"`
	}
	getTaskResult struct {
		mcp.ResultBase
		coreTask
	}
	listTasksResult struct {
		mcp.ResultBase
		Tasks []coreTask `json:"tasks"`
	}
	extensionTask struct {
		mcp.ResultBase
		ResultType string `json:"resultType"`
		taskState
		TTL           int64               `json:"ttlMs"`
		PollInterval  int                 `json:"pollIntervalMs"`
		InputRequests json.RawMessage     `json:"inputRequests,omitempty"`
		Result        *mcp.CallToolResult `json:"result,omitempty"`
		Error         *jsonrpc.Error      `json:"error,omitempty"`
	}
	acknowledgement struct {
		mcp.ResultBase
		ResultType string `json:"resultType"`
	}
)

func (t *task) stateLocked() taskState {
	return taskState{
		TaskID: t.id, Status: t.status, StatusMessage: t.message,
		CreatedAt: t.created.UTC().Format(time.RFC3339Nano), LastUpdatedAt: t.updated.UTC().Format(time.RFC3339Nano),
	}
}

// forCore is the task as revision 2025-11-25 has it, where a result that says
// that the tool failed is a failed task.
func (t *task) forCore() coreTask {
	t.mu.Lock()
	defer t.mu.Unlock()
	core := coreTask{t.stateLocked(), t.ttl.Milliseconds(), pollInterval}
	if t.result != nil && t.result.IsError {
		core.Status = failed
	}
	return core
}

// forExtension is the task as the extension has it, with all that is known.
func (t *task) forExtension(resultType string) *extensionTask {
	t.mu.Lock()
	defer t.mu.Unlock()
	res := &extensionTask{
		ResultType: resultType, taskState: t.stateLocked(), TTL: t.ttl.Milliseconds(), PollInterval: pollInterval,
	}
	if resultType == "task" {
		return res // the news is that there is one
	}
	res.Result = t.result
	if t.err != nil {
		res.Error = wireError(t.err)
	}
	if len(t.questions) > 0 {
		requests := make(mcp.InputRequestMap)
		for _, q := range t.questions {
			requests[q.key] = q.params
		}
		res.InputRequests, _ = json.Marshal(requests) // they are our own
	}
	return res
}

func wireError(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// isModern is modern for the handler of a custom method, which sees no request.
func isModern(params mcp.Params) bool {
	version, _ := params.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
	return version >= firstModern
}

func (ts *tasks) handleGet(_ context.Context, _ *mcp.ServerSession, params *taskParams) (mcp.Result, error) {
	t, err := ts.find(params)
	switch {
	case err != nil:
		return nil, err
	case isModern(params):
		return t.forExtension("complete"), nil
	}
	return &getTaskResult{coreTask: t.forCore()}, nil
}

func (ts *tasks) handleCancel(_ context.Context, _ *mcp.ServerSession, params *taskParams) (mcp.Result, error) {
	t, err := ts.find(params)
	if err != nil {
		return nil, err
	}
	done := t.abandon()
	switch {
	case isModern(params):
		return &acknowledgement{ResultType: "complete"}, nil
	case !done:
		return nil, invalid("the task has ended")
	}
	return &getTaskResult{coreTask: t.forCore()}, nil
}

func (ts *tasks) handleList(_ context.Context, session *mcp.ServerSession, _ *taskParams) (mcp.Result, error) {
	res := &listTasksResult{Tasks: []coreTask{}} // an array, not null
	for _, t := range ts.of(session) {
		res.Tasks = append(res.Tasks, t.forCore())
	}
	return res, nil
}

func (ts *tasks) handleUpdate(_ context.Context, _ *mcp.ServerSession, params *updateParams) (mcp.Result, error) {
	if params == nil {
		return nil, invalid("the parameters are missing")
	}
	t, err := ts.get(params.TaskID)
	if err != nil {
		return nil, err
	}
	for key, response := range params.InputResponses {
		if answer, ok := response.(*mcp.ElicitResult); ok {
			t.answer(key, answer)
		}
	}
	return &acknowledgement{ResultType: "complete"}, nil
}

// handleResult waits for the end of a task. Meanwhile it asks the user what the
// task wants to know: in the core, this request is the way to the client.
func (ts *tasks) handleResult(ctx context.Context, session *mcp.ServerSession, params *taskParams) (mcp.Result, error) {
	t, err := ts.find(params)
	if err != nil {
		return nil, err
	}
	related := mcp.Meta{relatedTask: map[string]any{"taskId": t.id}}
	for {
		t.mu.Lock()
		status, result, err, changed := t.status, t.result, t.err, t.changed
		t.mu.Unlock()
		switch {
		case status == completed:
			own := *result
			own.Meta = related
			return &own, nil
		case status == cancelled:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the task was cancelled"}
		case status == failed:
			return nil, wireError(err)
		}
		if q := t.claim(); q != nil {
			params := *q.params
			params.Meta = related
			answer, err := session.Elicit(ctx, &params)
			if err != nil {
				t.unclaim(q)
				return nil, err
			}
			t.answer(q.key, answer)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (ts *tasks) find(params *taskParams) (*task, error) {
	if params == nil {
		return nil, invalid("the parameters are missing")
	}
	return ts.get(params.TaskID)
}

// taskWish is where keepTask puts the task parameter of a call, which the SDK
// would drop.
const taskWish = "features/task"

// wish returns what a client of the core wishes: whether the call is to run as a
// task, and how long the task is to be kept.
func wish(params *mcp.CallToolParamsRaw) (ttl time.Duration, wanted bool) {
	task, wanted := params.Meta[taskWish].(map[string]any)
	milliseconds, _ := task["ttl"].(float64)
	milliseconds = min(milliseconds, float64(maxTTL.Milliseconds()))
	if milliseconds >= 1 {
		return time.Duration(milliseconds) * time.Millisecond, wanted
	}
	return defaultTTL, wanted
}

// keepTask moves the task parameter of a call to where the SDK keeps it, and
// reports whether there was one.
func keepTask(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.Method != "tools/call" {
		return false
	}
	var params, meta map[string]json.RawMessage
	if json.Unmarshal(req.Params, &params) != nil || params["task"] == nil {
		return false
	}
	if old, ok := params["_meta"]; ok && json.Unmarshal(old, &meta) != nil {
		return false // the SDK will refuse it
	}
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	meta[taskWish] = params["task"]
	delete(params, "task")
	var err error
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return false
	}
	kept, err := json.Marshal(params)
	if err != nil {
		return false
	}
	req.Params = kept
	return true
}

// taskTransport does that for a transport,
type taskTransport struct{ mcp.Transport }

func (t taskTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return taskConnection{conn}, nil
}

type taskConnection struct{ mcp.Connection }

func (c taskConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	keepTask(msg)
	return msg, err
}

// and keepTasks for a handler of streamable HTTP.
func keepTasks(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcp.DefaultMaxRequestBodyBytes))
		if err != nil {
			http.Error(w, "the request is too large or was cut off", http.StatusRequestEntityTooLarge)
			return
		}
		if msg, err := jsonrpc.DecodeMessage(body); err == nil && keepTask(msg) {
			if kept, err := jsonrpc.EncodeMessage(msg); err == nil {
				body = kept
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.ServeHTTP(w, r)
	})
}
