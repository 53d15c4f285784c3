package mcp

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// A TaskStatus says how far a task is.
type TaskStatus string

const (
	// TaskWorking: the server is at work.
	TaskWorking TaskStatus = "working"
	// TaskInputRequired: the server waits for input of the client.
	TaskInputRequired TaskStatus = "input_required"
	// TaskCompleted: there is a result.
	TaskCompleted TaskStatus = "completed"
	// TaskFailed: there is an error instead.
	TaskFailed TaskStatus = "failed"
	// TaskCancelled: there will be no result.
	TaskCancelled TaskStatus = "cancelled"
)

// A Task is work of a server that goes on after its request was answered.
type Task struct {
	// ID names the task. Who has it can resume the task, so it may be a secret.
	ID string
	// Status is how far the task is.
	Status TaskStatus
	// StatusMessage says more about it. It may be empty.
	StatusMessage string
	// CreatedAt and UpdatedAt are times of the server's clock; zero if unknown.
	CreatedAt, UpdatedAt time.Time
	// TTL is how long after CreatedAt the server keeps the task.
	// Zero: as long as it likes.
	TTL time.Duration
	// PollInterval is how often the server wants to be asked at most. Zero: the
	// client's own interval.
	PollInterval time.Duration
}

// TaskOptions say what to do if a call becomes a task.
type TaskOptions struct {
	// TTL asks a server of revision 2025-11-25 to keep the task that long.
	TTL time.Duration
	// Update receives the task when it was made and whenever its status or its
	// status message changes, on the caller's goroutine. Who stores the ID can
	// come back to the task with [Client.ResumeTask].
	Update func(*Task)
	// Keep leaves the task to itself when the caller's context ends, instead of
	// cancelling it.
	Keep bool
}

// A TaskError reports that a call became a task and that there is no result.
type TaskError struct {
	// Server is the name of the server, as configured.
	Server string
	// Tool is the name of the tool; empty after [Client.ResumeTask].
	Tool string
	// Task is the task as last seen.
	Task *Task
	// Err is why there is no result, or none yet.
	Err error
}

func (e *TaskError) Error() string { panic("later") }

// ResumeTask waits for a task that a call began earlier, perhaps in another
// process, and returns the result of that call.
func (c *Client) ResumeTask(ctx context.Context, id string, opts *CallToolOptions) (*CallToolResult, error) {
	panic("later")
}

// Task asks the server how far a task is.
func (c *Client) Task(ctx context.Context, id string) (*Task, error) { panic("later") }

// CancelTask asks the server to end a task.
func (c *Client) CancelTask(ctx context.Context, id string) error { panic("later") }

// Tasks yields the tasks that the server knows. Only revision 2025-11-25 has
// such a list.
func (c *Client) Tasks(ctx context.Context) iter.Seq2[*Task, error] { panic("later") }

// taskProgress takes a notification of progress that belongs to no request.
func (c *Client) taskProgress(params json.RawMessage) {}

// taskChanged takes the announcement that a task has changed.
func (c *Client) taskChanged(params json.RawMessage) {}
