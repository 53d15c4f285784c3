package host

import (
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Status is where one server stood at one moment.
type Status struct {
	// Name is the server's name, which begins the names of its tools.
	Name string
	// Title is the name as written in the config file.
	Title string
	// Description is the description in the config file.
	Description string
	// Source is where in the config file the server stands.
	Source config.Source
	// Transport is the kind of transport: stdio, http, sse or auto.
	Transport string
	// Enabled says whether the server is meant to run.
	Enabled bool
	// State is the state of the client. Its phase is Idle for a server that
	// is not enabled or cannot be started.
	State mcp.State
	// Tools is the number of the server's tools that the registry lists.
	Tools int
	// Quarantined is the number of its tools that the registry's ledger holds
	// back, because nobody approved them as they are.
	Quarantined int
	// Rejected are tools that are not in the registry, because others have
	// their names or the gate does not let them in.
	Rejected []registry.Rejection
	// Err is what is wrong with the server now: its config entry, its
	// connection, or its list of tools. It is nil if nothing is.
	Err error
}
