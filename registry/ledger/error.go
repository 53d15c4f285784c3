package ledger

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Error reports a ledger that cannot be read or written. Nothing was
// changed, and what was accepted before stays accepted.
type Error struct {
	File   string // path of the file; empty if the ledger is kept elsewhere
	Line   int    // in the file, from 1; 0: the whole file
	Server string // configured name of the server it is about; may be empty
	Tool   string // name of the tool there; may be empty
	Err    error  // what is wrong, and how to put it right
}

// Error names file, line, server and tool.
func (e *Error) Error() string {
	text := "ledger"
	if e.File != "" {
		text += " " + plain.Quote(e.File)
	}
	if e.Line > 0 {
		text += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Server != "" {
		text += ", server " + plain.Quote(e.Server)
	}
	if e.Tool != "" {
		text += ", tool " + plain.Quote(e.Tool)
	}
	return text + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// A StaleChangeError reports an acceptance or rejection of something that is not
// what waits any more: it has changed since, it was decided already, or it is
// gone. Nothing was accepted or rejected for it.
type StaleChangeError struct {
	Server string // configured name of the server
	Tool   string // name of the tool there; empty if it was about the server
	Hash   string // of what was to be accepted or rejected
	Now    string // hash of what waits now; empty if nothing does
}

// Error says what to do.
func (e *StaleChangeError) Error() string {
	what := "server " + plain.Quote(e.Server)
	if e.Tool != "" {
		what = fmt.Sprintf("tool %s of server %s", plain.Quote(e.Tool), plain.Quote(e.Server))
	}
	if e.Now == "" {
		return fmt.Sprintf("ledger: %s does not wait with hash %s: it is gone or was decided on meanwhile; list what is pending again", what, plain.Quote(e.Hash))
	}
	return fmt.Sprintf("ledger: %s has changed since it was looked at: it is %s now, not %s; review it again", what, plain.Quote(e.Now), plain.Quote(e.Hash))
}
