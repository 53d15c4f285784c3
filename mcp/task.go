package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
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

// maxTaskID bounds the id of a task in bytes. It has to fit a header field.
const maxTaskID = 4096

// errUnaskedTask is wrong with an answer that is a task although none was asked for.
// What the call began may go on.
var errUnaskedTask = errors.New("a task that was not asked for, which may still run")

func checkTaskID(id string) error {
	switch {
	case id == "":
		return errors.New("missing")
	case len(id) > maxTaskID:
		return fmt.Errorf("longer than %d bytes", maxTaskID)
	}
	return nil
}

// A taskState is a task with what its status brings along in revision
// 2026-07-28.
type taskState struct {
	Task
	requests json.RawMessage // inputRequests; nil if there are none
	result   json.RawMessage // nil if there is none
	failure  *JSONRPCError   // nil if there is none
}

// decodeTask decodes a task, which is a part of the answer in 2025-11-25, but
// for tasks/get, and all of it in 2026-07-28.
func decodeTask(raw []byte, modern bool) (*taskState, error) {
	s := &taskState{}
	ttl, interval := "ttl", "pollInterval"
	var details []field // what a status brings along
	if modern {
		ttl, interval = "ttlMs", "pollIntervalMs"
		details = []field{
			{name: "inputRequests", into: by(&s.requests, decodeRequests)},
			{name: "result", into: &s.result},
			{name: "error", into: by(&s.failure, decodeFailure)},
		}
	}
	err := decodeObject(raw, append(details,
		field{name: "taskId", into: &s.ID},
		field{name: "status", into: (*string)(&s.Status), need: true},
		field{name: "statusMessage", into: &s.StatusMessage},
		field{name: "createdAt", into: moment(&s.CreatedAt)},
		field{name: "lastUpdatedAt", into: moment(&s.UpdatedAt)},
		field{name: ttl, into: millis(&s.TTL)},
		field{name: interval, into: millis(&s.PollInterval)},
	)...)
	if err != nil {
		return nil, err
	}
	if err := checkTaskID(s.ID); err != nil {
		return nil, at("taskId", err)
	}
	switch s.Status {
	case taskWorking, taskInputRequired, taskCompleted, taskFailed, taskCancelled:
		return s, nil
	}
	return nil, at("status", errors.New("not known"))
}

// decodePolled decodes an answer to tasks/get about the task with the given id.
func decodePolled(raw []byte, id string, modern bool) (*taskState, error) {
	if _, err := decodeResult(raw, false); err != nil && (modern || !isObject(raw)) {
		return nil, err
	}
	s, err := decodeTask(raw, modern)
	if err == nil && s.ID != id {
		return nil, at("taskId", errors.New("another task than was asked for"))
	}
	return s, err
}

// createdTask returns the task in an answer to tools/call of revision
// 2025-11-25, or nil if the answer is the result itself.
func createdTask(raw []byte) (*taskState, error) {
	var task []byte
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "task":
			task = value
		case "content":
			return nil, nil
		}
	}
	if task == nil {
		return nil, nil
	}
	s, err := decodeTask(task, false)
	return s, at("task", err)
}

func decodeFailure(raw []byte) (*JSONRPCError, error) {
	if isNull(raw) {
		return nil, nil
	}
	return decodeStruct[JSONRPCError](raw, "")
}

// moment decodes a time, which is zero if it is none: nothing depends on it.
func moment(into *time.Time) func([]byte) error {
	return func(value []byte) error {
		text, _ := jsonscan.String(value)
		*into, _ = time.Parse(time.RFC3339, text)
		return nil
	}
}

// millis decodes a number of milliseconds. Null, and what is below zero, is zero; what no
// duration can hold is the longest one.
func millis(into *time.Duration) func([]byte) error {
	return func(value []byte) error {
		const most = float64(math.MaxInt64 / int64(time.Millisecond))
		f, err := strconv.ParseFloat(string(value), 64)
		switch {
		case isNull(value):
			*into = 0
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return wrongKind(value, aNumber)
		case f >= most:
			*into = math.MaxInt64
		default:
			*into = time.Duration(max(0, f) * float64(time.Millisecond))
		}
		return nil
	}
}

// taskAbilities are what a server of revision 2025-11-25 can do with tasks.
type taskAbilities struct{ any, calls, cancel bool }

// decodeTaskAbilities reads them from the result of initialize.
func decodeTaskAbilities(result []byte) taskAbilities {
	tasks := jsonscan.Member(result, "capabilities", "tasks")
	return taskAbilities{
		any:    declared(tasks),
		calls:  declared(jsonscan.Member(tasks, "requests", "tools", "call")),
		cancel: declared(jsonscan.Member(tasks, "cancel")),
	}
}

// protocol.MetaTask says in _meta which task a message belongs to.

// relate makes the answer to a request of the server belong to the task to which
// the request does, if it does to any. That is what revision 2025-11-25 wants.
func relate(result, params json.RawMessage) json.RawMessage {
	task := jsonscan.Member(params, "_meta", protocol.MetaTask)
	if task == nil || !isObject(result) {
		return result
	}
	return withMeta(result, member{protocol.MetaTask, task})
}

func declared(value []byte) bool {
	return len(value) > 0 && value[0] == '{' || string(value) == "true"
}
