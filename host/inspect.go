package host

import (
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An Inspection is what is known of a server besides its [Status]. Do not change what it
// points to.
type Inspection struct {
	// Entry is the config entry that the server runs as, with its secrets.
	Entry *config.Server
	// Client is the client that all users share; nil if there is none now. Do not close it,
	// and do not keep it: see [Host.Client].
	Client *mcp.Client
	// Users are the clients of users, by user, as far as there are any now. The same holds
	// for them.
	Users map[string]*mcp.Client
	// AwaitsLogin says that the tools of the server are not known, and are read with the
	// first login of a user.
	AwaitsLogin bool
	// Calls are the calls of the server's tools.
	Calls Calls
	// LastFailure is the last failure of the server, though all may be well since.
	LastFailure Failure
}

// A Failure is a call or a connection that a server failed.
type Failure struct {
	// At is when it failed; zero if nothing ever has.
	At time.Time
	// Err is why; nil if nothing ever has failed. Its text may hold anything.
	Err error
	// Entry is the config entry of the server that failed, which may be one that was tried in
	// vain; nil if it is the one that the server runs as.
	Entry *config.Server
}

// Inspect returns what is known of one server. Nothing is started, connected or ended for
// it. The error is an [*UnknownServerError] or [ErrClosed].
func (h *Host) Inspect(name string) (*Inspection, error) {
	sl, err := h.slot(name)
	if err != nil {
		return nil, err
	}
	s, err := sl.present()
	if err != nil {
		return nil, err
	}
	i := &Inspection{
		Entry:       s.entry,
		AwaitsLogin: s.discovery.wanted(),
		Calls:       sl.meter.calls(),
		LastFailure: sl.meter.lastFailure(),
	}
	if l := s.running(); l != nil {
		i.Client = l.client
	}
	for _, l := range s.host.pool.at(s) {
		if i.Users == nil {
			i.Users = map[string]*mcp.Client{}
		}
		i.Users[l.key.User] = l.client
	}
	return i, nil
}

// wantsLogin reports whether an error is that of a user who has to log in.
func wantsLogin(err error) bool {
	return mcp.ClassOf(err) == mcp.ClassLoginRequired
}
