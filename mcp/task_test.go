package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const (
	taskAbilities = `{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
	taskTools     = `{"tools":[
		{"name":"must","inputSchema":{},"execution":{"taskSupport":"required"}},
		{"name":"can","inputSchema":{},"execution":{"taskSupport":"optional"}},
		{"name":"never","inputSchema":{},"execution":{"taskSupport":"forbidden"}},
		{"name":"strange","inputSchema":{},"execution":{"taskSupport":["required"]}},
		{"name":"untold","inputSchema":{}}]}`
	taskResult = `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`
)

// A taskScript is what a server with tasks says, in terms of both revisions.
type taskScript struct {
	revision string
	states   []string // "working", "working:message", "completed" and so on, of tasks/get; the last is repeated
	interval string   // default 500
}

// state is a task as its revision writes it, without its braces.
func (s taskScript) state(is string) string {
	status, message, _ := strings.Cut(is, ":")
	interval := s.interval
	if interval == "" {
		interval = "500"
	}
	ttl, poll := "ttl", "pollInterval"
	if s.revision == mcp.Revision20260728 {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	out := fmt.Sprintf(`"taskId":"t1","status":%q,"createdAt":"2026-01-02T03:04:05Z","lastUpdatedAt":"yesterday","%s":60000,"%s":%s`, status, ttl, poll, interval)
	if message != "" {
		out += fmt.Sprintf(`,"statusMessage":%q`, message)
	}
	if s.revision != mcp.Revision20260728 {
		return out
	}
	switch status {
	case "completed":
		out += `,"result":` + taskResult
	case "failed":
		out += `,"error":{"code":-32000,"message":"out of paper","data":{"a":1}}`
	}
	return out
}

func (s taskScript) created() string {
	if s.revision == mcp.Revision20260728 {
		return `{"resultType":"task",` + s.state("working") + `}`
	}
	return `{"task":{` + s.state("working") + `}}`
}

func (s taskScript) get(is string) mcptest.Handler {
	if s.revision == mcp.Revision20260728 {
		return mcptest.Result(`{"resultType":"complete",` + s.state(is) + `}`)
	}
	return mcptest.Result(`{` + s.state(is) + `}`)
}

// server returns the server; what scripts say comes before what it would.
func (s taskScript) server(t testing.TB, scripts ...mcptest.Script) *mcptest.Server {
	capabilities := taskAbilities
	if s.revision == mcp.Revision20260728 {
		capabilities = `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	own := mcptest.Script{
		"tools/list":   mcptest.Result(taskTools),
		"tools/call":   mcptest.Result(s.created()),
		"tasks/cancel": s.get("cancelled"),
		"tasks/update": mcptest.Result(`{"resultType":"complete"}`),
	}
	if len(s.states) > 0 {
		var answers []mcptest.Handler
		for _, is := range s.states {
			answers = append(answers, s.get(is))
		}
		own["tasks/get"] = mcptest.Sequence(answers[0], answers[1:]...)
	}
	if s.revision != mcp.Revision20260728 {
		own["tasks/result"] = mcptest.Result(taskResult)
	}
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(s.revision, capabilities), own}, scripts...)...)
}

func withTasks() *mcp.ClientOptions { return &mcp.ClientOptions{Tasks: true} }

// everyTask runs a test everywhere, in a bubble.
func everyTask(t *testing.T, test func(t *testing.T, s taskScript, p plane)) {
	inBubbles(t, func(t *testing.T, revision string, p plane) { test(t, taskScript{revision: revision}, p) })
}

// taskError checks the error of a task without a result, and what is known of its outcome.
func taskError(t testing.TB, err error, outcome mcp.Outcome) *mcp.TaskError {
	t.Helper()
	lost := assert.As[*mcp.TaskError](t, err)
	assert.Contains(t, err.Error(), `"scripted"`)
	assert.Lacks(t, err.Error(), "t1")
	wantOutcome(t, err, outcome)
	return lost
}

func TestTask(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "working:half", "working:half", "completed"}
		server, c := p.withClient(t, s.server(t), withTasks())
		var told []string
		start := time.Now()
		res := assert.Value(c.CallTool(t.Context(), "must", nil, &mcp.RequestOptions{Task: &mcp.TaskOptions{
			Update: func(task *mcp.Task) {
				assert.Equal(t, [...]any{task.ID, task.CreatedAt.Year(), task.UpdatedAt.IsZero(), task.TTL, task.PollInterval},
					[...]any{"t1", 2026, true, time.Minute, 500 * time.Millisecond})
				told = append(told, fmt.Sprintf("%s:%s", task.Status, task.StatusMessage))
				*task = mcp.Task{} // it is the caller's
			},
		}}))(t)
		assert.Equal(t, textOf(t, res), "done", "result")
		assert.Equal(t, time.Since(start), 2*time.Second, "it took")
		assert.List(t, told, []string{"working:", "working:half", "completed:"})
		asked := strings.Contains(string(server.Received("tools/call")[0].Params), `"task":{}`)
		assert.Equal(t, asked, s.revision == mcp.Revision20251125, "asked")
		wantCount(t, server, "tasks/get", 4)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// A client asks for a task only where the server and the tool allow it, and
// always where the tool wants it.
func TestTaskAsked(t *testing.T) {
	const nobody = `{"tools":{},"tasks":{"list":{},"requests":{"sampling":{"call":{}}}}}`
	for _, test := range []struct {
		tool, revision, capabilities string
		task                         *mcp.TaskOptions
		want                         string
	}{
		{"must", mcp.Revision20251125, taskAbilities, nil, `{}`},
		{"must", mcp.Revision20251125, strings.Replace(taskAbilities, `"call":{}`, `"call":true`, 1), nil, `{}`},
		{"can", mcp.Revision20251125, taskAbilities, nil, ``},
		{"can", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, `{}`},
		{"never", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"strange", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"untold", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"unheard of", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"must", mcp.Revision20251125, nobody, &mcp.TaskOptions{}, ``},
		{"must", mcp.Revision20251125, `{"tools":{}}`, &mcp.TaskOptions{}, ``},
		{"must", "2025-06-18", taskAbilities, &mcp.TaskOptions{}, ``},
		{"must", mcp.Revision20260728, taskAbilities, &mcp.TaskOptions{}, ``},
	} {
		// A plain result is accepted although a task was asked for.
		server, c := withClient(t, mcptest.NewServer(t, mcptest.Handshake(test.revision, test.capabilities),
			mcptest.Script{"tools/list": mcptest.Result(taskTools), "tools/call": text("done")}), withTasks())
		res := assert.Value(c.CallTool(t.Context(), test.tool, nil, &mcp.RequestOptions{Task: test.task}))(t)
		assert.Equal(t, textOf(t, res), "done", "%s", test.tool)
		var params struct {
			Task json.RawMessage `json:"task"`
		}
		assert.OK(t, json.Unmarshal(server.Received("tools/call")[0].Params, &params), "%s of %s with %s", test.tool, test.revision, test.capabilities)
		assert.Equal(t, string(params.Task), test.want, "%s of %s with %s: task", test.tool, test.revision, test.capabilities)
		_, _ = c.CallTool(t.Context(), test.tool, nil, &mcp.RequestOptions{Task: test.task})
		assert.Between(t, len(server.Received("tools/list")), 0, 1, "%s: tools/list", test.tool)
	}
}

// A list that cannot be read is no reason not to call, unless it was not read
// for want of a connection or of time.
func TestTaskWithoutList(t *testing.T) {
	s := taskScript{revision: mcp.Revision20251125}
	server := s.server(t, mcptest.Script{"tools/list": mcptest.Error(-32603, "no list"), "tools/call": text("done")})
	assert.Equal(t, textOf(t, mustCall(t, newClient(t, server, nil), "must")), "done", "result")
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, s.server(t, mcptest.Script{"tools/list": mcptest.Hang}), nil)
		_, err := c.CallTool(within(t, time.Second), "must", nil, nil)
		wantNotSent(t, err, context.DeadlineExceeded)
		_, err = c.CallTool(t.Context(), "must", nil, &mcp.RequestOptions{CallTimeout: 2 * time.Second})
		assert.Equal(t, assert.As[*mcp.TimeoutError](t, err).Limit, "total", "limit")
		wantOutcome(t, err, mcp.NotSent)
		wantCount(t, server, "tools/call", 0)
	})
}

// Without Tasks a server of 2026-07-28 may not answer with a task.
func TestTaskNotDeclared(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		server, c := p.withClient(t, taskScript{revision: mcp.Revision20260728}.server(t), nil)
		wantInvalid(t, assert.Err(call(t, c, "must")), "tools/call", "resultType")
		assert.Lacks(t, string(server.Received("tools/call")[0].Params), "io.modelcontextprotocol/tasks", "tasks were declared")
		wantNotSent(t, assert.Err(c.ResumeTask(t.Context(), "t1", nil)), errors.ErrUnsupported)
		wantCount(t, server, "tasks/get", 0)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// A task only answers a call of a tool.
func TestTaskForOtherRequest(t *testing.T) {
	s := taskScript{revision: mcp.Revision20260728, states: []string{"working"}}
	c := newClient(t, s.server(t, mcptest.Script{"tools/list": mcptest.Result(s.created()), "tasks/get": mcptest.Result(s.created())}), withTasks())
	assert.As[*mcp.ProtocolError](t, assert.Err(c.Tools(t.Context())))
}

func TestTaskFails(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"failed:no paper"}
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/result": mcptest.Error(-32000, "out of paper")}), withTasks())
		_, err := call(t, c, "must")
		lost, refused := taskError(t, err, mcp.Answered), assert.As[*mcp.ServerError](t, err)
		assert.Equal(t, [...]any{refused.Err.Code, refused.Err.Message, lost.Tool, lost.Task.Status, lost.Task.StatusMessage, lost.Task.ID},
			[...]any{int64(-32000), "out of paper", "must", mcp.TaskStatus("failed"), "no paper", "t1"})
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// In 2025-11-25 a result that tells of an error is the result of a failed task.
func TestTaskFailsWithResult(t *testing.T) {
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"failed"}
		server := s.server(t, mcptest.Script{"tasks/result": mcptest.Result(`{"content":[],"isError":true}`)})
		assert.True(t, mustCall(t, newClient(t, p.to(server), nil), "must").IsError, "is error")
	})
}

func TestTaskCancelled(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "cancelled"}
		server, c := p.withClient(t, s.server(t), withTasks())
		assert.Equal(t, taskError(t, assert.Err(call(t, c, "must")), mcp.Answered).Task.Status, mcp.TaskStatus("cancelled"), "status")
		wantCount(t, server, "tasks/cancel", 0)
		wantCount(t, server, "tasks/result", 0)
	})
}

// The server's interval is honoured within bounds, and may change.
func TestTaskPollInterval(t *testing.T) {
	for interval, want := range map[string]time.Duration{
		"700": 700 * time.Millisecond, "null": time.Second, "0": time.Second, "-5": time.Second, "0.000001": 50 * time.Millisecond,
		"1": 50 * time.Millisecond, "1e300": 10 * time.Minute, "1e999": 10 * time.Minute, "9223372036854775807": 10 * time.Minute,
		"86400000": 10 * time.Minute, "1.5e3": 1500 * time.Millisecond,
	} {
		everyTask(t, func(t *testing.T, s taskScript, p plane) {
			s.states, s.interval = []string{"completed"}, interval
			c := newClient(t, p.to(s.server(t)), &mcp.ClientOptions{Tasks: true, CallTimeout: time.Hour})
			start := time.Now()
			mustCall(t, c, "must")
			assert.Equal(t, time.Since(start), want, "interval %s", interval)
		})
	}
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		slow, fast := s, s
		slow.interval, fast.interval = "5000", "100"
		server := s.server(t, mcptest.Script{"tasks/get": mcptest.Sequence(slow.get("working"), fast.get("working"), s.get("completed"))})
		start := time.Now()
		mustCall(t, newClient(t, p.to(server), withTasks()), "must")
		assert.Equal(t, time.Since(start), 5600*time.Millisecond, "it took")
	})
}

// A server that finished at once is not kept waiting for the first question.
func TestTaskDoneAtOnce(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"completed"}
		server := s.server(t, mcptest.Script{"tools/call": mcptest.Result(strings.Replace(s.created(), "working", "completed", 1))})
		start := time.Now()
		assert.Equal(t, [...]any{textOf(t, mustCall(t, newClient(t, p.to(server), withTasks()), "must")), time.Since(start)},
			[...]any{"done", time.Duration(0)})
	})
}
