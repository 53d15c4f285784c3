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

// A caller who goes takes the task with him, unless he wants it kept. He does
// not wait for the server to agree.
func TestTaskCallerGoes(t *testing.T) {
	for _, keep := range []bool{false, true} {
		everyTask(t, func(t *testing.T, s taskScript, p plane) {
			s.states = []string{"working"}
			server, c := p.withClient(t, s.server(t, mcptest.Script{"tasks/cancel": mcptest.Hang}), withTasks())
			ctx := within(t, 1700*time.Millisecond)
			start := time.Now()
			_, err := c.CallTool(ctx, "must", nil, &mcp.CallToolOptions{Task: &mcp.TaskOptions{Keep: keep}})
			assert.Equal(t, time.Since(start), 1700*time.Millisecond, "it took")
			lost := taskError(t, err)
			assert.Equal(t, [...]any{lost.Err, lost.Task.ID, lost.Task.Status}, [...]any{context.DeadlineExceeded, "t1", mcp.TaskWorking})
			wantOutcome(t, err, mcp.Unknown)
			synctest.Wait()
			want := 1
			if keep {
				want = 0
			}
			wantCount(t, server, "tasks/cancel", want)
			wantCount(t, server, "notifications/cancelled", 0)
			// Then the client does not wait for an answer any more.
			pass(5 * time.Second)
			if keep {
				return
			}
			assert.Equal(t, memberOf(t, server.Received("tasks/cancel")[0].Params, "taskId"), `"t1"`, "cancelled")
		})
	}
}

// So does the time of the call.
func TestTaskNeverEnds(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server, c := p.withClient(t, s.server(t), withTasks())
		start := time.Now()
		_, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: time.Minute, IdleTimeout: time.Second})
		late := assert.As[*mcp.TimeoutError](t, err)
		assert.Equal(t, [...]any{late.Limit, late.After, time.Since(start)}, [...]any{"total", time.Minute, time.Minute})
		taskError(t, err)
		wantOutcome(t, err, mcp.Unknown)
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 1)
		wantBetween(t, len(server.Received("tasks/get")), 0, 120, "tasks/get")
	})
}

// A server that cannot cancel is not asked to.
func TestTaskNotCancellable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := taskScript{revision: mcp.Revision20251125, states: []string{"working"}}
		server, c := withClient(t, s.server(t, mcptest.Handshake(s.revision, strings.Replace(taskAbilities, `"cancel":{},`, "", 1))), nil)
		taskError(t, errOf(c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: time.Second})))
		assert.Is(t, c.CancelTask(t.Context(), "t1"), errors.ErrUnsupported)
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 0)
	})
}

func TestTaskClientCloses(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server, c := p.withClient(t, s.server(t), withTasks())
		time.AfterFunc(1200*time.Millisecond, func() { _ = c.Close() })
		_, err := call(t, c, "must")
		assert.Equal(t, taskError(t, err).Err, mcp.ErrClosed, "err")
		wantOutcome(t, err, mcp.Unknown)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// Shutdown waits for the task.
func TestTaskShutdown(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "working", "completed"}
		c := newClient(t, p.to(s.server(t)), withTasks())
		ended := inBackground(func() error { return errOf(call(t, c, "must")) })
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
		wantBetween(t, server.Connections(), 3, math.MaxInt, "connections")
	})
}

// A server that is away for a while is waited for, with patience.
func TestTaskServerAway(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "completed"}
		server, c := p.withClient(t, s.server(t), withTasks())
		time.AfterFunc(700*time.Millisecond, func() {
			server.Down(errDown)
			server.Disconnect()
		})
		time.AfterFunc(4*time.Minute, func() { server.Down(nil) })
		assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
		// With the client's own rhythm of attempts.
		wantBetween(t, server.Connections(), 0, 60, "connections")
	})
}

// One that stays away is what the error tells of, besides the time that is over.
func TestTaskServerStaysAway(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server, c := p.withClient(t, s.server(t), withTasks())
		time.AfterFunc(700*time.Millisecond, func() {
			server.Down(errDown)
			server.Disconnect()
		})
		_, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: time.Minute})
		taskError(t, err)
		wantOutcome(t, err, mcp.Unknown)
		assert.As[*mcp.TimeoutError](t, err)
		assert.Is(t, err, errDown)
	})
}

// What the server does not know any more has ended.
func TestTaskForgotten(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		server := s.server(t, mcptest.Script{"tasks/get": mcptest.Sequence(s.get("working"), mcptest.Error(-32602, "Task not found"), mcptest.Error(-32603, "oops"))})
		c := newClient(t, p.to(server), withTasks())
		_, err := call(t, c, "must")
		lost := taskError(t, err)
		refused := assert.As[*mcp.ServerError](t, err)
		assert.Equal(t, [...]any{refused.Method, refused.Err.Code, lost.Task.Status}, [...]any{"tasks/get", int64(-32602), mcp.TaskWorking})
		wantOutcome(t, err, mcp.Answered)

		// Another error tells nothing of the task.
		_, err = call(t, c, "must")
		taskError(t, err)
		wantOutcome(t, err, mcp.Unknown)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

func TestTaskResume(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "completed", "working", "failed", "completed"}
		server := s.server(t, mcptest.Script{"tasks/result": mcptest.Sequence(mcptest.Result(taskResult), mcptest.Error(-32000, "out of paper"))})
		c := newClient(t, p.to(server), withTasks())
		var told []mcp.TaskStatus
		opts := &mcp.CallToolOptions{Task: &mcp.TaskOptions{Update: func(task *mcp.Task) { told = append(told, task.Status) }}}
		res, err := c.ResumeTask(t.Context(), "t1", opts)
		assert.OK(t, err)
		assert.Equal(t, textOf(t, res), "done")
		_, err = c.ResumeTask(t.Context(), "t1", opts)
		wantLen(t, told, 4, "told")
		assert.Equal(t, [...]any{taskError(t, err).Tool, told[0], told[1]}, [...]any{"", mcp.TaskWorking, mcp.TaskCompleted})
		wantOutcome(t, err, mcp.Answered)
		wantCount(t, server, "tools/call", 0)
		wantCount(t, server, "tools/list", 0)

		_, err = c.ResumeTask(t.Context(), "t2", nil) // whatever the server says, it is not about t2
		wantInvalid(t, err, "tasks/get", "taskId")
		wantOutcome(t, err, mcp.Unknown)
		for _, id := range []string{"", strings.Repeat("x", 1<<20)} {
			n := len(server.Received(""))
			_, err := c.ResumeTask(t.Context(), id, nil)
			wantOutcome(t, err, mcp.NotSent)
			assert.Equal(t, len(server.Received("")), n)
			wantBetween(t, len(err.Error()), 0, 200)
		}
	})
}

func TestTaskVerbs(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working:half"}
		server := s.server(t, mcptest.Script{"tasks/cancel": mcptest.Sequence(s.get("cancelled"), mcptest.Error(-32602, "it has ended"))})
		c := newClient(t, p.to(server), withTasks())
		task := assert.Value(c.Task(t.Context(), "t1"))(t)
		assert.Equal(t, [...]any{task.Status, task.StatusMessage, task.Status.Ended()}, [...]any{mcp.TaskWorking, "half", false})
		assert.OK(t, c.CancelTask(t.Context(), "t1"))
		assert.Equal(t, assert.As[*mcp.ServerError](t, c.CancelTask(t.Context(), "t1")).Method, "tasks/cancel", "method")
		_ = c.Close()
		for _, err := range []error{
			errOf(c.Task(t.Context(), "t1")), c.CancelTask(t.Context(), "t1"), errOf(c.ResumeTask(t.Context(), "t1", nil)),
		} {
			assert.Is(t, err, mcp.ErrClosed)
		}
	})
}

// A modernTask is a task of revision 2026-07-28.
var modernTask = taskScript{revision: mcp.Revision20260728}

// wants is an answer to tasks/get of a task that needs input.
func wants(requests string) mcptest.Handler {
	return mcptest.Result(`{"resultType":"complete",` + modernTask.state("input_required") + `,"inputRequests":` + requests + `}`)
}

// everyNewTask runs a test of revision 2026-07-28 on every plane, in a bubble.
func everyNewTask(t *testing.T, test func(t *testing.T, p plane)) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) { test(t, p) })
}

// What a task wants of the user he is asked once, however often the server says
// that it wants it, and the server is told once.
func TestTaskInput(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		asked := 0
		server := modernTask.server(t, mcptest.Script{"tasks/get": mcptest.Sequence(
			wants(`{"a":`+inputRequest+`}`),
			wants(`{"a":`+inputRequest+`}`), // not up to date yet
			wants(`{"a":`+inputRequest+`,"b \"1\"":`+inputRequest+`,"c":`+inputRequest+`}`),
			wants(`{"c":`+inputRequest+`}`),
			wants(`{}`),
			modernTask.get("input_required"),
			modernTask.get("working"),
			modernTask.get("completed"))})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			time.Sleep(3 * time.Minute) // sleep: on the bubble's clock
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
		assert.Equal(t, asked, 3, "the user was asked times")
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
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{
			"tools/call": mcptest.Sequence(needs(`{"a":`+inputRequest+`}`, `"s"`), mcptest.Result(modernTask.created())),
			"tasks/get":  mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), modernTask.get("completed")),
		})
		asked := 0
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, [...]any{textOf(t, mustCall(t, c, "x")), asked}, [...]any{"done", 2})
	})
}

// Responses that were lost on their way are sent again, without asking again.
func TestTaskInputLost(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{
			"tasks/get":    mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), wants(`{"a":`+inputRequest+`}`), modernTask.get("completed")),
			"tasks/update": mcptest.Sequence(mcptest.Disconnect, mcptest.Disconnect, mcptest.Result(`{}`)),
		})
		asked := 0
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, [...]any{textOf(t, mustCall(t, c, "x")), asked}, [...]any{"done", 1})
		wantCount(t, server, "tasks/update", 3)
		first, last := server.Received("tasks/update")[0].Params, server.Received("tasks/update")[2].Params
		assert.Equal(t, memberOf(t, first, "inputResponses"), memberOf(t, last, "inputResponses"))
	})
}

// Responses that the server does not take matter only if it still wants them.
func TestTaskInputRefused(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		everyNewTask(t, func(t *testing.T, p plane) {
			next := modernTask.get("completed")
			if wanted {
				next = wants(`{"a":` + inputRequest + `}`)
			}
			c := newClient(t, p.to(modernTask.server(t, mcptest.Script{
				"tasks/get":    mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), next),
				"tasks/update": mcptest.Error(-32602, "no such thing"),
			})), &mcp.ClientOptions{Tasks: true, Elicit: annAnswers})
			_, err := call(t, c, "x")
			if !wanted {
				assert.OK(t, err)
				return
			}
			taskError(t, err)
			assert.Equal(t, assert.As[*mcp.ServerError](t, err).Method, "tasks/update", "method")
			wantOutcome(t, err, mcp.Unknown)
		})
	}
}

// A task that cannot be helped is cancelled, unless it is to be kept. What a
// task wants is examined like all other requests.
func TestTaskInputInvalid(t *testing.T) {
	errHandler := errors.New("nobody at home")
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf(`"%d":%s`, i, inputRequest))
	}
	for _, test := range []struct {
		name     string
		requests string
		elicit   func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)
		path     string // of a *ProtocolError
		says     string
	}{
		{"undeclared", `{"a":{"method":"sampling/createMessage","params":{}}}`, annAnswers, `inputRequests["a"].method`, "sampling/createMessage"},
		{"nobody to ask", `{"a":` + inputRequest + `}`, nil, `inputRequests["a"].method`, "was not declared by this client"},
		{"other method", `{"a":{"method":"tools/call","params":{}}}`, annAnswers, `inputRequests["a"].method`, "tools/call"},
		{"no request", `{"a":7}`, annAnswers, `inputRequests["a"]`, "got a number, want an object"},
		{"too many", `{` + strings.Join(many, ",") + `}`, annAnswers, "inputRequests", "more than 16"},
		{"long key", `{"` + strings.Repeat("k", 5000) + `":` + inputRequest + `}`, annAnswers, "inputRequests", "longer than 4096"},
		{"handler fails", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errHandler
		}, "", "nobody at home"},
		{"handler panics", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			panic("oops")
		}, "", "oops"},
	} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", test.name, keep), func(t *testing.T) {
				everyNewTask(t, func(t *testing.T, p plane) {
					server := modernTask.server(t, mcptest.Script{"tasks/get": wants(test.requests)})
					c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: test.elicit})
					_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Task: &mcp.TaskOptions{Keep: keep}})
					assert.Contains(t, err.Error(), test.says)
					assert.Equal(t, taskError(t, err).Task.Status, mcp.TaskInputRequired, "status")
					var invalid *mcp.ProtocolError
					if errors.As(err, &invalid) != (test.path != "") || invalid != nil &&
						(invalid.Path != test.path || invalid.Method != "tasks/get" || invalid.Server != "scripted") {
						t.Errorf("error %v, want one at %q", err, test.path)
					}
					if test.name == "handler fails" && !errors.Is(err, errHandler) {
						t.Errorf("error %v does not wrap the handler's", err)
					}
					wantOutcome(t, err, mcp.Unknown)
					synctest.Wait()
					want := 1
					if keep {
						want = 0
					}
					wantCount(t, server, "tasks/cancel", want)
					wantCount(t, server, "tasks/update", 0)
				})
			})
		}
	}
}

// A server that wants something else each time is stopped.
func TestTaskInputWithoutEnd(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{"tasks/get": func(c *mcptest.Call) {
			wants(fmt.Sprintf(`{"k%d":%s}`, c.Number, inputRequest))(c)
		}})
		asked := 0
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return annAnswers(ctx, r)
		}})
		_, err := call(t, c, "x")
		taskError(t, err)
		assert.Equal(t, [...]any{assert.As[*mcp.ProtocolError](t, err).Path, asked}, [...]any{"inputRequests", 16})
	})
}

// A user who thinks longer than the call may take ends the task.
func TestTaskInputTooSlow(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{"tasks/get": wants(`{"a":` + inputRequest + `}`)})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, CallTimeout: time.Minute,
			Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		_, err := call(t, c, "x")
		var late *mcp.TimeoutError
		if taskError(t, err); !errors.As(err, &late) || late.Limit != "total" {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 1)
	})
}
