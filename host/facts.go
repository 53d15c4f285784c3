package host

import (
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// Facts returns what a registry and its ledger have to know of the server of an entry. Instructions
// are what the server says of its use when a client connects; nil if that is not known.
func Facts(e *config.Server, instructions *string) registry.Server {
	return registry.Server{
		Name: e.Name, Place: e.Source.ProjectFolder(), Trusted: e.Trust, Fingerprint: e.Fingerprint(), Instructions: instructions,
		Mode: ledger.Mode(e.Ledger), Quarantined: e.Quarantined,
	}
}
