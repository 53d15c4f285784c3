//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func taskFeatures() []feature {
	const none, own = "the revision has no tasks", "the example server has the extension only"
	older := reasons{
		"2024-11-05": none, "2025-03-26": none, "2025-06-18": none,
		"own stdio " + legacy: own, "own http " + legacy: own,
	}
	return []feature{
		{name: "task", on: servers{
			"npm": becomesTask("simulate-research-query", `{"topic":"rain"}`, "# Research Report: rain"),
			"own": becomesTask("research", `{"topic":"rain"}`, "Read 3 sources about rain."),
		}, not: older},
		{name: "task that asks", on: servers{
			"npm": func(t *testing.T, p *peer) {
				p.user.fill(map[string]any{"interpretation": "snake"})
				becomesTask("simulate-research-query", `{"topic":"python","ambiguous":true}`, "**Clarification**: snake")(t, p)
				p.user.form(t)
			},
			"own": func(t *testing.T, p *peer) {
				p.user.fill(map[string]any{"title": "Days"})
				becomesTask("publish", `{}`, `as "Days"`)(t, p)
				p.user.form(t)
			},
		}, not: older},
		{name: "task left and resumed", on: servers{
			"npm": resumed("simulate-research-query", `{"topic":"snow"}`, "# Research Report: snow"),
			"own": resumed("research", `{"topic":"snow","steps":10}`, "Read 10 sources about snow."),
		}, not: older},
		{name: "task resumed by another", on: servers{"own": func(t *testing.T, p *peer) {
			task := begun(t, p, "research", `{"topic":"sleet","steps":10}`, true)
			want(t, text(assert.Value(p.another(t, nil).ResumeTask(ctxFor(t), task.ID, nil))(t)), "Read 10 sources about sleet.")
		}}, not: reasons{"own stdio": "a task ends with its server's process", "own http " + legacy: own}},
		{name: "task cancelled", on: servers{
			"npm": abandoned("simulate-research-query", `{"topic":"hail"}`),
			"own": abandoned("research", `{"topic":"hail","steps":100}`),
		}, not: older},
		{name: "task of a cancelled call", on: servers{
			"npm": given("simulate-research-query", `{"topic":"fog"}`),
			"own": given("research", `{"topic":"fog","steps":100}`),
		}, not: older},
	}
}

// becomesTask calls a tool as a task and waits for its result.
func becomesTask(tool, args string, parts ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		var seen []mcp.TaskStatus
		res := p.tool(t, tool, args, &mcp.RequestOptions{Task: &mcp.TaskOptions{Update: func(task *mcp.Task) {
			seen = append(seen, task.Status)
			assert.False(t, task.ID == "" || task.CreatedAt.IsZero() || task.PollInterval == 0, "%+v lacks something", task)
		}}})
		want(t, text(res), parts...)
		seen = slices.DeleteFunc(slices.Compact(seen), func(s mcp.TaskStatus) bool { return s == mcp.TaskStatus("input_required") })
		assert.Equal(t, fmt.Sprint(slices.Compact(seen)), fmt.Sprint([]mcp.TaskStatus{mcp.TaskStatus("working"), mcp.TaskStatus("completed")}), "what the task was")
	}
}

// begun calls a tool as a task, ends the caller's context as soon as there is
// one, and returns it.
func begun(t *testing.T, p *peer, tool, args string, keep bool) *mcp.Task {
	t.Helper()
	ctx, cancel := context.WithCancel(ctxFor(t))
	defer cancel()
	var task *mcp.Task
	_, err := p.CallTool(ctx, tool, json.RawMessage(args), &mcp.RequestOptions{Task: &mcp.TaskOptions{
		Keep:   keep,
		Update: func(u *mcp.Task) { task = u; cancel() },
	}})
	assert.Is(t, err, context.Canceled)
	assert.Equal(t, assert.As[*mcp.TaskError](t, err).Task.ID, task.ID, "the task")
	return task
}

func resumed(tool, args, part string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		task := begun(t, p, tool, args, true)
		want(t, text(assert.Value(p.ResumeTask(ctxFor(t), task.ID, nil))(t)), part)
	}
}

// abandoned cancels a task while another waits for it.
func abandoned(tool, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		task := begun(t, p, tool, args, true)
		assert.Value(askTask(t, p, "tasks/cancel", task.ID))(t)
		assert.Contains(t, assert.Value(askTask(t, p, "tasks/get", task.ID))(t), `"cancelled"`)
		_, err := p.ResumeTask(ctxFor(t), task.ID, nil)
		assert.Equal(t, assert.As[*mcp.TaskError](t, err).Task.Status, mcp.TaskStatus("cancelled"), "resumed")
	}
}

// given gives up a call that became a task, which cancels the task.
func given(tool, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		task := begun(t, p, tool, args, false)
		eventually(t, "the task to be cancelled", func() bool {
			now, err := askTask(t, p, "tasks/get", task.ID)
			return err == nil && strings.Contains(now, `"cancelled"`)
		})
	}
}

// askTask makes a request about a task.
func askTask(t *testing.T, p *peer, method, id string) (string, error) {
	result, err := p.Request(ctxFor(t), method, json.RawMessage(fmt.Sprintf(`{"taskId":%q}`, id)), nil)
	return string(result), err
}
