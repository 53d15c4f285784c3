package host

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// A target is what the registry's tools of one configured name call: whatever server there is. A supervisor
// says which that is.
type target struct {
	host  *shared
	name  string
	meter *callMeter
	call  func(context.Context, *listedTool, json.RawMessage, *mcp.RequestOptions) (*mcp.CallToolResult, error) // callTool

	// publishing is held while the registry takes over the tools of the server, the catalogue cache
	// saves them, or another server takes its place. It may wait for a disk, and is locked before mu.
	publishing sync.Mutex

	mu     sync.Mutex // guards the following, and what changes of the servers and of the supervisor
	state  lifecycle.State
	server *server // that the state is about; nil before the first and after the last
	next   *server // its successor, which starts; nil: there is none

	unapplied *Unapplied // the configured entry that does not work; nil: the server runs as configured
}

// An Unapplied is the configured entry of a server that goes on as it was, since what the
// entry says does not work.
type Unapplied struct {
	Err      error     // why it does not work
	Failures int       // how often it has failed
	RetryAt  time.Time // when it is tried again; zero if that could not help

	Entry *config.Server // with its secrets; do not change it
}

// now returns the server that there is, running or not; nil: there is none.
func (t *target) now() *server {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server
}

// get returns the server that there is, or why there is none.
func (t *target) get() (*server, error) {
	if t.host.isClosing() {
		return nil, mcp.WithOutcome(ErrClosed, mcp.NotSent)
	}
	if s := t.now(); s != nil {
		return s, nil
	}
	return nil, mcp.WithOutcome(&UnknownServerError{t.name, t.host.names()}, mcp.NotSent)
}

// enabled reports whether there is a server that is meant to run.
func (t *target) enabled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.Enabled()
}

// lacks returns the entry that the server does not run as, or nil if it runs as it is
// configured.
func (t *target) lacks() *Unapplied {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unapplied
}

// busy returns the error of a call with so many bytes of arguments that the client for ctx's
// user would refuse now, since too many wait, and counts that call. Without a client there
// is room: a call makes one.
func (t *target) busy(ctx context.Context, bytes int) error {
	s := t.now()
	if s == nil {
		return nil
	}
	c := s.pool.get(s.userOf(ctx))
	if c == nil {
		return nil
	}
	err := c.client.Busy(ctx, bytes)
	if err != nil {
		t.meter.Count(meter.Refused)
	}
	return err
}

// A server is one entry of the configuration, from when it is started to when it is
// replaced or stopped. Its tools are in the registry; clients for their calls are made
// as its entry says: one at once, one when it is needed, or one for each user.
type server struct {
	host   *shared
	target *target
	entry  *config.Server // never changed
	hash   string

	settled chan struct{} // closed after the first attempt
	settle  func()        // says that it has ended

	discovering chan struct{} // holds a token while the first user's tools are read
	discovery   discovery
	pool        *pool // its conns

	transport mcp.Transport // of the conn of all users; nil: it cannot run, or each user has a conn

	recorded events.HeldBack // guarded by target.publishing

	// The target's mu guards the following.

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
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
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

// stateLocked returns where the server stands: absent if it was stopped. It needs target.mu.
func (s *server) stateLocked() lifecycle.State {
	switch t := s.target; {
	case s.host.isClosing():
	case s == t.server:
		return t.state
	case s == t.next:
		return lifecycle.Running
	}
	return lifecycle.Absent
}

// usable reports whether the server runs, or would on the next call.
func (s *server) usable() bool { return s.unusable() == nil }

// userOf returns the user whose conn the calls of ctx go over; empty: that of all, if there is one.
func (s *server) userOf(ctx context.Context) (user string) {
	if s.perUser() {
		user, _ = session.UserOf(ctx)
	}
	return user
}
