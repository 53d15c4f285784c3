package ledger

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An Error reports a ledger that cannot be read or written. Nothing was
// changed, and what was accepted before stays accepted.
//
//cure:repair the file or the store that it names
type Error struct {
	file   string // path of the file; empty if the ledger is kept elsewhere
	line   int    // in the file, from 1; 0: the whole file
	server string // configured name of the server it is about; may be empty
	tool   string // name of the tool there; may be empty
	err    error  // what is wrong, and how to put it right
}

// Error names file, line, server and tool.
func (e *Error) Error() string {
	text := "ledger"
	if e.file != "" {
		text += " " + plain.Quote(e.file)
	}
	if e.line > 0 {
		text += fmt.Sprintf(", line %d", e.line)
	}
	if e.server != "" {
		text += ", server " + plain.Quote(e.server)
	}
	if e.tool != "" {
		text += ", tool " + plain.Quote(e.tool)
	}
	return text + ": " + e.err.Error()
}

func (e *Error) Unwrap() error { return e.err }

// A StaleChangeError reports an acceptance or rejection of something that is not
// what waits any more: it has changed since, it was decided already, or it is
// gone. Nothing was accepted or rejected for it.
//
//cure:show the person what waits now, and let them decide again
type StaleChangeError struct {
	Server string // configured name of the server
	Tool   string // name of the tool there; empty if it was about the server
	Hash   string // of what was to be accepted or rejected
	now    string // hash of what waits now; empty if nothing does
}

// Error says what to do.
func (e *StaleChangeError) Error() string {
	what := "server " + plain.Quote(e.Server)
	if e.Tool != "" {
		what = fmt.Sprintf("tool %s of server %s", plain.Quote(e.Tool), plain.Quote(e.Server))
	}
	if e.now == "" {
		return fmt.Sprintf("ledger: %s does not wait with hash %s: it is gone or was decided on meanwhile; list what is pending again", what, plain.Quote(e.Hash))
	}
	return fmt.Sprintf("ledger: %s has changed since it was looked at: it is %s now, not %s; review it again", what, plain.Quote(e.now), plain.Quote(e.Hash))
}
