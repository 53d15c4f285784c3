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
	pool        *pool // the conns of its users

	origin origin.Origin // what these have in common

	// publishing is held while the registry takes over the tools or the catalogue
	// cache saves them, which may wait for a disk. It is locked before mu.
	publishing sync.Mutex
	recorded   events.HeldBack // guarded by publishing

	mu        sync.Mutex     // guards the following
	said      *config.Server // entry, or what the file says in its place since then and is the same to the server
	enabled   bool
	err       error         // why it cannot run
	transport mcp.Transport // of the client for all users; nil unless started
	conn      *conn         // for all users; nil if there is none now
	stopped   bool          // no conn is made any more

	public      bool // the tools belong into the registry
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

func (sv *supervisor) newServer(entry *config.Server) *server {
	s := &server{
		host:       sv.host,
		supervisor: sv,
		entry:      entry,
		hash:       hashOf(entry),
		settled:    make(chan struct{}),

		discovering: make(chan struct{}, 1),
		said:        entry,
		enabled:     !entry.Disabled && entry.Err == nil,
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

// start begins to run the server. Its tools go into the registry at once if public is
// set, else when they are published.
func (s *server) start(public bool) {
	var t mcp.Transport
	err := s.hindrance()
	if err == nil {
		s.host.opts.Logins.Use(s.entry)
		if !s.perUser() {
			t, err = s.connectable(s.host.ctx, session.Key{Server: s.entry.Name}, nil, s.logStderr)
		}
	}
	s.mu.Lock()
	s.enabled, s.err, s.public, s.transport = true, err, public, t
	s.mu.Unlock()
	switch {
	case err != nil:
	case (s.entry.Lazy || s.perUser()) && s.restoreTools() && !s.perUser():
	case s.perUser():
		s.discovery.begin("")
	default: // a lazy one too, since its tools are not known
		if c, err := s.open(); err == nil {
			c.drop()
			return // the conn's follower settles
		}
	}
	s.settle()
	s.host.changed.Ring()
}

// hindrance returns why the server must not be started, or nil.
func (s *server) hindrance() error {
	if s.entry.Err != nil {
		return s.entry.Err
	}
	if denied := s.host.notAllowed(s.host.ctx, s.entry); denied != nil {
		return denied
	}
	if s.host.registry.Ledger() == nil && s.quarantined() {
		return errNoLedger
	}
	return nil
}

// options returns the options of the client of a user, or of all if that is empty.
func (s *server) options(user string) *mcp.ClientOptions {
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
	o.Elicit = asking(s, user, decline, nil, o.Elicit)
	o.ElicitURL = asking(s, user, decline, nil, o.ElicitURL)
	o.Sample = asking(s, user, nil, ErrQuarantined, o.Sample)
	return &o
}

// idleTimeout returns how long what may be ended can be unused.
func (s *server) idleTimeout() time.Duration {
	return cmp.Or(s.entry.IdleTimeout, s.host.opts.idleTimeout)
}

// open returns the conn for all users, taken, and makes it if there is none.
func (s *server) open() (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.transport == nil, s.stopped:
		return nil, s.unusableLocked()
	case s.conn != nil && s.conn.take():
		return s.conn, nil
	}
	c := newConn(s, session.Key{Server: s.entry.Name}, mcp.NewClient(s.entry.Name, s.transport, s.options("")))
	c.follow()
	if s.entry.Lazy {
		c.idleAfter, c.idle, c.starting = s.idleTimeout(), s.closeIdle, true
	}
	c.take()
	s.conn = c
	c.client.Connect()
	return c, nil
}

// unusable says why there can be no conn.
func (s *server) unusable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unusableLocked()
}

// unusableLocked needs s.mu.
func (s *server) unusableLocked() error {
	err := s.err
	switch {
	case s.stopped:
		return errEnded
	case err == nil:
		err = errDisabled
	case namesItsServer(err):
		return err
	}
	return fmt.Errorf("server %q does not run: %w", s.entry.Name, err)
}

var errDisabled = errors.New("it is disabled")

// closeIdle ends an idle conn of a lazy server. The tools stay listed.
func (s *server) closeIdle(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c || !c.end(true) {
		return
	}
	s.conn = nil
	s.host.ending.Go(func() { // counted before the server can be stopped and waited for
		s.host.changed.Ring()
		_ = c.close(s.host.ctx)
	})
}

// forbid ends a conn that must not be connected again, since it is not allowed any more,
// and takes the tools out of the registry.
func (s *server) forbid(c *conn, denied *LaunchNotAllowedError) {
	if s.running() != c {
		return
	}
	s.withdraw(true) // before the status says that it does not run
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	s.conn, s.transport, s.err = nil, nil, denied
	s.host.ending.Go(func() { _ = c.close(s.host.ctx) })
}

// running returns the conn for all users, or nil if there is none now.
func (s *server) running() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// isOn reports whether the server is meant to run, and was not stopped.
func (s *server) isOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled && !s.stopped
}

// usable reports whether the server runs, or would on the next call.
func (s *server) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled && s.err == nil && !s.stopped
}

// serves reports whether tools can be called now, or will be started by a call.
func (s *server) serves() bool {
	c := s.running()
	return c != nil && c.client.State().Phase == mcp.Ready || s.usable() && (s.entry.Lazy || s.perUser()) && s.toolsKnown()
}

// stop keeps conns from being made, takes the tools out of the registry unless a
// successor puts its own in their place, and returns what waits for the calls under way.
func (s *server) stop(removeTools bool) wait {
	s.mu.Lock()
	c := s.conn
	s.stopped, s.conn = true, nil
	s.mu.Unlock()
	conns := s.pool.end(true)
	if c != nil {
		c.end(false)
		conns = append(conns, c)
	}
	s.discovery.end()
	s.origin.End()
	s.withdraw(removeTools)
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
	case !s.isOn():
		return fmt.Errorf("server %q: %w", s.entry.Name, ErrOvertaken)
	}
	return s.outcome()
}

// outcome returns what is wrong with the server, with its name and place.
func (s *server) outcome() error {
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

// move notes that the entry, which says the same, stands elsewhere now, and what the file
// says besides.
func (s *server) move(to *config.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = to
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

// asking returns a handler that finds the user, if there is one, in its context. As long as the server is
// in quarantine it returns res and err.
func asking[Request, Result any](s *server, user string, res Result, err error, handle func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	if handle == nil {
		return nil
	}
	return func(ctx context.Context, r Request) (Result, error) {
		if s.quarantined() {
			return res, err
		}
		if user != "" {
			ctx = session.WithUser(ctx, user)
		}
		return onbehalf.HandlerOf(ctx, handle)(ctx, r)
	}
}
