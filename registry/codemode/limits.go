package codemode

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
)

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
	// Output is how much of the value that it returns is passed on, in bytes of JSON, and as
	// much of the results of calls in a [Report]. Default: 64 KiB.
	Output int
}

// maxCode is how long a script may be, in bytes.
const maxCode = 128 << 10

// filled returns the limits with the defaults.
func (l Limits) filled() (Limits, error) {
	if min(l.Time, l.CPU) < 0 || min(l.Memory, l.Calls, l.Output) < 0 {
		return l, errors.New("codemode: a number in Limits is negative")
	}
	return Limits{
		Time: cmp.Or(l.Time, time.Minute), CPU: cmp.Or(l.CPU, 10*time.Second),
		Memory: cmp.Or(l.Memory, 64<<20), Calls: cmp.Or(l.Calls, 256), Output: cmp.Or(l.Output, 64<<10),
	}, nil
}

// A ScriptError reports what a script has thrown, or that it is no JavaScript. It holds the
// script's words.
//
//cure:give the text to the model, which corrects the script
type ScriptError struct {
	name    string // such as "TypeError"
	message string // what is wrong
	stack   string // where; may be empty
}

// Error returns the name and the message.
func (e *ScriptError) Error() string {
	return plain.Text(e.name + ": " + e.message)
}

// A LimitError reports a script that has reached one of its [Limits] and was ended.
//
//cure:let the script do less, or raise the limit that it names
type LimitError struct {
	limit string // the field of Limits, such as "CPU", or what has one
	max   string // what is allowed, such as "10s"
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the script was ended at its limit: %s, at most %s", e.limit, e.max)
}

// A sandboxError reports that a sandbox could not be started, ended by itself, or said
// what no script makes it say.
type sandboxError struct {
	err error // what failed
}

// Error says what failed.
func (e *sandboxError) Error() string { return "codemode: the sandbox failed: " + e.err.Error() }

// Unwrap returns the cause.
func (e *sandboxError) Unwrap() error { return e.err }
