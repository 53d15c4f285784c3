package host

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/internal/origin"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// A server is one entry of the configuration, from when it is started to when it is
// replaced or stopped. Its tools are in the registry; clients for their calls are made
// as its entry says: one at once, one when it is needed, or one for each user.
type server struct {
	host       *Host
	supervisor *supervisor
	entry      *config.Server // never changed
	hash       string

	settled chan struct{} // closed after the first attempt
	settle  func()        // says that it has ended

	discovering chan struct{} // holds a token while the first user's tools are read
	discovery   discovery
	pool        *pool // its conns

	origin    origin.Origin // what those of users have in common
	transport mcp.Transport // of the conn of all users; nil: it cannot run, or each user has a conn

	recorded events.HeldBack // guarded by supervisor.publishing

	// The supervisor's mu guards the following.

	said *config.Server // entry, or what the file says in its place since then and is the same to the server
	err  error          // why it cannot run

	listedTools []*listedTool
	tools       []registry.Tool
	says        *string // the server's instructions; nil: not known
	listed      bool    // there is a list, if only from an earlier time, which the registry has taken over
	listErr     error   // why the tools could not be listed
	registryErr error   // why the registry could not take them over
	rejected    []registry.Rejection
	unread      []registry.Rejection // of these, the tools that cannot be read
	grace       *time.Timer          // removes the tools of a lost server; nil: it is not lost
}

// hashOf returns the hash of an entry. Where it stands matters if it has to be allowed,
// which is given for a folder.
func hashOf(entry *config.Server) string {
	hash := entry.Hash()
	if entry.Source.Scope.NeedsApproval() {
		hash += " in " + filepath.Dir(entry.Source.File)
	}
	return hash
}

// perUser reports whether users have clients of their own.
func (s *server) perUser() bool {
	return s.entry.Identity == config.IdentityUser || s.entry.Identity == config.IdentityHeader
}

// unusable says why there can be no conn; nil: a call has one, or makes it.
func (s *server) unusable() error {
	s.supervisor.mu.Lock()
	defer s.supervisor.mu.Unlock()
	return s.unusableLocked()
}

// unusableLocked needs supervisor.mu.
func (s *server) unusableLocked() error {
	err := s.err
	switch state := s.stateLocked(); {
	case state == lifecycle.Absent:
		return errEnded
	case err == nil && state.Active():
		return nil
	case err == nil:
		err = errDisabled
	case namesItsServer(err):
		return err
	}
	return fmt.Errorf("server %q does not run: %w", s.entry.Name, err)
}

// running returns the conn for all users, or nil if there is none now.
func (s *server) running() *conn { return s.pool.get("") }

// stateLocked returns where the server stands: absent if it was stopped. It needs supervisor.mu.
func (s *server) stateLocked() lifecycle.State {
	switch sv := s.supervisor; {
	case s.host.isClosing():
	case s == sv.server:
		return sv.state
	case s == sv.next:
		return lifecycle.Running
	}
	return lifecycle.Absent
}

// usable reports whether the server runs, or would on the next call.
func (s *server) usable() bool { return s.unusable() == nil }

// busy returns the error of a call with so many bytes of arguments that the client for ctx's
// user would refuse now, since too many wait, and counts that call. Without a client there
// is room: a call makes one.
func (sv *supervisor) busy(ctx context.Context, bytes int) error {
	s := sv.now()
	if s == nil {
		return nil
	}
	c := s.pool.get(s.userOf(ctx))
	if c == nil {
		return nil
	}
	err := c.client.Busy(ctx, bytes)
	if err != nil {
		sv.meter.Count(meter.Refused)
	}
	return err
}

// userOf returns the user whose conn the calls of ctx go over; empty: that of all, if there is one.
func (s *server) userOf(ctx context.Context) (user string) {
	if s.perUser() {
		user, _ = session.UserOf(ctx)
	}
	return user
}

// An Unapplied is the configured entry of a server that goes on as it was, since what the
// entry says does not work.
type Unapplied struct {
	Err      error     // why it does not work
	Failures int       // how often it has failed
	RetryAt  time.Time // when it is tried again; zero if that could not help

	Entry *config.Server // with its secrets; do not change it
}

// lacks returns the entry that the server does not run as, or nil if it runs as it is
// configured.
func (sv *supervisor) lacks() *Unapplied {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.unapplied
}

// now returns the server that there is, running or not; nil: there is none.
func (sv *supervisor) now() *server {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.server
}

// get returns the server that there is, or why there is none.
func (sv *supervisor) get() (*server, error) {
	if sv.host.isClosing() {
		return nil, mcp.WithOutcome(ErrClosed, mcp.NotSent)
	}
	if s := sv.now(); s != nil {
		return s, nil
	}
	return nil, mcp.WithOutcome(&UnknownServerError{sv.name, sv.host.names()}, mcp.NotSent)
}

// enabled reports whether there is a server that is meant to run.
func (sv *supervisor) enabled() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.state.Enabled()
}
