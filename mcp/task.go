package mcp

import (
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A TaskStatus says how far a task is, in the words of the protocol: "working"; "input_required",
// the server waits for input of the client; "completed", there is a result; "failed", there is an
// error instead, or in revision 2025-11-25 a result with IsError set; and "cancelled".
type TaskStatus string

const (
	taskWorking       TaskStatus = "working"
	taskInputRequired TaskStatus = "input_required"
	taskCompleted     TaskStatus = "completed"
	taskFailed        TaskStatus = "failed"
	taskCancelled     TaskStatus = "cancelled"
)

// Ended reports whether a task of this status will never change again.
func (s TaskStatus) Ended() bool {
	return s == taskCompleted || s == taskFailed || s == taskCancelled
}

// A Task is work of a server that continues after its request was answered.
type Task struct {
	// ID names the task. It allows to resume the task, so it may be a secret. No error
	// repeats it in its text.
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
	// PollInterval is how often the server allows to be asked at most. The client never
	// asks it more often than every 50 ms, nor less often than every 10 min. Zero: the
	// client's own interval, which is 1 s.
	PollInterval time.Duration
}

// TaskOptions say what to do if a call becomes a task.
//
// A server of revision 2025-11-25 that offers tasks says of each tool whether its calls
// can, or must, be tasks. CallTool asks for a task if it must be one, and also if it
// can be one and there are TaskOptions. In revision 2026-07-28 the server decides, if
// [ClientOptions].Tasks is set.
type TaskOptions struct {
	// Update receives the task when it was made and whenever its status or its status
	// message changes, on the caller's goroutine. Store the ID to come back to the task
	// with [Client.ResumeTask].
	Update func(*Task)
	// Keep lets the task continue when the caller's context or the time of the call
	// ends, instead of cancelling it.
	Keep bool
}

// A TaskError reports that a call became a task and that there is no result.
//
//cure:ask for the task by its ID; the text says whether it failed, was cancelled or is lost
type TaskError struct {
	// Server is the name of the server, as configured.
	Server string
	// Tool is the name of the tool; empty after [Client.ResumeTask].
	Tool string
	// Task is the task as last seen. Its status is empty if it never was.
	Task *Task
	// Err is why there is no result, or none yet: a [*ServerError] if the task
	// failed or the server does not know it any more, a [*TimeoutError], the
	// error of the caller's context, [ErrClosed], a [*ProtocolError], or what a
	// handler such as Elicit returned.
	Err error

	gone bool // the server does not know the task
}

func (e *TaskError) Error() string {
	what := "a task"
	if e.Tool != "" {
		what = "the task of " + e.Tool
	}
	if e.Task != nil && e.Task.Status != "" {
		what += fmt.Sprintf(" (%s)", e.Task.Status)
	}
	return plain.Text(fmt.Sprintf("mcp: server %q: %s has no result: %v", e.Server, what, e.Err))
}

func (e *TaskError) Unwrap() error { return e.Err }

// Outcome returns [Answered] if the task has ended, or the server does not know
// it any more, and [Unknown] if it may still run.
func (e *TaskError) Outcome() Outcome {
	if e.gone || e.Task != nil && e.Task.Status.Ended() {
		return Answered
	}
	return Unknown
}
