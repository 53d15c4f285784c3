package gateway

import (
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Tasks are jobs of the gateway: any call can be one, whether its server has tasks or not. In revision
// 2025-11-25 the client asks for one. In 2026-07-28 they are an extension, and a call becomes one that
// takes too long.

// taskPoll is how often a client is advised to ask.
const taskPoll = time.Second

// maxTaskTTL bounds how long a task is kept after it has ended.
const maxTaskTTL = 24 * time.Hour

// beginTask answers a call that the client wants to be a task.
func (r *request) beginTask(j *job, task json.RawMessage) (json.RawMessage, *mcp.JSONRPCError) {
	keep := resultKept
	var ms float64
	if ttl := message.Member(task, "ttl"); ttl != nil && json.Unmarshal(ttl, &ms) == nil && ms > 0 {
		keep = min(time.Duration(min(ms, 1e9))*time.Millisecond, maxTaskTTL)
	}
	j.detach(r.out)
	if !r.gateway.park(j, keep) {
		j.cancel()
		return nil, message.Failure(message.CodeBusy, "too many tasks")
	}
	return message.Marshal(map[string]any{"task": j.task()}), nil
}

// statusLocked returns how far the job is, as a task, and since when.
func (j *job) statusLocked() (status string, since time.Time) {
	since = j.began
	if !j.ended.IsZero() {
		since = j.ended
	}
	switch {
	case j.cancelled:
		return "cancelled", since
	case !j.ended.IsZero() && (j.err != nil || !j.peer.modern() && string(message.Member(j.result, "isError")) == "true"):
		return "failed", since
	case !j.ended.IsZero():
		return "completed", since
	case len(j.questions) > 0:
		return "input_required", since
	}
	return "working", since
}

// task describes the job as a task of revision 2025-11-25.
func (j *job) task() any {
	j.mu.Lock()
	defer j.mu.Unlock()
	status, since := j.statusLocked()
	return struct {
		ID      string `json:"taskId"`
		Status  string `json:"status"`
		Message string `json:"statusMessage,omitempty"`
		Created string `json:"createdAt"`
		Updated string `json:"lastUpdatedAt"`
		TTL     int64  `json:"ttl"`
		Poll    int64  `json:"pollInterval"`
	}{j.id, status, j.name, stamp(j.began), stamp(since), j.keep.Milliseconds(), taskPoll.Milliseconds()}
}

// modernTask describes the job as a task of revision 2026-07-28, with what it needs or has come to unless it is new.
func (j *job) modernTask(isNew bool) json.RawMessage {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := struct {
		Type     string          `json:"resultType"`
		ID       string          `json:"taskId"`
		Status   string          `json:"status"`
		Message  string          `json:"statusMessage,omitempty"`
		Created  string          `json:"createdAt"`
		Updated  string          `json:"lastUpdatedAt"`
		TTL      *int64          `json:"ttlMs"`
		Poll     int64           `json:"pollIntervalMs"`
		Requests map[string]any  `json:"inputRequests,omitempty"`
		Result   json.RawMessage `json:"result,omitempty"`
		Error    json.RawMessage `json:"error,omitempty"`
	}{Type: "complete", ID: j.id, Message: j.name, Created: stamp(j.began), Poll: taskPoll.Milliseconds()}
	status, since := j.statusLocked()
	t.Status, t.Updated = status, stamp(since)
	if !j.ended.IsZero() { // until then it is kept
		ttl := (j.ended.Sub(j.began) + j.keep).Milliseconds()
		t.TTL = &ttl
	}
	switch {
	case isNew:
		t.Type = "task"
	case status == "input_required":
		t.Requests = j.requestsLocked()
	case status == "completed":
		t.Result = j.result
	case status == "failed":
		t.Error = message.ErrorJSON(j.err)
	}
	return message.Marshal(t)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// serveTask answers the requests about tasks.
func (r *request) serveTask() (*job, json.RawMessage, *mcp.JSONRPCError) {
	if r.peer.modern() {
		result, err := r.serveModernTask()
		return nil, result, err
	}
	if r.peer.revision != protocol.Revision20251125 {
		return nil, nil, message.Failure(message.CodeNoMethod, "method not found: %.100s", r.method)
	}
	if r.method == protocol.ListTasks {
		return nil, r.listTasks(), nil
	}
	id := message.String(r.params.TaskID)
	j := r.gateway.parked(r.peer, id)
	if j == nil {
		return nil, nil, message.InvalidParams("no task of yours has this id")
	}
	switch r.method {
	case protocol.GetTask:
		return nil, message.Marshal(j.task()), nil
	case protocol.TaskResult:
		j.attach(r)
		return j, nil, nil
	case protocol.CancelTask:
		if j.isDone() {
			return nil, nil, message.InvalidParams("the task has ended")
		}
		j.cancelTask()
		return nil, message.Marshal(j.task()), nil
	}
	return nil, nil, message.Failure(message.CodeNoMethod, "method not found: %.100s", r.method)
}

// cancelTask cancels the job if it has not ended.
func (j *job) cancelTask() {
	j.mu.Lock()
	j.cancelled = j.cancelled || j.ended.IsZero()
	j.mu.Unlock()
	j.cancel()
}

// serveModernTask answers the requests about tasks of revision 2026-07-28.
func (r *request) serveModernTask() (json.RawMessage, *mcp.JSONRPCError) {
	const ack = `{"resultType":"complete"}`
	switch r.method {
	case protocol.GetTask, protocol.UpdateTask, protocol.CancelTask:
	default:
		return nil, message.Failure(message.CodeNoMethod, "method not found: %.100s", r.method)
	}
	if !r.peer.can.tasks {
		return nil, lacksTasks()
	}
	j := r.gateway.parked(r.peer, message.String(r.params.TaskID))
	switch {
	case j == nil:
		return nil, message.InvalidParams("no task of yours has this id")
	case r.method == protocol.GetTask:
		return j.modernTask(false), nil
	case r.method == protocol.UpdateTask:
		j.mu.Lock()
		j.answerLocked(r.params.Responses)
		j.mu.Unlock()
	default:
		j.cancelTask()
	}
	return json.RawMessage(ack), nil
}

// lacksTasks is the answer to a request about tasks of a client that does not declare them.
func lacksTasks() *mcp.JSONRPCError {
	failed := message.Failure(message.CodeCapability, "the client does not declare the extension %s", protocol.ExtensionTasks)
	failed.Data = message.Marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{protocol.ExtensionTasks: struct{}{}}}})
	return failed
}

// listTasks answers tasks/list: with those of the session.
func (r *request) listTasks() json.RawMessage {
	tasks := []any{}
	g := r.gateway
	g.mu.Lock()
	var mine []*job
	for _, j := range g.jobs.byID {
		if r.peer.owns(j.peer) {
			mine = append(mine, j)
		}
	}
	g.mu.Unlock()
	for _, j := range mine {
		tasks = append(tasks, j.task())
	}
	return message.Marshal(map[string]any{"tasks": tasks})
}

// withRelatedTask says in _meta which task params, or a result, belong to.
func withRelatedTask(object json.RawMessage, id string) json.RawMessage {
	meta := message.Member(object, "_meta")
	if !message.IsObject(meta) {
		meta = json.RawMessage(`{}`)
	}
	return message.WithMember(object, "_meta", message.WithMember(meta, protocol.MetaTask, message.Marshal(map[string]string{"taskId": id})))
}
