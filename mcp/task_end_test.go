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
			ctx, stop := context.WithTimeout(t.Context(), 1700*time.Millisecond)
			defer stop()
			start := time.Now()
			_, err := c.CallTool(ctx, "must", nil, &mcp.CallToolOptions{Task: &mcp.TaskOptions{Keep: keep}})
			assert.Equal(t, time.Since(start), 1700*time.Millisecond, "it took")
			lost := taskError(t, err)
			if lost.Err != context.DeadlineExceeded || lost.Task.ID != "t1" || lost.Task.Status != mcp.TaskWorking {
				t.Errorf("error %+v", lost)
			}
			wantOutcome(t, err, mcp.Unknown)
			synctest.Wait()
			want := 1
			if keep {
				want = 0
			}
			wantCount(t, server, "tasks/cancel", want)
			wantCount(t, server, "notifications/cancelled", 0)
			// Then the client does not wait for an answer any more.
			time.Sleep(5 * time.Second) // sleep: on the bubble's clock
			synctest.Wait()
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
		var late *mcp.TimeoutError
		if !errors.As(err, &late) || late.Limit != "total" || late.After != 3*time.Minute || time.Since(start) != 3*time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
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
		if err := c.CancelTask(t.Context(), "t1"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
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
		if lost := taskError(t, err); lost.Err != mcp.ErrClosed {
			t.Errorf("error %v", lost.Err)
		}
		wantOutcome(t, err, mcp.Unknown)
		wantCount(t, server, "tasks/cancel", 0)
	})
}

// Shutdown waits for the task.
func TestTaskShutdown(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		s.states = []string{"working", "working", "completed"}
		c := newClient(t, p.to(s.server(t)), withTasks())
		ended := make(chan error, 1)
		go func() { _, err := call(t, c, "must"); ended <- err }()
		time.Sleep(time.Millisecond) // sleep: on the bubble's clock
		if err := c.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
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
		var late *mcp.TimeoutError
		if !errors.As(err, &late) || !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
	})
}

// What the server does not know any more has ended.
func TestTaskForgotten(t *testing.T) {
	everyTask(t, func(t *testing.T, s taskScript, p plane) {
		server := s.server(t, mcptest.Script{"tasks/get": mcptest.Sequence(s.get("working"), mcptest.Error(-32602, "Task not found"), mcptest.Error(-32603, "oops"))})
		c := newClient(t, p.to(server), withTasks())
		_, err := call(t, c, "must")
		lost := taskError(t, err)
		var refused *mcp.ServerError
		if !errors.As(err, &refused) || refused.Method != "tasks/get" || refused.Err.Code != -32602 || lost.Task.Status != mcp.TaskWorking {
			t.Errorf("error %v", err)
		}
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
		if err != nil || textOf(t, res) != "done" {
			t.Errorf("result %v, %v", res, err)
		}
		_, err = c.ResumeTask(t.Context(), "t1", opts)
		if lost := taskError(t, err); lost.Tool != "" || len(told) != 4 || told[0] != mcp.TaskWorking || told[1] != mcp.TaskCompleted {
			t.Errorf("error %+v, told %v", lost, told)
		}
		wantOutcome(t, err, mcp.Answered)
		wantCount(t, server, "tools/call", 0)
		wantCount(t, server, "tools/list", 0)

		_, err = c.ResumeTask(t.Context(), "t2", nil) // whatever the server says, it is not about t2
		var invalid *mcp.ProtocolError
		if !errors.As(err, &invalid) || invalid.Path != "taskId" || invalid.Method != "tasks/get" || invalid.Server != "scripted" {
			t.Errorf("error %v", err)
		}
		wantOutcome(t, err, mcp.Unknown)
		for _, id := range []string{"", strings.Repeat("x", 1<<20)} {
			n := len(server.Received(""))
			_, err := c.ResumeTask(t.Context(), id, nil)
			if !mcp.SafeToRetry(err) || len(err.Error()) > 200 || len(server.Received("")) != n {
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
		if err != nil || task.Status != mcp.TaskWorking || task.StatusMessage != "half" || task.Status.Ended() {
			t.Errorf("task %+v, %v", task, err)
		}
		if err := c.CancelTask(t.Context(), "t1"); err != nil {
			t.Error(err)
		}
		var refused *mcp.ServerError
		if err := c.CancelTask(t.Context(), "t1"); !errors.As(err, &refused) || refused.Method != "tasks/cancel" {
			t.Errorf("error %v", err)
		}
		_ = c.Close()
		for _, err := range []error{
			second(c.Task(t.Context(), "t1")), c.CancelTask(t.Context(), "t1"), second(c.ResumeTask(t.Context(), "t1", nil)),
		} {
			if !errors.Is(err, mcp.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
	})
}
