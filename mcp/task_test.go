package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
		{"name":"mute","inputSchema":{}}]}`
	taskResult = `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`
)

// A taskScript is what a server with tasks says, in terms of both eras.
type taskScript struct {
	revision string
	states   []string // "working", "working:message", "completed" and so on, of tasks/get; the last is repeated
	interval string   // default 500
}

// state is a task as the era writes it, without its braces.
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
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) { test(t, taskScript{revision: revision}, p) })
	})
}

func taskError(t testing.TB, err error) *mcp.TaskError {
	t.Helper()
	var lost *mcp.TaskError
	if !errors.As(err, &lost) {
		t.Fatalf("error %v, want a *TaskError", err)
	}
	if !strings.Contains(err.Error(), `"scripted"`) || strings.Contains(err.Error(), "t1") {
		t.Errorf("error %v", err)
	}
	return lost
}

func TestTask(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "working:half", "working:half", "completed"}
		server := s.server(t)
		c := newClient(t, p.to(server), withTasks())
		var told []string
		start := time.Now()
		res := assert.Value(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{Task: &mcp.TaskOptions{
			TTL: 90 * time.Second,
			Update: func(task *mcp.Task) {
				if task.ID != "t1" || task.CreatedAt.Year() != 2026 || !task.UpdatedAt.IsZero() ||
					task.TTL != time.Minute || task.PollInterval != 500*time.Millisecond {
					t.Errorf("task %+v", task)
				}
				told = append(told, fmt.Sprintf("%s:%s", task.Status, task.StatusMessage))
				*task = mcp.Task{} // it is the caller's
			},
		}}))(t)
		assert.Equal(t, textOf(t, res), "done", "result")
		assert.Equal(t, time.Since(start), 2*time.Second, "it took")
		if want := []string{"working:", "working:half", "completed:"}; !slices.Equal(told, want) {
			t.Errorf("updates %q, want %q", told, want)
		}
		asked := strings.Contains(string(server.Received("tools/call")[0].Params), `"task":{"ttl":90000}`)
		if asked != (s.revision == mcp.Revision20251125) {
			t.Errorf("asked for by %s", server.Received("tools/call")[0].Params)
		}
		wantCount(t, server, "tasks/get", 4)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// A client asks for a task only where the server and the tool allow it, and
// always where the tool wants it.
func TestTaskAsked(t *testing.T) {
	const nobody = `{"tools":{},"tasks":{"list":{},"requests":{"sampling":{"call":{}}}}}`
	for _, test := range []struct {
		tool         string
		revision     string
		capabilities string
		task         *mcp.TaskOptions
		want         string
	}{
		{"must", mcp.Revision20251125, taskAbilities, nil, `{}`},
		{"must", mcp.Revision20251125, strings.Replace(taskAbilities, `"call":{}`, `"call":true`, 1), nil, `{}`},
		{"must", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{TTL: time.Microsecond}, `{"ttl":1}`},
		{"can", mcp.Revision20251125, taskAbilities, nil, ``},
		{"can", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, `{}`},
		{"never", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"strange", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"mute", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"unheard of", mcp.Revision20251125, taskAbilities, &mcp.TaskOptions{}, ``},
		{"must", mcp.Revision20251125, nobody, &mcp.TaskOptions{}, ``},
		{"must", mcp.Revision20251125, `{"tools":{}}`, &mcp.TaskOptions{}, ``},
		{"must", "2025-06-18", taskAbilities, &mcp.TaskOptions{}, ``},
		{"must", mcp.Revision20260728, taskAbilities, &mcp.TaskOptions{}, ``},
	} {
		// A plain result is accepted although a task was asked for.
		server := mcptest.NewServer(t, mcptest.Handshake(test.revision, test.capabilities),
			mcptest.Script{"tools/list": mcptest.Result(taskTools), "tools/call": text("done")})
		c := newClient(t, server, withTasks())
		res, err := c.CallTool(t.Context(), test.tool, nil, &mcp.CallToolOptions{Task: test.task})
		if err != nil || textOf(t, res) != "done" {
			t.Errorf("%s: %v, %v", test.tool, res, err)
		}
		var params struct {
			Task json.RawMessage `json:"task"`
		}
		if err := json.Unmarshal(server.Received("tools/call")[0].Params, &params); err != nil || string(params.Task) != test.want {
			t.Errorf("%s of %s with %s: asked with %q, want %q", test.tool, test.revision, test.capabilities, params.Task, test.want)
		}
		_, _ = c.CallTool(t.Context(), test.tool, nil, &mcp.CallToolOptions{Task: test.task})
		if n := len(server.Received("tools/list")); n > 1 {
			t.Errorf("%s: the list was read %d times", test.tool, n)
		}
	}
}

// A list that cannot be read is no reason not to call, unless it was not read
// for want of a connection or of time.
func TestTaskWithoutList(t *testing.T) {
	s := taskScript{revision: mcp.Revision20251125}
	server := s.server(t, mcptest.Script{"tools/list": mcptest.Error(-32603, "no list"), "tools/call": text("done")})
	assert.Equal(t, textOf(t, mustCall(t, newClient(t, server, nil), "must")), "done", "result")
	synctest.Test(t, func(t *testing.T) {
		server := s.server(t, mcptest.Script{"tools/list": mcptest.Hang})
		c := newClient(t, server, nil)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := c.CallTool(ctx, "must", nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		wantOutcome(t, err, mcp.NotSent)
		_, err = c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: 2 * time.Second})
		var late *mcp.TimeoutError
		if !errors.As(err, &late) || late.Limit != "total" {
			t.Errorf("error %v", err)
		}
		wantOutcome(t, err, mcp.NotSent)
		wantCount(t, server, "tools/call", 0)
	})
}

// Without Tasks a server of 2026-07-28 may not answer with a task.
func TestTaskNotDeclared(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		server := taskScript{revision: mcp.Revision20260728}.server(t)
		c := newClient(t, p.to(server), nil)
		_, err := call(t, c, "must")
		var invalid *mcp.ProtocolError
		if !errors.As(err, &invalid) || invalid.Path != "resultType" || invalid.Method != "tools/call" || invalid.Server != "scripted" {
			t.Errorf("error %v", err)
		}
		if strings.Contains(string(server.Received("tools/call")[0].Params), "io.modelcontextprotocol/tasks") {
			t.Error("tasks were declared")
		}
		for name, err := range map[string]error{
			"Task":       second(c.Task(t.Context(), "t1")),
			"ResumeTask": second(c.ResumeTask(t.Context(), "t1", nil)),
			"CancelTask": c.CancelTask(t.Context(), "t1"),
		} {
			if !errors.Is(err, errors.ErrUnsupported) || !mcp.SafeToRetry(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		wantCount(t, server, "tasks/get", 0)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

func second[T any](_ T, err error) error { return err }

// A task only answers a call of a tool.
func TestTaskForOtherRequest(t *testing.T) {
	s := taskScript{revision: mcp.Revision20260728, states: []string{"working"}}
	server := s.server(t, mcptest.Script{"tools/list": mcptest.Result(s.created()), "tasks/get": mcptest.Result(s.created())})
	c := newClient(t, server, withTasks())
	var invalid *mcp.ProtocolError
	if _, err := c.Tools(t.Context()); !errors.As(err, &invalid) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Task(t.Context(), "t1"); !errors.As(err, &invalid) || invalid.Path != "resultType" {
		t.Errorf("error %v", err)
	}
}

func TestTaskFails(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"failed:no paper"}
		server := s.server(t, mcptest.Script{"tasks/result": mcptest.Error(-32000, "out of paper")})
		c := newClient(t, p.to(server), withTasks())
		_, err := call(t, c, "must")
		lost := taskError(t, err)
		var refused *mcp.ServerError
		if !errors.As(err, &refused) || refused.Err.Code != -32000 || refused.Err.Message != "out of paper" {
			t.Errorf("error %v", err)
		}
		if lost.Tool != "must" || lost.Task.Status != mcp.TaskFailed || lost.Task.StatusMessage != "no paper" || lost.Task.ID != "t1" {
			t.Errorf("error %+v, task %+v", lost, lost.Task)
		}
		wantOutcome(t, err, mcp.Answered)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// In 2025-11-25 a result that tells of an error is the result of a failed task.
func TestTaskFailsWithResult(t *testing.T) {
	s := taskScript{revision: mcp.Revision20251125, states: []string{"failed"}}
	server := s.server(t, mcptest.Script{"tasks/result": mcptest.Result(`{"content":[],"isError":true}`)})
	res := mustCall(t, newClient(t, server, nil), "must")
	if !res.IsError {
		t.Errorf("result %+v", res)
	}
}

func TestTaskCancelled(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "cancelled"}
		server := s.server(t)
		c := newClient(t, p.to(server), withTasks())
		_, err := call(t, c, "must")
		if lost := taskError(t, err); lost.Task.Status != mcp.TaskCancelled {
			t.Errorf("task %+v", lost.Task)
		}
		wantOutcome(t, err, mcp.Answered)
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
		if got := textOf(t, mustCall(t, newClient(t, p.to(server), withTasks()), "must")); got != "done" || time.Since(start) != 0 {
			t.Errorf("result %q after %v", got, time.Since(start))
		}
	})
}

// memberOf returns one member of an object, as it stands there.
func memberOf(t testing.TB, object json.RawMessage, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	assert.OK(t, json.Unmarshal(object, &members))
	return string(members[name])
}
