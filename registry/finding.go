package registry

import "fmt"

// A Severity says what becomes of a tool because of a [Finding].
type Severity int

// The severities, from the mildest.
const (
	// Note: the tool is listed, and the finding is kept with it.
	Note Severity = iota
	// Warn: the tool is listed, and a person should look at it.
	Warn
	// Block: the tool is not listed.
	Block
)

// String returns "note", "warn" or "block".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warn:
		return "warn"
	case Block:
		return "block"
	}
	return fmt.Sprintf("Severity(%d)", int(s))
}

// A Token names the kind of a finding. Tokens are stable: they may be stored and
// compared.
type Token string

// A Finding is something that the gate saw in a tool of a server.
type Finding struct {
	Token    Token    // what it is
	Severity Severity // what becomes of the tool
	// Field is where it is: a JSON pointer into the tool as its server sent it,
	// such as "/inputSchema/properties/path/description". Empty: the whole tool.
	// It is cut off if it is long, and safe to print.
	Field string
	// Evidence is what was seen, cut off if it is long, with everything made
	// visible that could deceive who reads it.
	Evidence string
	// Detail says in plain words what is wrong.
	Detail string
}

// String returns the finding on one line that is safe to print.
func (f Finding) String() string {
	where := f.Field
	if where == "" {
		where = "the tool"
	}
	text := fmt.Sprintf("%v %s at %s: %s", f.Severity, f.Token, where, f.Detail)
	if f.Evidence != "" {
		text += " (" + f.Evidence + ")"
	}
	return text
}

// A GateError reports a tool of a server that the gate does not let into the
// catalogue. Other tools of the server are not affected.
type GateError struct {
	Server   string    // configured name of the server
	Tool     string    // name of the tool there
	Findings []Finding // what was found, the severest first
}

// Error names the server, the tool and the severest finding.
func (e *GateError) Error() string {
	text := fmt.Sprintf("registry: tool %s of server %s is not let in", quote(e.Tool), quote(e.Server))
	if len(e.Findings) > 0 {
		text += ": " + e.Findings[0].String()
	}
	if n := len(e.Findings); n > 1 {
		text += fmt.Sprintf(", and %d more findings", n-1)
	}
	return text
}
