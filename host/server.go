//lint:file-ignore SA1019 Sampling and roots are deprecated since revision 2026-07-28, and work.

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
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

// errEnded is met by a call that came to a server when it was replaced or stopped. The
// call looks for the next one.
var errEnded = errors.New("the server was stopped")

// newServer returns the server of an entry, which does not run yet; nil of none.
func (sv *supervisor) newServer(entry *config.Server) *server {
	if entry == nil {
		return nil
	}
	s := &server{
		host:       sv.host,
		supervisor: sv,
		entry:      entry,
		hash:       hashOf(entry),
		settled:    make(chan struct{}),

		discovering: make(chan struct{}, 1),
		said:        entry,
		err:         entry.Err,
	}
	s.settle = sync.OnceFunc(func() { close(s.settled) })
	s.discovery.server = s
	s.discovery.task = again.New(s.discovery.run)
	s.pool = newPool(s, sv.host.opts.MaxUserClients)
	return s
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

// prepare makes what the server is started with, or notes why it must not be. The supervisor does not have
// the server yet.
func (s *server) prepare() {
	if s.err != nil {
		return
	}
	if denied := s.host.notAllowed(s.host.ctx, s.entry); denied != nil {
		s.err = denied
		return
	}
	if s.host.registry.Ledger() == nil && s.quarantined() {
		s.err = errNoLedger
		return
	}
	s.host.opts.Logins.Use(s.entry)
	if !s.perUser() {
		s.transport, s.err = s.connectable(s.host.ctx, session.Key{Server: s.entry.Name}, nil, s.logStderr)
	}
}

// run begins to run a server that its supervisor has. Its tools go into the registry at once
// unless it is a successor.
func (s *server) run() {
	switch {
	case !s.usable():
	case (s.entry.Lazy || s.perUser()) && s.restoreTools() && !s.perUser():
	case s.perUser():
		s.discovery.begin("")
	default: // a lazy one too, since its tools are not known
		if c, err := s.pool.take(s.host.ctx, ""); err == nil {
			s.pool.drop(c)
			return // the conn's follower settles
		}
	}
	s.settle()
	s.host.changed.Ring()
}

// options returns the options of the client of a user, or of all if that is empty. With an error, with which
// sampling fails then, it declines what the server asks the user or a model.
func (s *server) options(user string, tried error) *mcp.ClientOptions {
	o := s.host.opts.Client
	e := s.entry
	o.ConnectTimeout = cmp.Or(max(0, e.ConnectTimeout), o.ConnectTimeout)
	o.IdleTimeout = cmp.Or(max(0, e.ReadTimeout), o.IdleTimeout)
	o.MaxArguments = cmp.Or(e.Limits.MaxArguments, o.MaxArguments)
	o.MaxTools = cmp.Or(e.Limits.MaxTools, o.MaxTools)
	o.MaxInFlight = cmp.Or(e.Limits.MaxInFlight, o.MaxInFlight)
	o.MaxQueued = cmp.Or(e.Limits.MaxQueued, o.MaxQueued)
	o.TrustAnnotations = e.Trust
	if s.quarantined() { // it is told of no folders, and asks no user for anything as long as it is
		o.ListRoots = nil
	}
	decline := &mcp.ElicitResult{Action: "decline"}
	declines := func() bool { return tried != nil || s.quarantined() }
	o.Elicit = asking(user, declines, decline, nil, o.Elicit)
	o.ElicitURL = asking(user, declines, decline, nil, o.ElicitURL)
	o.Sample = asking(user, declines, nil, cmp.Or(tried, ErrQuarantined), o.Sample)
	return &o
}

// newConn makes the conn of a user, or of all.
func (s *server) newConn(ctx context.Context, key session.Key) (*conn, error) {
	if err := s.unusable(); err != nil {
		return nil, err
	}
	t := s.transport
	if key.User != "" {
		asking, cancel := s.host.whileOpen(ctx)
		defer cancel()
		var err error
		switch t, err = s.connectable(asking, key, &s.origin, s.logStderr); {
		case err != nil && s.host.isClosing():
			return nil, ErrClosed
		case err != nil:
			return nil, fmt.Errorf("server %q: %w", s.entry.Name, err)
		}
	}
	client := mcp.NewClient(s.entry.Name, t, s.options(key.User, nil))
	c := &conn{
		server: s, key: key, client: client, reading: make(chan struct{}, 1), quiet: make(chan struct{}), starting: key.User == "",
	}
	if key.User != "" || s.entry.Lazy {
		c.idleAfter = cmp.Or(s.entry.IdleTimeout, s.host.opts.idleTimeout)
	}
	return c, nil
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

var errDisabled = errors.New("it is disabled")

// refuse ends a conn, which may be nil, that must not be connected again, since it is not allowed any
// more, and takes the tools out of the registry.
func (s *server) refuse(c *conn) {
	sv := s.supervisor
	sv.publishing.Lock()
	defer sv.publishing.Unlock()
	if c == nil || s.running() != c {
		return
	}
	denied := denial(c.client.State().Err)
	if denied == nil {
		return
	}
	s.withdraw() // before the status says that it does not run
	sv.mu.Lock()
	s.err = denied
	if sv.server == s {
		sv.state = lifecycle.Next(sv.state, lifecycle.Refuse).To
	}
	sv.mu.Unlock()
	s.pool.close(c, false)
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

// serves reports whether tools can be called now, or will be started by a call.
func (s *server) serves() bool {
	c := s.running()
	return c != nil && c.client.State().Phase == mcp.Ready || s.usable() && (s.entry.Lazy || s.perUser()) && s.toolsKnown()
}

// stop ends the conns of a server, which may be nil, that the supervisor has no more, and returns what
// waits for the calls under way.
func (s *server) stop() wait {
	if s == nil {
		return nil
	}
	s.keepTools()
	conns := s.pool.end()
	s.discovery.end()
	s.origin.End()
	s.host.changed.Ring()
	return closing(conns)
}

// closing returns what closes conns when their calls have finished.
func closing(conns []*conn) wait {
	return func(ctx context.Context) error {
		return atOnce(conns, func(c *conn) error { return c.close(ctx) })
	}
}

// inBackground waits for something as long as the host is not closed.
func (h *Host) inBackground(until wait) {
	if until != nil {
		h.ending.Go(func() { _ = until(h.ctx) })
	}
}

// firstAttempt waits for the first attempt of a started server, and returns what is
// wrong after it.
func (s *server) firstAttempt(ctx context.Context) error {
	select {
	case <-s.settled:
	case <-ctx.Done():
		return fmt.Errorf("server %q: %w", s.entry.Name, context.Cause(ctx))
	case <-s.host.intake.Done():
	}
	switch {
	case s.host.isClosing(): // which may be what has ended the attempt
		return ErrClosed
	case errors.Is(s.unusable(), errEnded):
		return fmt.Errorf("server %q: %w", s.entry.Name, ErrOvertaken)
	}
	return s.outcome()
}

// outcome returns what is wrong with the server, which may be nil, with its name and place.
func (s *server) outcome() error {
	if s == nil {
		return nil
	}
	status := s.status()
	if status.Err == nil || namesItsServer(status.Err) {
		return status.Err
	}
	return fmt.Errorf("server %q (%s): %w", status.Name, status.Source, status.Err)
}

// namesItsServer reports whether the text of an error says which server it is about.
func namesItsServer(err error) bool {
	return denial(err) != nil || errors.As(err, new(*IsolationError))
}

// ErrQuarantined is returned for what would use a server in quarantine, see
// [StageQuarantined]. A call of one of its tools fails with a
// [registry.QuarantinedError].
//
//cure:look at the tools of the server, and accept them
var ErrQuarantined = errors.New("host: it is in quarantine: look at its tools, and accept what Ledger.Pending has of the server")

// errNoLedger is why a server in quarantine cannot be started where its tools cannot be
// accepted.
var errNoLedger = fmt.Errorf("%w; there is no ledger for that: set Options.Registry with one", ErrQuarantined)

// quarantined reports whether nothing of the server may be used before it is accepted.
func (s *server) quarantined() bool { return s.host.registry.Quarantines(s.facts(nil)) }

// asking returns a handler that finds the user, if there is one, in its context. As long as it declines it
// returns res and err.
func asking[Request, Result any](user string, declines func() bool, res Result, err error, handle func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	if handle == nil {
		return nil
	}
	return func(ctx context.Context, r Request) (Result, error) {
		if declines() {
			return res, err
		}
		if user != "" {
			ctx = session.WithUser(ctx, user)
		}
		return onbehalf.HandlerOf(ctx, handle)(ctx, r)
	}
}
