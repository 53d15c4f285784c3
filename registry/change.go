package registry

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A ChangeKind says why a tool waits for approval.
type ChangeKind string

// The kinds of changes.
const (
	ToolNew       ChangeKind = "new"            // the server did not have this tool when it was approved
	ToolChanged   ChangeKind = "changed"        // the tool is not what was approved
	ToolRejected  ChangeKind = "rejected"       // somebody looked at it and said no
	ServerChanged ChangeKind = "server_changed" // the configuration leads to another server than the approved one
)

// A FieldChange is a difference between what was approved and what is there.
type FieldChange struct {
	// Field is where: a JSON pointer into the tool as its server sends it, such
	// as "/description" or "/inputSchema/properties/path/type".
	Field string
	// Before and After are the JSON values there; empty where there was nothing.
	// They are the server's words: show them with care.
	Before, After string
}

// A Change is what waits for somebody's approval.
type Change struct {
	Server string        // configured name of the server
	Tool   string        // name of the tool there; empty if the server itself changed
	Kind   ChangeKind    // why it waits
	Hash   string        // of what is there now; an approval is for this alone
	Fields []FieldChange // the differences, if something was approved before
}

// same reports whether two changes wait for the same approval.
func (c *Change) same(o *Change) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Kind == o.Kind && c.Hash == o.Hash && c.Tool == o.Tool
}

// A QuarantinedError reports a call to a tool that is new or changed and was not
// approved. Nothing ran. Its text is an analysis of what changed.
type QuarantinedError struct {
	Name   string  // what the tool is called in the catalogue
	Change *Change // what changed
}

// Error tells the model, and who reads along, what changed and what to do.
func (e *QuarantinedError) Error() string {
	return fmt.Sprintf("tool %s was not called: it is quarantined (%s)", quote(e.Name), e.Change.Kind)
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *QuarantinedError) Outcome() mcp.Outcome { return mcp.NotSent }

// A Quarantined is a tool that is known but not listed, because nobody approved
// it as it is.
type Quarantined struct {
	Tool   *Definition // as its server describes it now
	Change *Change     // what changed
}
