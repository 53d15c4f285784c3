package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A caller that goes takes the task along, unless it wants it kept. It does
// not wait for the server to agree.
func TestTaskCallerGoes(t *testing.T) {
	for keep, cancels := range map[bool]int{false: 1, true: 0} {
		everyTask(t, func(t *testing.T, s taskScript, p plane) {
			s.states = []string{"working"}
			server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/cancel": mcptest.Hang}), withTasks())
			start := time.Now()
			_, err := c.CallTool(within(t, 1700*time.Millisecond), "must", nil, &mcp.RequestOptions{Task: &mcp.TaskOptions{Keep: keep}})
			assert.Equal(t, time.Since(start), 1700*time.Millisecond, "it took")
			lost := taskError(t, err, mcp.Unknown)
			assert.Equal(t, [...]any{lost.Err, lost.Task.ID, lost.Task.Status}, [...]any{context.DeadlineExceeded, "t1", mcp.TaskStatus("working")})
			synctest.Wait()
			wantCount(t, server, "tasks/cancel", cancels)
			wantCount(t, server, "notifications/cancelled", 0)
			pass(5 * time.Second) // then the client does not wait for an answer any more
			for _, r := range server.Received("tasks/cancel") {
				assert.Equal(t, memberOf(t, r.Params, "taskId"), `"t1"`, "cancelled")
			}
		})
	}
}

// So does the time of the call.
func TestTaskNeverEnds(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server, c := p.withClient(t, s.server(t), withTasks())
		start := time.Now()
		_, err := c.CallTool(t.Context(), "must", nil, &mcp.RequestOptions{CallTimeout: time.Minute, IdleTimeout: time.Second})
		late := assert.As[*mcp.TimeoutError](t, err)
		assert.Equal(t, [...]any{late.Limit, late.After, time.Since(start)}, [...]any{"total", time.Minute, time.Minute})
		taskError(t, err, mcp.Unknown)
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 1)
		assert.Between(t, len(server.Received("tasks/get")), 0, 120, "tasks/get")
	})
}

// A server that cannot cancel is not asked to.
func TestTaskNotCancellable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := taskScript{revision: mcp.Revision20251125, states: []string{"working"}}
		server, c := withClient(t, s.server(t, mcptest.Handshake(s.revision, strings.Replace(taskAbilities, `"cancel":{},`, "", 1))), nil)
		taskError(t, assert.Err(c.CallTool(t.Context(), "must", nil, &mcp.RequestOptions{CallTimeout: time.Second})), mcp.Unknown)
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 0)
	})
}

func TestTaskClientCloses(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server, c := p.withClient(t, s.server(t), withTasks())
		go func() { pause(1200 * time.Millisecond); _ = c.Close() }()
		assert.Equal(t, taskError(t, assert.Err(call(t, c, "must")), mcp.Unknown).Err, mcp.ErrClosed)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// Shutdown waits for the task.
func TestTaskShutdown(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "working", "completed"}
		c := newClient(t, p.to(s.server(t)), withTasks())
		ended := inBackground(func() error { return assert.Err(call(t, c, "must")) })
		pass(time.Millisecond)
		assert.OK(t, c.Shutdown(t.Context()))
		assert.OK(t, <-ended)
	})
}

// The task survives the connection, and the waiting for it does.
func TestTaskOutlivesConnection(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		server, c := p.withClient(t, s.server(t, mcptest.Script{
			"tasks/get": mcptest.Sequence(s.get("working"), mcptest.Disconnect, mcptest.Disconnect, s.get("working"),
				func(c *mcptest.Call) { c.Disconnect() }, s.get("completed")),
			"tasks/result": mcptest.Sequence(mcptest.Disconnect, mcptest.Disconnect, mcptest.Disconnect, mcptest.Result(taskResult)),
		}), withTasks())
		assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
		wantCount(t, server, "tools/call", 1)
		assert.Between(t, server.Connections(), 3, math.MaxInt, "connections")
	})
}

// A server that is away for a while is waited for, with the client's own rhythm of attempts.
// One that stays away is what the error tells of, besides the time that is over.
func TestTaskServerAway(t *testing.T) {
	for _, returns := range []bool{true, false} {
		everyTask(t, func(t *testing.T, s taskScript, p plane) {
			s.states = []string{"working", "completed"}
			server, c := p.withClient(t, s.server(t), withTasks())
			ended := inBackground(func() error { return assert.Err(call(t, c, "must")) })
			pass(700 * time.Millisecond)
			shutDown(server)
			if returns {
				pass(4 * time.Minute)
				server.Down(nil)
				assert.OK(t, <-ended)
				assert.Between(t, server.Connections(), 2, 60, "connections")
				return
			}
			err := <-ended
			taskError(t, err, mcp.Unknown)
			assert.As[*mcp.TimeoutError](t, err)
			assert.Is(t, err, errDown)
		})
	}
}

// What the server does not know any more has ended.
func TestTaskForgotten(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/get": mcptest.Sequence(
			s.get("working"), mcptest.Error(-32602, "Task not found"), mcptest.Error(-32603, "oops"))}), withTasks())
		_, err := call(t, c, "must")
		lost, refused := taskError(t, err, mcp.Answered), assert.As[*mcp.ServerError](t, err)
		assert.Equal(t, [...]any{refused.Method, refused.Err.Code, lost.Task.Status}, [...]any{"tasks/get", int64(-32602), mcp.TaskStatus("working")})
		taskError(t, assert.Err(call(t, c, "must")), mcp.Unknown) // another error tells nothing of the task
		wantCount(t, server, "tasks/cancel", 0)
	})
}

func TestTaskResume(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "completed", "working", "failed", "completed"}
		server, c := p.withClient(t, s.server(t, mcptest.Script{
			"tasks/result": mcptest.Sequence(mcptest.Result(taskResult), mcptest.Error(-32000, "out of paper"))}), withTasks())
		var told []mcp.TaskStatus
		opts := &mcp.RequestOptions{Task: &mcp.TaskOptions{Update: func(task *mcp.Task) { told = append(told, task.Status) }}}
		assert.Equal(t, assert.Value(c.ResumeTask(t.Context(), "t1", opts))(t).Text(), "done")
		assert.Equal(t, taskError(t, assert.Err(c.ResumeTask(t.Context(), "t1", opts)), mcp.Answered).Tool, "", "tool")
		assert.List(t, told, []mcp.TaskStatus{mcp.TaskStatus("working"), mcp.TaskStatus("completed"), mcp.TaskStatus("working"), mcp.TaskStatus("failed")})
		wantCount(t, server, "tools/call", 0)
		wantCount(t, server, "tools/list", 0)

		_, err := c.ResumeTask(t.Context(), "t2", nil) // whatever the server says, it is not about t2
		wantInvalid(t, err, "tasks/get", "taskId")
		wantOutcome(t, err, mcp.Unknown)
		for _, id := range []string{"", strings.Repeat("x", 1<<20)} {
			n := len(server.Received(""))
			_, err := c.ResumeTask(t.Context(), id, nil)
			wantOutcome(t, err, mcp.NotSent)
			assert.Between(t, len(err.Error()), 1, 200, "bytes of the error")
			wantCount(t, server, "", n)
		}
	})
}

// A modernTask is a task of revision 2026-07-28.
var modernTask = taskScript{revision: mcp.Revision20260728}

// wants is an answer to tasks/get of a task that needs input.
func wants(requests string) mcptest.Handler {
	return mcptest.Result(`{"resultType":"complete",` + modernTask.state("input_required") + `,"inputRequests":` + requests + `}`)
}

// everyNewTask runs a test of a task of revision 2026-07-28 on every plane, in a bubble.
// A call of the client's tool asks the user, who thinks for three minutes, asked times.
func everyNewTask(t *testing.T, script mcptest.Script, test func(t *testing.T, server *mcptest.Server, c *mcp.Client, asked *int)) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		asked := 0
		server, c := p.withClient(t, modernTask.server(t, script), &mcp.ClientOptions{
			Tasks: true,
			Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				pause(3 * time.Minute)
				return annAnswers(ctx, r)
			},
		})
		test(t, server, c, &asked)
	})
}

// What a task wants of the user they are asked once, however often the server says
// that it wants it, and the server is told once.
func TestTaskInput(t *testing.T) {
	everyNewTask(t, mcptest.Script{"tasks/get": mcptest.Sequence(
		wants(`{"a":`+inputRequest+`}`),
		wants(`{"a":`+inputRequest+`}`), // not up to date yet
		wants(`{"a":`+inputRequest+`,"b \"1\"":`+inputRequest+`,"c":`+inputRequest+`}`),
		wants(`{"c":`+inputRequest+`}`), wants(`{}`), modernTask.get("input_required"), modernTask.get("working"),
		modernTask.get("completed"),
	)}, func(t *testing.T, server *mcptest.Server, c *mcp.Client, asked *int) {
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
		assert.Equal(t, *asked, 3, "the user was asked times")
		const ann = `{"action":"accept","content":{"name":"Ann"}}`
		for i, want := range []string{`{"a":` + ann + `}`, `{"b \"1\"":` + ann + `,"c":` + ann + `}`} {
			params := server.Received("tasks/update")[i].Params
			assert.Equal(t, [...]any{memberOf(t, params, "inputResponses"), memberOf(t, params, "taskId")}, [...]any{want, `"t1"`}, "update %d", i+1)
		}
		wantCount(t, server, "tasks/update", 2)
		wantCount(t, server, "tools/call", 1)
	})
}

// Input may be wanted before there is a task, in its own way.
func TestTaskInputBefore(t *testing.T) {
	everyNewTask(t, mcptest.Script{
		"tools/call": mcptest.Sequence(needs(`{"a":`+inputRequest+`}`, `"s"`), mcptest.Result(modernTask.created())),
		"tasks/get":  mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), modernTask.get("completed")),
	}, func(t *testing.T, _ *mcptest.Server, c *mcp.Client, asked *int) {
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
		assert.Equal(t, *asked, 2, "the user was asked times")
	})
}

// Responses that were lost on their way are sent again, without asking again.
func TestTaskInputLost(t *testing.T) {
	everyNewTask(t, mcptest.Script{
		"tasks/get":    mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), wants(`{"a":`+inputRequest+`}`), modernTask.get("completed")),
		"tasks/update": mcptest.Sequence(mcptest.Disconnect, mcptest.Disconnect, mcptest.Result(`{}`)),
	}, func(t *testing.T, server *mcptest.Server, c *mcp.Client, asked *int) {
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
		assert.Equal(t, *asked, 1, "the user was asked times")
		wantCount(t, server, "tasks/update", 3)
		updates := server.Received("tasks/update")
		assert.Equal(t, memberOf(t, updates[0].Params, "inputResponses"), memberOf(t, updates[2].Params, "inputResponses"))
	})
}

// Responses that the server does not take matter only if it still wants them.
func TestTaskInputRefused(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		next := modernTask.get("completed")
		if wanted {
			next = wants(`{"a":` + inputRequest + `}`)
		}
		everyNewTask(t, mcptest.Script{
			"tasks/get":    mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), next),
			"tasks/update": mcptest.Error(-32602, "no such thing"),
		}, func(t *testing.T, _ *mcptest.Server, c *mcp.Client, _ *int) {
			_, err := call(t, c, "x")
			if !wanted {
				assert.OK(t, err)
				return
			}
			taskError(t, err, mcp.Unknown)
			assert.Equal(t, assert.As[*mcp.ServerError](t, err).Method, "tasks/update", "method")
		})
	}
}

// A task that cannot be helped is cancelled, unless it is to be kept. What a
// task wants is examined like all other requests.
func TestTaskInputInvalid(t *testing.T) {
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf(`"%d":%s`, i, inputRequest))
	}
	one := `{"a":` + inputRequest + `}`
	for _, test := range []struct {
		name     string
		requests string
		elicit   func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)
		path     string // of a *ProtocolError
		says     string
	}{
		{"undeclared", `{"a":{"method":"sampling/createMessage","params":{}}}`, annAnswers, `inputRequests["a"].method`, "sampling/createMessage"},
		{"nobody to ask", one, nil, `inputRequests["a"].method`, "was not declared by this client"},
		{"other method", `{"a":{"method":"tools/call","params":{}}}`, annAnswers, `inputRequests["a"].method`, "tools/call"},
		{"no request", `{"a":7}`, annAnswers, `inputRequests["a"]`, "got a number, want an object"},
		{"too many", `{` + strings.Join(many, ",") + `}`, annAnswers, "inputRequests", "more than 16"},
		{"long key", `{"` + strings.Repeat("k", 5000) + `":` + inputRequest + `}`, annAnswers, "inputRequests", "longer than 4096"},
		{"handler fails", one, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, errDown }, "", errDown.Error()},
		{"handler panics", one, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("oops") }, "", "oops"},
	} {
		for keep, cancels := range map[bool]int{false: 1, true: 0} {
			everyPlaneInBubble(t, func(t *testing.T, p plane) {
				server, c := p.withClient(t, modernTask.server(t, mcptest.Script{"tasks/get": wants(test.requests)}), &mcp.ClientOptions{Tasks: true, Elicit: test.elicit})
				_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Task: &mcp.TaskOptions{Keep: keep}})
				assert.Contains(t, fmt.Sprint(err), test.says, "%s", test.name)
				assert.Equal(t, taskError(t, err, mcp.Unknown).Task.Status, mcp.TaskStatus("input_required"), "%s: status", test.name)
				if test.path != "" {
					wantInvalid(t, err, "tasks/get", test.path, "%s", test.name)
				}
				assert.Equal(t, errors.Is(err, errDown), test.name == "handler fails", "%s: the handler's error", test.name)
				synctest.Wait()
				wantCount(t, server, "tasks/cancel", cancels)
				wantCount(t, server, "tasks/update", 0)
			})
		}
	}
}

// A server that wants something else each time is stopped.
func TestTaskInputWithoutEnd(t *testing.T) {
	everyNewTask(t, mcptest.Script{"tasks/get": func(c *mcptest.Call) {
		wants(fmt.Sprintf(`{"k%d":%s}`, c.Number, inputRequest))(c)
	}}, func(t *testing.T, _ *mcptest.Server, c *mcp.Client, asked *int) {
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{CallTimeout: time.Hour})
		taskError(t, err, mcp.Unknown)
		wantInvalid(t, err, "", "inputRequests")
		assert.Equal(t, *asked, 16, "the user was asked times")
	})
}

// A user who thinks longer than the call may take ends the task.
func TestTaskInputTooSlow(t *testing.T) {
	everyNewTask(t, mcptest.Script{"tasks/get": wants(`{"a":` + inputRequest + `}`)},
		func(t *testing.T, server *mcptest.Server, c *mcp.Client, _ *int) {
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{CallTimeout: time.Minute})
			taskError(t, err, mcp.Unknown)
			assert.Equal(t, assert.As[*mcp.TimeoutError](t, err).Limit, "total", "limit")
			synctest.Wait()
			wantCount(t, server, "tasks/cancel", 1)
		})
}
