// Tests of task.go and task_wait.go: tasks of revision 2025-11-25, and over HTTP.

package mcp_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// everyOldTask runs a test of revision 2025-11-25 on every plane, in a bubble.
func everyOldTask(t *testing.T, test func(t *testing.T, s taskScript, p plane)) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) { test(t, taskScript{revision: mcp.Revision20251125}, p) })
}

// A server that needs input is asked for the result, and asks meanwhile, for
// however long the user thinks.
func TestTaskElicits(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "input_required"}
		const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}`
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/result": func(c *mcptest.Call) {
			answer, err := c.Ask("elicitation/create", strings.TrimSuffix(question, "}")+","+related+"}")
			assert.Is(t, err, nil)
			assert.Contains(t, string(answer), "Ann")
			assert.Contains(t, string(answer), related)
			pause(2 * time.Minute)
			c.Result(taskResult)
		}}), &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			pause(3 * time.Minute)
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
		wantCount(t, server, "tasks/result", 1)
	})
}

// A server that does not take tasks/result before the end is polled until then.
func TestTaskResultTooEarly(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"input_required", "input_required", "working", "input_required", "completed"}
		server := s.server(t, mcptest.Script{"tasks/result": mcptest.Sequence(mcptest.Error(-32602, "not yet"), mcptest.Result(taskResult))})
		assert.Equal(t, textOf(t, mustCall(t, newClient(t, p.to(server), nil), "must")), "done", "result")
		wantCount(t, server, "tasks/get", 5)
		wantCount(t, server, "tasks/result", 2)
	})
}

// The result can expire.
func TestTaskResultExpired(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"completed"}
		_, err := call(t, newClient(t, p.to(s.server(t, mcptest.Script{"tasks/result": mcptest.Error(-32602, "expired")})), nil), "must")
		taskError(t, err, mcp.Answered)
		assert.Equal(t, assert.As[*mcp.ServerError](t, err).Method, "tasks/result", "method")
	})
}

// A server that was replaced by one without tasks gets no parameter for them.
func TestTaskServerReplaced(t *testing.T) {
	server := taskScript{revision: mcp.Revision20251125}.server(t, mcptest.Script{
		"initialize": mcptest.Sequence(
			mcptest.Handshake(mcp.Revision20251125, taskAbilities)["initialize"],
			mcptest.Handshake(mcp.Revision20251125, "")["initialize"]),
		"tools/call": text("done"),
	})
	assert.Equal(t, textOf(t, mustCall(t, newClient(t, failingFirst(server, 1), nil), "must")), "done", "result")
	assert.Lacks(t, string(server.Received("tools/call")[0].Params), `"task"`)
	assert.Between(t, server.Connections(), 2, 3, "connections")
}

// Over HTTP every request about a task names the task in its header.
func TestTaskHTTP(t *testing.T) {
	for id, name := range map[string]string{"t1": "t1", "täsk 1": "=?base64?" + base64.StdEncoding.EncodeToString([]byte("täsk 1")) + "?="} {
		task := func(status, more string) string {
			return fmt.Sprintf(`{"taskId":%q,"status":%q,"createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":1%s}`, id, status, more)
		}
		updated := make(chan struct{}, 100)
		s := newWebServer(t, mcp.Revision20260728, map[string]func(*webRequest){
			"server/discover": result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`),
			"tools/call":      result(`{"resultType":"task",` + task("working", "")[1:]),
			"tasks/get":       result(task("input_required", `,"inputRequests":{"a":`+inputRequest+`}`)),
			"tasks/update":    func(v *webRequest) { result(`{"resultType":"complete"}`)(v); updated <- struct{}{} },
			"tasks/cancel":    result(`{"resultType":"complete"}`),
		})
		ctx, stop := context.WithCancel(t.Context())
		c := newClient(t, &s.HTTP, &mcp.ClientOptions{Tasks: true, Elicit: annAnswers})
		keep := &mcp.RequestOptions{Task: &mcp.TaskOptions{Keep: true}}
		ended := inBackground(func() error { return assert.Err(c.CallTool(ctx, "tool", nil, keep)) })
		<-updated
		stop()
		taskError(t, <-ended, mcp.Unknown)
		assert.OK(t, cancelTask(t.Context(), c, id))
		for method, want := range map[string]string{"tools/call": "tool", "tasks/get": name, "tasks/update": name, "tasks/cancel": name} {
			for _, v := range s.of(method) {
				assert.Equal(t, v.Header.Get("Mcp-Method")+" "+v.Header.Get("Mcp-Name"), method+" "+want, "header fields")
			}
		}
	}
}
