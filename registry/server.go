package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A Server is what the owner of a registry knows of a server whose tools are
// listed. It comes from the configuration, never from the server itself. A registry
// remembers it while the server has no tools, too; [Registry.Replace] with
// nothing but the name makes it forget.
type Server struct {
	// Name is the server's configured name, the Origin.Server of its tools.
	Name string
	// Place is that of the ledger which keeps the server, see [ledger.Options].Open, such as
	// the folder of a project whose file it comes from. Empty: the registry's own ledger.
	Place string
	// Trusted says that the server's claims about its tools are believed:
	// annotations may make a policy looser, and results are not wrapped as
	// untrusted content.
	Trusted bool
	// Fingerprint identifies what the configuration starts or connects to, such
	// as a hash of command and address. It is opaque here. A server whose
	// fingerprint is not the one in the [ledger.Ledger] is another server: none of its
	// tools may be called before it is accepted. Empty: not compared.
	Fingerprint string
	// Mode replaces the mode of the [ledger.Ledger] for this server. Empty: it does not.
	Mode ledger.Mode
	// Instructions are what the server says of its use when a client connects, which the
	// ledger compares as it does tools, see [Registry.Instructions]. Nil: not known.
	Instructions *string
	// Quarantined puts the server into quarantine: the [ledger.Ledger] holds all of its tools
	// back until the [ledger.ServerQuarantined] change is accepted, for the Fingerprint
	// of now. Nothing else ends that: the ledger remembers it when Quarantined is not set
	// any more. Set anew after that, it counts anew.
	Quarantined bool
	// Busy returns the error with which a call of the server's tools fails at once that has
	// so many bytes of arguments, such as that of [mcp.Client.Busy], or nil. [Registry.Call] asks it before it does anything
	// else for a call, [Registry.Approve] before it asks the [Approver]. It is safe for
	// concurrent use and must be quick. Nil: calls are always tried.
	Busy func(ctx context.Context, bytes int) error
}

// known reports whether the registry has to remember more of the server than its name.
func (s *Server) known() bool {
	return s != nil && (s.Trusted || s.Fingerprint != "" || s.Place != "" || s.Mode != "" || s.Instructions != nil || s.Quarantined)
}

// ledger returns what the ledger wants to know of the server.
func (s *Server) ledger() ledger.Server {
	if s == nil {
		return ledger.Server{}
	}
	return ledger.Server{Name: s.Name, Place: s.Place, Fingerprint: s.Fingerprint, Mode: s.Mode, Instructions: s.Instructions, Quarantined: s.Quarantined}
}
