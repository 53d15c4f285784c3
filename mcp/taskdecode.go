package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

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
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errNotObject
	}
	ttl, interval := "ttl", "pollInterval"
	if modern {
		ttl, interval = "ttlMs", "pollIntervalMs"
	}
	s := &taskState{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "taskId":
			err = decodeString(&s.ID, key, value)
		case "status":
			var status string
			err = decodeString(&status, key, value)
			s.Status = TaskStatus(status)
		case "statusMessage":
			err = decodeString(&s.StatusMessage, key, value)
		case "createdAt":
			s.CreatedAt = decodeTime(value)
		case "lastUpdatedAt":
			s.UpdatedAt = decodeTime(value)
		case ttl:
			s.TTL, err = decodeMillis(key, value)
		case interval:
			s.PollInterval, err = decodeMillis(key, value)
		}
		if err == nil && modern {
			err = s.decodeDetail(key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkTaskID(s.ID); err != nil {
		return nil, at("taskId", err)
	}
	switch s.Status {
	case TaskWorking, TaskInputRequired, TaskCompleted, TaskFailed, TaskCancelled:
		return s, nil
	case "":
		return nil, at("status", errors.New("missing"))
	}
	return nil, at("status", errors.New("not known"))
}

// decodeDetail decodes what a status brings along.
func (s *taskState) decodeDetail(key, value []byte) (err error) {
	switch string(key) {
	case "inputRequests":
		s.requests, err = decodeRequests(key, value)
	case "result":
		if string(value) != "null" {
			s.result = value
		}
	case "error":
		if string(value) != "null" {
			s.failure, err = decodeFailure(value)
			err = at(string(key), err)
		}
	}
	return err
}

// decodePolled decodes an answer to tasks/get about the task with the given id.
func decodePolled(raw []byte, id string, modern bool) (*taskState, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, at("result", errNotObject)
	}
	kind := ""
	for key, value := range jsonscan.Fields(raw) {
		if string(key) == "resultType" && modern {
			if err := decodeString(&kind, key, value); err != nil {
				return nil, err
			}
		}
	}
	if kind != "" && kind != "complete" {
		return nil, at("resultType", unknownResult(kind))
	}
	s, err := decodeTask(raw, modern)
	if err == nil && s.ID != id {
		return nil, at("taskId", errors.New("another task than was asked for"))
	}
	return s, err
}

// isTask reports whether what decodeCallResult does not know is a task.
func isTask(err error) bool {
	var kind unknownResult
	return errors.As(err, &kind) && kind == "task"
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
	if raw[0] != '{' {
		return nil, errNotObject
	}
	e := &JSONRPCError{}
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "code":
			code, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return nil, at("code", errors.New("not an integer"))
			}
			e.Code = code
		case "message":
			if err := decodeString(&e.Message, key, value); err != nil {
				return nil, err
			}
		case "data":
			e.Data = value
		}
	}
	return e, nil
}

// decodeTime decodes a time, which is zero if it is none: nothing depends on it.
func decodeTime(value []byte) time.Time {
	text, _ := jsonscan.String(value)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// decodeMillis decodes a number of milliseconds. Null, and what is below zero,
// is zero; what no duration can hold is the longest one.
func decodeMillis(key, value []byte) (time.Duration, error) {
	if string(value) == "null" {
		return 0, nil
	}
	const most = float64(math.MaxInt64 / int64(time.Millisecond))
	f, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, at(string(key), errors.New("not a number"))
	case f <= 0:
		return 0, nil
	case f >= most:
		return math.MaxInt64, nil
	}
	return time.Duration(f * float64(time.Millisecond)), nil
}

// taskAbilities are what a server of revision 2025-11-25 can do with tasks.
type taskAbilities struct{ any, calls, list, cancel bool }

// decodeTaskAbilities reads them from the result of initialize.
func decodeTaskAbilities(result []byte) taskAbilities {
	tasks := memberOf(result, "capabilities", "tasks")
	return taskAbilities{
		any:    declared(tasks),
		calls:  declared(memberOf(tasks, "requests", "tools", "call")),
		list:   declared(memberOf(tasks, "list")),
		cancel: declared(memberOf(tasks, "cancel")),
	}
}

// metaRelatedTask says in _meta which task a message belongs to.
const metaRelatedTask = "io.modelcontextprotocol/related-task"

// relate makes the answer to a request of the server belong to the task to which
// the request does, if it does to any. That is what revision 2025-11-25 wants.
func relate(result, params json.RawMessage) json.RawMessage {
	task := memberOf(params, "_meta", metaRelatedTask)
	if task == nil || len(result) == 0 || result[0] != '{' {
		return result
	}
	var members, meta []member
	for key, value := range jsonscan.Fields(result) {
		if string(key) != "_meta" {
			members = append(members, member{string(key), value})
			continue
		}
		for key, value := range jsonscan.Fields(value) {
			if string(key) != metaRelatedTask {
				meta = append(meta, member{string(key), value})
			}
		}
	}
	meta = append(meta, member{metaRelatedTask, task})
	return object(append(members, member{"_meta", object(meta...)})...)
}

func declared(value []byte) bool {
	return len(value) > 0 && value[0] == '{' || string(value) == "true"
}

// memberOf goes down into an object, and returns nil if there is no such member.
func memberOf(object []byte, path ...string) []byte {
	for _, name := range path {
		var found []byte
		for key, value := range jsonscan.Fields(object) {
			if string(key) == name {
				found = value
			}
		}
		object = found
	}
	return object
}

// taskSupport says whether a call of a tool can be a task.
type taskSupport uint8

const (
	taskForbidden taskSupport = iota
	taskOptional
	taskRequired
)

// note puts into tools what the server says of one, if it can do tasks at all.
func (a taskAbilities) note(tools map[string]taskSupport, name string, tool []byte) {
	if !a.calls {
		return
	}
	support, _ := jsonscan.Text(memberOf(tool, "execution", "taskSupport"))
	switch string(support) {
	case "optional":
		tools[name] = taskOptional
	case "required":
		tools[name] = taskRequired
	}
}
