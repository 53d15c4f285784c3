package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An Error is why a command ends with another exit than OK.
type Error struct {
	Exit    Exit
	Message string // what went wrong, one sentence without an end
	Server  string // name of the server that it is about; may be empty
	Cure    string // what the user can do, such as a command to run; may be empty
	Err     error  // the reason; may be nil
	// Shown says that the output of the command tells it all already: only the exit counts.
	Shown bool
}

// Error returns the message and the cure.
func (e *Error) Error() string {
	if e.Cure == "" {
		return e.Message
	}
	return e.Message + ": " + e.Cure
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// UsageError returns an error for a command line that is not right.
func UsageError(format string, args ...any) *Error {
	return &Error{Exit: Usage, Message: fmt.Sprintf(format, args...)}
}

// DidYouMean returns the cure of an error about a name that there is not: the nearest of those that there are
// or, if none is near, another one.
func DidYouMean(name string, names []string, cure string) string {
	if near := nearest.Names(name, names, 1); len(near) > 0 {
		cure = "did you mean " + strconv.Quote(near[0]) + "?"
	}
	return cure
}

// A SignalError is the cause of a context that ended with a signal.
type SignalError struct {
	Signal syscall.Signal
}

// Error names the signal.
func (e *SignalError) Error() string { return e.Signal.String() }

// exit returns the exit of a program that ended with the signal.
func (e *SignalError) exit() Exit { return Exit(128 + int(e.Signal)) }

// Explain returns the Error in the chain of err or, if there is none, makes one for a
// failure that any command can have. The context is that of the command.
func Explain(ctx context.Context, err error) *Error {
	var ended *SignalError
	explained, ok := errors.AsType[*Error](err)
	if errors.As(context.Cause(ctx), &ended) {
		e := &Error{Exit: ended.exit(), Message: ended.Error(), Err: err}
		switch {
		case ok && explained.Exit == NotSent:
			e.Message += ": nothing was sent"
		case ok && explained.Exit == OutcomeUnknown:
			e.Message, e.Cure = e.Message+": the call was cancelled, and may have run", "look before you try again"
		}
		return e
	}
	if ok {
		return explained
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		return &Error{Exit: PipeClosed, Message: "the reader of the output went away", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Exit: Failed, Message: "it took longer than --timeout allows", Cure: "give it more time", Err: err}
	}
	return &Error{Exit: Failed, Message: err.Error(), Err: err}
}

// Print writes the error as one line, or as JSON: an object with the member error. That
// a reader went away is nothing to write about.
func (e *Error) Print(w io.Writer, asJSON bool) {
	if e.Exit == PipeClosed {
		return
	}
	if !asJSON {
		if !e.Shown {
			fmt.Fprintln(w, "mcpbelt: "+plain.Line(e.Error()))
		}
		return
	}
	type object struct {
		Code    string `json:"code"`
		Exit    Exit   `json:"exit"`
		Message string `json:"message"`
		Server  string `json:"server,omitempty"`
		Cure    string `json:"cure,omitempty"`
	}
	data, err := json.Marshal(map[string]object{"error": {e.Exit.Code(), e.Exit, plain.Line(e.Message), e.Server, e.Cure}})
	if err == nil {
		fmt.Fprintf(w, "%s\n", visible(data))
	}
}

// Args returns a check that a command has from least to most arguments.
func Args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		e := UsageError("the command is: %s", cmd.Parent().CommandPath()+" "+cmd.Use)
		e.Cure = "see " + cmd.CommandPath() + " --help"
		return e
	}
}
