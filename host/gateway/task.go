package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// Tasks of revision 2025-11-25 are jobs of the gateway: any call can be one, whether its server
// has tasks or not.

// taskPoll is how often a client is advised to ask.
const taskPoll = time.Second

// maxTaskTTL bounds how long a task is kept after it has ended.
const maxTaskTTL = 24 * time.Hour

// beginTask answers a call that the client wants to be a task.
func (r *request) beginTask(j *job, task json.RawMessage) (json.RawMessage, *mcp.JSONRPCError) {
	keep := resultKept
	var ms float64
	if ttl := member(task, "ttl"); ttl != nil && json.Unmarshal(ttl, &ms) == nil && ms > 0 {
		keep = min(time.Duration(min(ms, 1e9))*time.Millisecond, maxTaskTTL)
	}
	j.detach(r.out)
	if !r.gateway.park(j, keep) {
		j.cancel()
		return nil, failure(codeBusy, "too many tasks")
	}
	return marshal(map[string]any{"task": j.task()}), nil
}

// task describes the job as a task.
func (j *job) task() any {
	j.mu.Lock()
	defer j.mu.Unlock()
	status, at := "working", j.began
	switch {
	case j.cancelled:
		status = "cancelled"
	case !j.ended.IsZero() && (j.err != nil || string(member(j.result, "isError")) == "true"):
		status = "failed"
	case !j.ended.IsZero():
		status = "completed"
	case len(j.questions) > 0:
		status = "input_required"
	}
	if !j.ended.IsZero() {
		at = j.ended
	}
	return struct {
		ID      string `json:"taskId"`
		Status  string `json:"status"`
		Message string `json:"statusMessage,omitempty"`
		Created string `json:"createdAt"`
		Updated string `json:"lastUpdatedAt"`
		TTL     int64  `json:"ttl"`
		Poll    int64  `json:"pollInterval"`
	}{j.id, status, j.name, stamp(j.began), stamp(at), j.keep.Milliseconds(), taskPoll.Milliseconds()}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// serveTask answers the requests about tasks.
func (r *request) serveTask(context.Context) (*job, json.RawMessage, *mcp.JSONRPCError) {
	if r.peer.revision != mcp.Revision20251125 {
		return nil, nil, failure(codeNoMethod, "method not found: %.100s", r.method)
	}
	if r.method == "tasks/list" {
		return nil, r.listTasks(), nil
	}
	id := str(r.params.taskID)
	j := r.gateway.parked(r.peer, id)
	if j == nil {
		return nil, nil, invalidParams("no task of yours has this id")
	}
	switch r.method {
	case "tasks/get":
		return nil, marshal(j.task()), nil
	case "tasks/result":
		j.attach(r)
		return j, nil, nil
	case "tasks/cancel":
		if j.isDone() {
			return nil, nil, invalidParams("the task has ended")
		}
		j.mu.Lock()
		j.cancelled = true
		j.mu.Unlock()
		j.cancel()
		return nil, marshal(j.task()), nil
	}
	return nil, nil, failure(codeNoMethod, "method not found: %.100s", r.method)
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
	return marshal(map[string]any{"tasks": tasks})
}

// withRelatedTask says in _meta which task params, or a result, belong to.
func withRelatedTask(object json.RawMessage, id string) json.RawMessage {
	meta := member(object, "_meta")
	if !isObject(meta) {
		meta = json.RawMessage(`{}`)
	}
	return withMember(object, "_meta", withMember(meta, metaTask, marshal(map[string]string{"taskId": id})))
}
