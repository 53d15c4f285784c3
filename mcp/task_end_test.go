package mcp_test

import (
	"context"
	"errors"
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
			server := s.server(t, mcptest.Script{"tasks/cancel": mcptest.Hang})
			c := newClient(t, p.to(server), withTasks())
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
		server := s.server(t)
		c := newClient(t, p.to(server), withTasks())
		start := time.Now()
		_, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: 3 * time.Minute, IdleTimeout: time.Second})
		late := assert.As[*mcp.TimeoutError](t, err)
		assert.Equal(t, [...]any{late.Limit, late.After, time.Since(start)}, [...]any{"total", 3 * time.Minute, 3 * time.Minute})
		taskError(t, err)
		wantOutcome(t, err, mcp.Unknown)
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 1)
		if n := len(server.Received("tasks/get")); n > 360 {
			t.Errorf("%d polls in three minutes", n)
		}
	})
}

// A server that cannot cancel is not asked to.
func TestTaskNotCancellable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := taskScript{revision: mcp.Revision20251125, states: []string{"working"}}
		server := s.server(t, mcptest.Handshake(s.revision, strings.Replace(taskAbilities, `"cancel":{},`, "", 1)))
		c := newClient(t, server, nil)
		_, err := c.CallTool(t.Context(), "must", nil, &mcp.CallToolOptions{CallTimeout: time.Second})
		taskError(t, err)
		assert.Is(t, c.CancelTask(t.Context(), "t1"), errors.ErrUnsupported)
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 0)
	})
}

func TestTaskClientCloses(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server := s.server(t)
		c := newClient(t, p.to(server), withTasks())
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
		time.Sleep(time.Millisecond) // sleep: on the bubble's clock
		assert.OK(t, c.Shutdown(t.Context()))
		assert.OK(t, <-ended)
	})
}

// The task survives the connection, and the waiting for it does.
func TestTaskOutlivesConnection(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		server := s.server(t, mcptest.Script{
			"tasks/get": mcptest.Sequence(s.get("working"), mcptest.Disconnect, mcptest.Disconnect, s.get("working"),
				func(c *mcptest.Call) {
					c.Disconnect()
				}, s.get("completed")),
			"tasks/result": mcptest.Sequence(mcptest.Disconnect, mcptest.Disconnect, mcptest.Disconnect, mcptest.Result(taskResult)),
		})
		c := newClient(t, p.to(server), withTasks())
		assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
		wantCount(t, server, "tools/call", 1)
		if n := server.Connections(); n < 3 {
			t.Errorf("%d connections", n)
		}
	})
}

// A server that is away for a while is waited for, with patience.
func TestTaskServerAway(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "completed"}
		server := s.server(t)
		c := newClient(t, p.to(server), withTasks())
		time.AfterFunc(700*time.Millisecond, func() {
			server.Down(errDown)
			server.Disconnect()
		})
		time.AfterFunc(4*time.Minute, func() { server.Down(nil) })
		assert.Equal(t, textOf(t, mustCall(t, c, "must")), "done", "result")
		// With the client's own rhythm of attempts.
		if n := server.Connections(); n > 60 {
			t.Errorf("%d connections in four minutes", n)
		}
	})
}

// One that stays away is what the error tells of, besides the time that is over.
func TestTaskServerStaysAway(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working"}
		server := s.server(t)
		c := newClient(t, p.to(server), withTasks())
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
		invalid := assert.As[*mcp.ProtocolError](t, err)
		assert.Equal(t, [...]any{invalid.Path, invalid.Method, invalid.Server}, [...]any{"taskId", "tasks/get", "scripted"})
		wantOutcome(t, err, mcp.Unknown)
		for _, id := range []string{"", strings.Repeat("x", 1<<20)} {
			n := len(server.Received(""))
			_, err := c.ResumeTask(t.Context(), id, nil)
			wantOutcome(t, err, mcp.NotSent)
			assert.Equal(t, len(server.Received("")), n)
			if len(err.Error()) > 200 {
				t.Errorf("error %v", err)
			}
		}
	})
}

func TestTaskVerbs(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working:half"}
		server := s.server(t, mcptest.Script{"tasks/cancel": mcptest.Sequence(s.get("cancelled"), mcptest.Error(-32602, "it has ended"))})
		c := newClient(t, p.to(server), withTasks())
		task, err := c.Task(t.Context(), "t1")
		assert.OK(t, err)
		assert.Equal(t, [...]any{task.Status, task.StatusMessage, task.Status.Ended()}, [...]any{mcp.TaskWorking, "half", false})
		assert.OK(t, c.CancelTask(t.Context(), "t1"))
		refused := assert.As[*mcp.ServerError](t, c.CancelTask(t.Context(), "t1"))
		assert.Equal(t, refused.Method, "tasks/cancel", "method")
		_ = c.Close()
		for _, err := range []error{
			errOf(c.Task(t.Context(), "t1")), c.CancelTask(t.Context(), "t1"), errOf(c.ResumeTask(t.Context(), "t1", nil)),
		} {
			assert.Is(t, err, mcp.ErrClosed)
		}
	})
}
