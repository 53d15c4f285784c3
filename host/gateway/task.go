package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Tasks are jobs of the gateway: any call can become one that takes too long, whether its server has tasks or not, for
// clients that have the extension for tasks of revision 2026-07-28.

// taskPoll is how often a client is advised to ask.
const taskPoll = time.Second

// task describes the job as a task, with what it needs or has come to unless it is new.
func (j *job) task(isNew bool) json.RawMessage {
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
	}{Type: "complete", ID: j.id, Status: "working", Message: j.name, Created: stamp(j.began), Updated: stamp(cmp.Or(j.ended, j.began)), Poll: taskPoll.Milliseconds()}
	hasEnded := !j.ended.IsZero()
	if hasEnded { // until then it is kept
		ttl := (j.ended.Sub(j.began) + resultKept).Milliseconds()
		t.TTL = &ttl
	}
	switch {
	case j.cancelled:
		t.Status = "cancelled"
	case hasEnded && j.err != nil:
		t.Status, t.Error = "failed", message.ErrorJSON(j.err)
	case hasEnded:
		t.Status, t.Result = "completed", j.result
	case len(j.questions) > 0:
		t.Status, t.Requests = "input_required", j.requestsLocked()
	}
	if isNew {
		t.Type, t.Requests, t.Result, t.Error = "task", nil, nil, nil
	}
	return message.Marshal(t)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// serveTask answers the requests about tasks.
func (r *request) serveTask(context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	if !r.peer.can.tasks {
		return nil, lacksTasks()
	}
	j := r.gateway.parked(r.peer, message.String(r.params.TaskID))
	switch {
	case j == nil:
		return nil, message.InvalidParams("no task of yours has this id")
	case r.method == protocol.GetTask:
		return j.task(false), nil
	case r.method == protocol.UpdateTask:
		j.mu.Lock()
		j.answerLocked(r.params.Responses)
		j.mu.Unlock()
	default:
		j.mu.Lock()
		j.cancelled = j.cancelled || j.ended.IsZero()
		j.mu.Unlock()
		j.cancel()
	}
	return json.RawMessage(`{"resultType":"complete"}`), nil
}

// lacksTasks is the answer to a request about tasks of a client that does not declare them.
func lacksTasks() *mcp.JSONRPCError {
	failed := message.Failure(message.CodeCapability, "the client does not declare the extension %s", protocol.ExtensionTasks)
	failed.Data = message.Marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{protocol.ExtensionTasks: struct{}{}}}})
	return failed
}
