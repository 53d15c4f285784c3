package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// withTasks declares the extension for tasks in a request of revision 2026-07-28.
func withTasks(in shot) shot {
	in.body = strings.Replace(in.body, `/clientCapabilities":{`, `/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},`, 1)
	return in
}

// aboutTask returns a request about a task.
func aboutTask(method, id, more string) shot {
	return withTasks(modern("a", "", method, id, fmt.Sprintf(`"taskId":%q%s`, id, more)))
}

// A call of a client with the extension becomes a task when it takes too long, and can ask its user then.
func TestModernTask(t *testing.T) {
	s := openSite(t, &gateway.Options{AnswerWithin: time.Millisecond})
	gate := make(chan struct{})
	addTool(s.server.Server, "slow", func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) string {
		<-gate
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(res.Action, " ", res.Content["name"])
	})
	eventually(t, "the tool is listed", func() bool {
		return strings.Contains(s.do(t, modern("a", "", "tools/list", "", "")).body, "one__slow")
	})
	if r := s.do(t, withTasks(modern("a", "", "tools/list", "", ""))); strings.Contains(r.body, "await_call") {
		t.Errorf("got await_call in the list %s, want it left out", cut(r.body))
	}
	m := s.wantCode(t, "call", withTasks(modern("a", "", "tools/call", "one__slow", `"name":"one__slow","arguments":{}`)), 0)
	id := m.at("taskId")
	if got, want := m.at("resultType")+" "+m.at("status"), "task working"; got != want {
		t.Fatalf("got %q (%s), want %q", got, m.Result, want)
	}
	for what, c := range map[string]struct {
		in   shot
		want int
	}{
		"another user":  {withTasks(modern("b", "", "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))), -32602},
		"another view":  {withTasks(modern("a", "/s/one/mcp", "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))), -32602},
		"unknown":       {aboutTask("tasks/get", "x", ""), -32602},
		"not declared":  {modern("a", "", "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id)), -32021},
		"another name":  {withTasks(modern("a", "", "tasks/get", "x", fmt.Sprintf(`"taskId":%q`, id))), -32020},
		"older method":  {aboutTask("tasks/result", id, ""), -32601},
		"notifications": {modern("a", "", "subscriptions/listen", "", fmt.Sprintf(`"notifications":{"taskIds":[%q]}`, id)), -32021},
	} {
		s.wantCode(t, what, c.in, c.want)
	}
	assert.Equal(t, s.wantCode(t, "get", aboutTask("tasks/get", id, ""), 0).at("status"), "working", "the status")
	close(gate)
	questions := map[string]struct{ Method string }{}
	eventually(t, "the task needs input", func() bool {
		m := s.wantCode(t, "get", aboutTask("tasks/get", id, ""), 0)
		return m.at("status") == "input_required" && json.Unmarshal([]byte(m.at("inputRequests")), &questions) == nil
	})
	for key, q := range questions {
		assert.Equal(t, q.Method, "elicitation/create", "the question")
		s.wantCode(t, "update nothing", aboutTask("tasks/update", id, `,"inputResponses":{"x":{}}`), 0)
		assert.Equal(t, s.wantCode(t, "get", aboutTask("tasks/get", id, ""), 0).at("status"), "input_required", "the status")
		answer := fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}}`, key)
		assert.Equal(t, s.wantCode(t, "update", aboutTask("tasks/update", id, answer), 0).at("resultType"), "complete", "the result type")
	}
	for range 2 { // the result is not forgotten with the first answer
		eventually(t, "the task is completed", func() bool {
			m = s.wantCode(t, "get", aboutTask("tasks/get", id, ""), 0)
			return m.at("status") == "completed"
		})
		if got := m.at("result", "content"); !strings.Contains(got, "accept Ada") {
			t.Errorf("got %s, want the answer", m.Result)
		}
	}
	s.wantCode(t, "cancel too late", aboutTask("tasks/cancel", id, ""), 0)
	assert.Equal(t, s.wantCode(t, "get", aboutTask("tasks/get", id, ""), 0).at("status"), "completed", "the status")
}

// A task that is cancelled ends the call of its server.
func TestModernTaskCancelled(t *testing.T) {
	s := openSite(t, &gateway.Options{AnswerWithin: time.Millisecond})
	m := s.wantCode(t, "call", withTasks(modern("a", "", "tools/call", "one__wait", `"name":"one__wait","arguments":{}`)), 0)
	id := m.at("taskId")
	eventually(t, "the call waits", func() bool { return s.server.waiting.Load() == 1 })
	assert.Equal(t, string(s.wantCode(t, "cancel", aboutTask("tasks/cancel", id, ""), 0).Result), `{"resultType":"complete"}`)
	eventually(t, "the call ends", func() bool { return s.server.waited.Load() == 1 })
	assert.Equal(t, s.wantCode(t, "get", aboutTask("tasks/get", id, ""), 0).at("status"), "cancelled", "the status")
}

// A client of this library gets the same by a task as by a call, from servers of both families.
func TestModernTaskOfClient(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		entry := fmt.Sprintf(`{"type":"http","url":%q}`, newAskingServer(t, serverModern))
		url, _ := newGateway(t, &gateway.Options{AnswerWithin: time.Nanosecond}, "asking", entry)
		ctx := hosttest.Watchdog(t)
		var all sync.WaitGroup
		for i := range 5 {
			user := fmt.Sprintf("user%d.", i)
			c := newUser(t, url+"/s/asking/mcp", user, mcp.Revision20260728, &mcp.ClientOptions{Tasks: true, Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if !strings.Contains(r.Params.Message, user) {
					t.Errorf("%s was asked %q", user, r.Params.Message)
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": user}}, nil
			}})
			all.Go(func() {
				res, err := c.CallTool(ctx, "ask", json.RawMessage(fmt.Sprintf(`{"user":%q}`, user)), nil)
				if err != nil {
					t.Error(err)
				} else if got, want := res.Text(), "accept "+user; got != want {
					t.Errorf("modern server %t: got %q, want %q", serverModern, got, want)
				}
			})
		}
		all.Wait()
	}
}
