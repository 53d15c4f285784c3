// Tests of task.go: what servers say of tasks.

package mcp_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// What is wrong with a task is named, and the connection lives on.
func TestTaskInvalid(t *testing.T) {
	long := `"` + strings.Repeat("i", 1<<14) + `"`
	for _, test := range []struct {
		name     string
		old, new string // what is replaced in the task
		path     string
		only     string // the revision, if not both
	}{
		{"no id", `"taskId":"t1",`, ``, "taskId", ""},
		{"empty id", `"t1"`, `""`, "taskId", ""},
		{"null id", `"t1"`, `null`, "taskId", ""},
		{"id of wrong type", `"t1"`, `7`, "taskId", ""},
		{"endless id", `"t1"`, long, "taskId", ""},
		{"no status", `"status":"working",`, ``, "status", ""},
		{"status of wrong type", `"working"`, `["working"]`, "status", ""},
		{"unknown status", `"working"`, `"WORKING"`, "status", ""},
		{"message of wrong type", `"status"`, `"statusMessage":7,"status"`, "statusMessage", ""},
		{"ttl of wrong type", `60000`, `"60000"`, "ttl", mcp.Revision20251125},
		{"ttl of wrong type", `60000`, `"60000"`, "ttlMs", mcp.Revision20260728},
		{"interval of wrong type", `:500`, `:"500"`, "pollInterval", mcp.Revision20251125},
		{"interval of wrong type", `:500`, `:{}`, "pollIntervalMs", mcp.Revision20260728},
		{"key in other case", `"taskId"`, `"taskid"`, "taskId", ""},
	} {
		everyTask(t, func(t *testing.T, s taskScript, p plane) {
			if test.only != "" && test.only != s.revision {
				return
			}
			bad := func(text string) string {
				changed := strings.Replace(text, test.old, test.new, 1)
				wantOther(t, changed, text, "%s: nothing to replace", test.name)
				return changed
			}
			server, c := p.withClient(t, s.server(t, mcptest.Script{
				"tools/call": mcptest.Sequence(mcptest.Result(bad(s.created())), mcptest.Result(s.created()), text("next")),
				"tasks/get":  mcptest.Result(bad(`{` + s.state("working") + `}`)),
			}), withTasks())
			_, err := call(t, c, "must") // no task can be told of
			path := test.path
			if s.revision == mcp.Revision20251125 {
				path = "task." + path
			}
			wantInvalid(t, err, "tools/call", path, "%s", test.name)
			wantOutcome(t, err, mcp.Answered)

			_, err = call(t, c, "must")
			taskError(t, err, mcp.Unknown)
			wantInvalid(t, err, "tasks/get", test.path, "%s", test.name)
			assert.Between(t, len(err.Error()), 1, 300, "%s: bytes of the error", test.name)
			assert.Equal(t, textOf(t, mustCall(t, c, "must")), "next", "%s: result", test.name)
			assert.Equal(t, server.Connections(), 1, "%s: connections", test.name)
		})
	}
}

// So is what is wrong with its end.
func TestTaskInvalidEnd(t *testing.T) {
	for _, test := range []struct {
		name    string
		end     string // of the answer to tasks/get, behind the task
		status  string
		path    string // "" if the error is the task's own
		outcome mcp.Outcome
	}{
		{"no result", ``, "completed", "result", mcp.Answered},
		{"null result", `,"result":null`, "completed", "result", mcp.Answered},
		{"result of wrong type", `,"result":[]`, "completed", "result", mcp.Answered},
		{"bad result", `,"result":{"content":7}`, "completed", "result.content", mcp.Answered},
		{"result that needs input", `,"result":{"resultType":"input_required"}`, "completed", "result.resultType", mcp.Answered},
		{"result that is a task", `,"result":{"resultType":"task","taskId":"t2"}`, "completed", "result.resultType", mcp.Answered},
		{"no error", ``, "failed", "", mcp.Answered},
		{"error of wrong type", `,"error":"oops"`, "failed", "error", mcp.Unknown},
		{"code of wrong type", `,"error":{"code":"1"}`, "failed", "error.code", mcp.Unknown},
		{"requests of wrong type", `,"inputRequests":[]`, "input_required", "inputRequests", mcp.Unknown},
		{"answer of wrong type", `,"resultType":"input_required"`, "working", "resultType", mcp.Unknown},
	} {
		end := mcptest.Result(`{` + strings.Replace(modernTask.state("working"), "working", test.status, 1) + test.end + `}`)
		everyNewTask(t, mcptest.Script{"tasks/get": end}, func(t *testing.T, _ *mcptest.Server, c *mcp.Client, _ *int) {
			_, err := call(t, c, "must")
			taskError(t, err, test.outcome)
			if test.path != "" {
				wantInvalid(t, err, "tasks/get", test.path, "%s", test.name)
			}
			wantPhase(t, c, mcp.Ready)
		})
	}
	everyOldTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"completed"}
		_, err := call(t, newClient(t, p.to(s.server(t, mcptest.Script{"tasks/result": mcptest.Result(`{"content":7}`)})), nil), "must")
		taskError(t, err, mcp.Answered)
		wantInvalid(t, err, "tasks/result", "content")
	})
	// What comes to tasks/get without being an object at all.
	for _, answer := range []string{`[]`, `null`, `7`, `"working"`} {
		everyTask(t, func(t *testing.T, s taskScript, p plane) {
			_, err := call(t, newClient(t, p.to(s.server(t, mcptest.Script{"tasks/get": mcptest.Result(answer)})), withTasks()), "must")
			taskError(t, err, mcp.Unknown)
			wantInvalid(t, err, "tasks/get", "result", "%s", answer)
		})
	}
}

// A task that was not asked for is no success without content, and what it does may
// not be over.
func TestTaskNotAskedFor(t *testing.T) {
	for _, test := range []struct{ name, revision, answer, path string }{
		{"older", mcp.Revision20251125, `{"task":{"taskId":"t1","status":"working","ttl":null}}`, "task"},
		{"older, with metadata", mcp.Revision20251125, `{"_meta":{},"task":{"taskId":"t1","status":"working"}}`, "task"},
		{"older, broken", mcp.Revision20251125, `{"task":7}`, "task"},
		{"oldest", "2024-11-05", `{"task":{"taskId":"t1","status":"working"}}`, "task"},
		{"newest", mcp.Revision20260728, `{"resultType":"task","taskId":"t1","status":"working","ttlMs":null}`, "resultType"},
	} {
		everyPlane(t, func(t *testing.T, p plane) {
			c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(test.revision, ""), mcptest.Script{
				"tools/call": mcptest.Sequence(mcptest.Result(test.answer), text("next")),
			})), nil)
			_, err := call(t, c, "x")
			wantInvalid(t, err, "", test.path, "%s: the path", test.name)
			wantOutcome(t, err, mcp.Unknown)
			assert.Lacks(t, err.Error(), "t1", "%s", test.name)
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "next", "%s: of the next call", test.name)
		})
	}
	// A result may have a member of that name.
	server := legacy(t, mcptest.Script{"tools/call": mcptest.Result(`{"task":{},"content":[{"type":"text","text":"done"}]}`)})
	assert.Equal(t, textOf(t, mustCall(t, newClient(t, server, nil), "x")), "done")
}
