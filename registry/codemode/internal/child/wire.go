// Package child runs scripts in a process of its own, and holds what both ends say to each
// other: JSON-RPC messages, one a line.
//
// The process that starts it asks for [MethodHello] and [MethodRun]. While the script
// runs, the child sends the requests that the script makes, under their methods, and the
// notifications [NoteLog] and [NoteIdle].
package child

import "encoding/json"

// Mark is the environment variable that makes [Main] the child.
const Mark = "MCPBELT_CODEMODE_CHILD"

// The methods of the parent, and the notifications of the child.
const (
	MethodHello = "hello"
	MethodRun   = "run"
	NoteLog     = "log"
	NoteIdle    = "idle"
)

// The exit codes of a child that has reached a limit.
const (
	ExitCPU    = 70
	ExitMemory = 71
)

// What bounds each script.
const (
	MaxParallel  = 8         // requests at a time
	MaxLog       = 16 << 10  // bytes
	MaxArguments = 256 << 10 // bytes of the params of a request
)

// Hello is the answer to [MethodHello]: by what the system confines the child.
type Hello struct {
	Confined []string `json:"confined"`
}

// Run are the params of [MethodRun], and without Code those of [MethodHello].
type Run struct {
	Code   string          `json:"code"`
	Input  json.RawMessage `json:"input,omitempty"`
	CPU    int64           `json:"cpu"`    // milliseconds
	Memory int             `json:"memory"` // bytes
	Output int             `json:"output"` // bytes of the value
}

// Result is the answer to [MethodRun].
type Result struct {
	Value json.RawMessage `json:"value,omitempty"` // empty: undefined
	Bytes int             `json:"bytes,omitempty"` // of the whole value, of which Value is the beginning, as a string
	Error *Thrown         `json:"error,omitempty"` // what the script has thrown
}

// Thrown is what a script has thrown.
type Thrown struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
}

// Log are the params of [NoteLog].
type Log struct {
	Text string `json:"text"`
}

// Idle are the params of [NoteIdle].
type Idle struct {
	Sent int `json:"sent"` // requests so far
}

// Answer is what a request of the script gets.
type Answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error *Failure        `json:"error,omitempty"`
}

// Failure is what a script gets in place of a value: an exception with these members.
type Failure struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Outcome string `json:"outcome,omitempty"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
