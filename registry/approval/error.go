package approval

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A DeniedError reports a call that is not allowed: by the registry.Approver, by the
// user, or because no answer came in time. Its text is made for the model that made the
// call.
//
//cure:do without the call; its text tells the model so
type DeniedError struct {
	Tool   string // name of the tool
	Reason string // why; may be empty
}

// Error names the tool and the reason.
func (e *DeniedError) Error() string {
	text := fmt.Sprintf("calling tool %s is not allowed", plain.Quote(e.Tool))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *DeniedError) Outcome() mcp.Outcome { return mcp.NotSent }

// A PolicyError reports a call that was not made because the policy could not decide
// about it.
//
//cure:correct the policy; the wrapped error is its own
type PolicyError struct {
	Tool string // name of the tool
	Err  error  // of the registry.Approver, or of the context
}

// Error names the tool and what went wrong.
func (e *PolicyError) Error() string {
	return fmt.Sprintf("whether tool %s may be called could not be decided: %v", plain.Quote(e.Tool), e.Err)
}

func (e *PolicyError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *PolicyError) Outcome() mcp.Outcome { return mcp.NotSent }

// An UnknownError reports an id under which no call waits, or none that
// the user of the context may see. Nothing was done.
//
//cure:list what waits: the call was decided, or has timed out
type UnknownError struct {
	ID string // the id that was given; not part of the text
	// Reason says what became of the call, such as "it was refused"; empty if
	// nothing is known of it, or not any more.
	Reason string
}

// Error says what became of the call, as far as it is known.
func (e *UnknownError) Error() string {
	if e.Reason != "" {
		return "the call does not wait for approval: " + e.Reason
	}
	return "no call waits for approval under this id: it was never asked for, or is over"
}

// Outcome returns [mcp.NotSent]: nothing ran because of this attempt.
func (e *UnknownError) Outcome() mcp.Outcome { return mcp.NotSent }

// A StaleError reports a call that was approved but not made: the tool is
// not what it was when the call was decided. Calling again shows what it is now.
//
//cure:call again, and let the person decide about what the tool is now
type StaleError struct {
	Tool string // name of the tool
}

// Error is made for the model that wanted the call, and the person who approved.
func (e *StaleError) Error() string {
	return fmt.Sprintf("tool %s has changed since the call was approved or asked for, so it was not called; look at its description and, if the call is still right, make it again: it is then decided anew", plain.Quote(e.Tool))
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *StaleError) Outcome() mcp.Outcome { return mcp.NotSent }
