package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
)

// An Engine runs scripts, each in a sandbox of its own. It is safe for concurrent use.
// Package codemodetest tests one.
type Engine interface {
	// Run runs a program to its end, and returns what it returned when nothing is left of the
	// sandbox. If ctx ends, the sandbox is ended at once, whatever the program does, and Run
	// returns [context.Cause]. Other errors are a [*ScriptError], a [*LimitError] or a
	// [*SandboxError].
	//
	// A program is an async function body in JavaScript with the parameter input. It sees
	// what package codemode describes and nothing else of the world.
	Run(ctx context.Context, p *Program, b Bridge) (*Value, error)
}

// A Program is a script for an [Engine].
type Program struct {
	// Code is the body of the function.
	Code string
	// Input is what the function gets, as JSON; nil: undefined.
	Input json.RawMessage
	// Limits are those of [Limits] that an engine keeps: CPU, Memory, Parallel, Output, Log
	// and Message. All are positive.
	Limits Limits
}

// A Value is what a program returned.
type Value struct {
	// JSON is the value; nil: undefined. Of a value that is larger than Limits.Output it is
	// the beginning of its JSON, as a string.
	JSON json.RawMessage
	// Bytes is how long the JSON of a value is that was cut; else 0.
	Bytes int
}

// A Bridge is what a sandbox has of the world. Its methods may be called from any
// goroutine.
type Bridge interface {
	// Request makes a request of the program: call, search or describe. It returns JSON, or
	// nil for undefined; what it returns is an exception with a message, a code and an
	// outcome if the error is a *Exception. It returns when ctx ends.
	Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Log takes a line that the program logs.
	Log(text string)
	// Idle says that the program waits for the answers to what it has requested, which are
	// as many requests so far.
	Idle(requests int)
}

// An Exception is what a program gets in place of an answer. It is thrown there as an
// Error with these members.
type Exception struct {
	Message string // for the model that wrote the program
	Code    string // such as "tool_error", "denied" or "unknown_tool"
	Outcome string // whether the call was made: "answered", "not sent" or "unknown"
}

func (e *Exception) Error() string { return e.Message }

// Limits bound one script. Zero means the default; negative numbers are not allowed.
type Limits struct {
	// Time is how long a script may take. The clock stands while a person is asked. A caller
	// may ask for less. Default: 60 s.
	Time time.Duration
	// CPU is how much processor time its process may take. Default: 10 s.
	CPU time.Duration
	// Memory is how much memory its values may take, in bytes. The process takes some 50 MiB
	// beside it. Default: 64 MiB.
	Memory int
	// Calls is how many requests it may make: calls, searches and descriptions. Default: 256.
	Calls int
	// Parallel is how many of them are under way at one time; others wait in the sandbox.
	// Default: 8.
	Parallel int
	// Code is how long a script may be, in bytes. Default: 128 KiB.
	Code int
	// Output is how much of the value that it returns is passed on, in bytes of JSON, and as
	// much of the results of calls in a [Report]. Default: 64 KiB.
	Output int
	// Log is how much of what it logs is kept, in bytes. Default: 16 KiB.
	Log int
	// Message is how large the arguments of one call may be, in bytes. Default: 256 KiB.
	Message int
}

func (l Limits) filled() (Limits, error) {
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{{"Time", &l.Time, time.Minute}, {"CPU", &l.CPU, 10 * time.Second}} {
		switch {
		case *d.value < 0:
			return l, fmt.Errorf("codemode: Limits.%s is negative", d.name)
		case *d.value == 0:
			*d.value = d.usual
		}
	}
	for _, n := range []struct {
		name  string
		value *int
		usual int
	}{
		{"Memory", &l.Memory, 64 << 20},
		{"Calls", &l.Calls, 256},
		{"Parallel", &l.Parallel, 8},
		{"Code", &l.Code, 128 << 10},
		{"Output", &l.Output, 64 << 10},
		{"Log", &l.Log, 16 << 10},
		{"Message", &l.Message, 256 << 10},
	} {
		switch {
		case *n.value < 0:
			return l, fmt.Errorf("codemode: Limits.%s is negative", n.name)
		case *n.value == 0:
			*n.value = n.usual
		}
	}
	return l, nil
}

// A ScriptError reports what a script has thrown, or that it is no JavaScript. It holds the
// script's words.
type ScriptError struct {
	Name    string // such as "TypeError"
	Message string // what is wrong
	Stack   string // where; may be empty
}

// Error returns the name and the message.
func (e *ScriptError) Error() string {
	return plain.Text(e.Name + ": " + e.Message)
}

// A LimitError reports a script that has reached one of its [Limits] and was ended.
type LimitError struct {
	Limit string // the field of Limits, such as "CPU"
	Max   string // what is allowed, such as "10s"
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the script was ended at its limit: %s, at most %s", e.Limit, e.Max)
}

// A SandboxError reports that a sandbox could not be started, ended by itself, or said
// what no script makes it say.
type SandboxError struct {
	Err error // what failed
}

// Error says what failed.
func (e *SandboxError) Error() string { return "codemode: the sandbox failed: " + e.Err.Error() }

// Unwrap returns Err.
func (e *SandboxError) Unwrap() error { return e.Err }
