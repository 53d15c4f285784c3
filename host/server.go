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
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/origin"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A server is one entry of the configuration, from when it is started to when it is
// replaced or stopped. Its tools are in the registry; clients for their calls are made
// as its entry says: one at once, one when it is needed, or one for each user.
type server struct {
	host  *Host
	slot  *slot
	entry *config.Server // never changed
	hash  string

	settled chan struct{} // closed after the first attempt
	once    sync.Once     // closes settled

	tools       serverTools
	discovering chan struct{} // holds a token while the first user's tools are read
	discovery   discovery
	pool        *pool // the conns of its users

	origin origin.Origin // what these have in common

	mu        sync.Mutex // guards the following
	source    config.Source
	warnings  []*config.Error
	enabled   bool
	err       error                         // why it cannot run
	transport func() (mcp.Transport, error) // of the clients for all users, made once; nil unless started
	conn      *conn                         // for all users; nil if there is none now
	stopped   bool                          // no conn is made any more
}

// errEnded is met by a call that came to a server when it was replaced or stopped. The
// call looks for the next one.
var errEnded = errors.New("the server was stopped")

func (sl *slot) newServer(entry *config.Server) *server {
	s := &server{
		host:    sl.host,
		slot:    sl,
		entry:   entry,
		hash:    hashOf(entry),
		settled: make(chan struct{}),

		discovering: make(chan struct{}, 1),
		source:      entry.Source,
		warnings:    entry.Warnings,
		enabled:     entry.Enabled && entry.Err == nil,
		err:         entry.Err,
	}
	s.tools.server, s.discovery.server = s, s
	s.discovery.task = again.New(s.discovery.run)
	s.pool = newPool(s, sl.host.opts.MaxUserClients)
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
func (s *server) perUser() bool { return perUser(s.entry) }

func perUser(e *config.Server) bool {
	return e.Identity == config.IdentityUser || e.Identity == config.IdentityHeader
}

// start begins to run the server. Its tools go into the registry at once if public is
// set, else when they are published.
func (s *server) start(public bool) {
	err := s.entry.Err
	if err == nil {
		err = s.cannotExamine()
	}
	if s.entry.Err == nil {
		if denied := s.host.notAllowed(s.host.ctx, s.entry); denied != nil {
			err = denied
		}
	}
	if err == nil {
		s.host.useLogin(s.entry)
	}
	s.mu.Lock()
	s.enabled, s.err = true, err
	if err == nil && !s.perUser() {
		s.transport = sync.OnceValues(func() (mcp.Transport, error) {
			return s.connectable(session.Key{Server: s.entry.Name}, nil)
		})
	}
	s.mu.Unlock()
	s.tools.open(public)
	known := err == nil && (s.entry.Lazy || s.perUser()) && s.tools.restore()
	if err == nil && !known && !s.perUser() { // a lazy one too, since its tools are not known
		var c *conn
		if c, err = s.open(); err == nil {
			c.drop()
			return // the conn's follower settles
		}
	}
	if err == nil && s.perUser() {
		s.discovery.begin("")
	}
	s.settle()
	s.host.broadcast()
}

// options returns the options of the server's clients.
func (s *server) options() *mcp.ClientOptions {
	o := s.host.opts.Client
	e := s.entry
	if e.ConnectTimeout > 0 {
		o.ConnectTimeout = e.ConnectTimeout
	}
	if e.ReadTimeout > 0 {
		o.IdleTimeout = e.ReadTimeout
	}
	o.MaxTools = cmp.Or(e.Limits.MaxTools, o.MaxTools)
	o.MaxInFlight = cmp.Or(e.Limits.MaxInFlight, o.MaxInFlight)
	o.MaxQueued = cmp.Or(e.Limits.MaxQueued, o.MaxQueued)
	o.TrustAnnotations = e.Trust
	s.mute(&o)
	return &o
}

// idleTimeout returns how long what may be ended can be unused.
func (s *server) idleTimeout() time.Duration {
	return cmp.Or(s.entry.IdleTimeout, s.host.opts.idleTimeout)
}

// open returns the conn for all users, taken, and makes it if there is none.
func (s *server) open() (*conn, error) {
	s.mu.Lock()
	made := s.transport
	s.mu.Unlock()
	if made == nil {
		return nil, s.unusable()
	}
	t, err := made() // outside of the lock: the program's own function may be behind it
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, errEnded
	case s.err == nil && err != nil:
		s.err = err
		fallthrough
	case s.err != nil:
		return nil, s.unusableLocked()
	case s.conn != nil && s.conn.take():
		return s.conn, nil
	}
	c := newConn(s, session.Key{Server: s.entry.Name}, mcp.NewClient(s.entry.Name, t, s.options()))
	c.follower = newFollower(s, c)
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
	if s.stopped {
		return errEnded
	}
	return s.unusableLocked()
}

// unusableLocked needs s.mu.
func (s *server) unusableLocked() error {
	err := s.err
	switch {
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
	if s.conn != c || !c.endIfIdle() {
		s.mu.Unlock()
		return
	}
	s.conn = nil
	s.host.ending.Add(1) // before the server can be stopped and waited for
	s.mu.Unlock()
	defer s.host.ending.Done()
	s.host.broadcast()
	_ = c.close(s.host.ctx)
}

// forbid ends a conn that must not be connected again, since it is not allowed any more,
// and takes the tools out of the registry.
func (s *server) forbid(c *conn, denied *LaunchNotAllowedError) {
	if s.running() != c {
		return
	}
	s.tools.clear() // before the status says that it does not run
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

// usable reports whether conns can be made.
func (s *server) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled && s.err == nil && !s.stopped
}

// serves reports whether tools can be called now, or will be started by a call.
func (s *server) serves() bool {
	if c := s.running(); c != nil && c.client.State().Phase == mcp.Ready {
		return true
	}
	return s.usable() && (s.entry.Lazy || s.perUser()) && s.tools.known()
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
		c.end()
		conns = append(conns, c)
	}
	s.discovery.end()
	s.origin.End()
	if removeTools {
		s.tools.clear()
		s.host.broadcast()
	}
	s.tools.close()
	return closing(conns)
}

// closing returns what closes conns when their calls have finished.
func closing(conns []*conn) wait {
	return func(ctx context.Context) error {
		errs := make([]error, len(conns))
		var wg sync.WaitGroup
		for i, c := range conns {
			wg.Go(func() { errs[i] = c.close(ctx) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// inBackground waits for something as long as the host is not closed.
func (h *Host) inBackground(until wait) {
	if until != nil {
		h.ending.Go(func() { _ = until(h.ctx) })
	}
}

// settle says that the first attempt has ended.
func (s *server) settle() { s.once.Do(func() { close(s.settled) }) }

// firstAttempt waits for the first attempt of a started server, and returns what is
// wrong after it.
func (s *server) firstAttempt(ctx context.Context) error {
	select {
	case <-s.settled:
		if s.host.isClosing() { // which may be what has ended the attempt
			return ErrClosed
		}
		s.mu.Lock()
		stopped := s.stopped
		s.mu.Unlock()
		if stopped {
			return fmt.Errorf("server %q: %w", s.entry.Name, ErrOvertaken)
		}
		return s.outcome()
	case <-ctx.Done():
		return fmt.Errorf("server %q: %w", s.entry.Name, context.Cause(ctx))
	case <-s.host.intake.Done():
		return ErrClosed
	}
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
	var isolation *IsolationError
	return denial(err) != nil || errors.As(err, &isolation)
}

// move notes that the entry, which says the same, stands elsewhere now, and what the file
// says besides.
func (s *server) move(to *config.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source, s.warnings = to.Source, to.Warnings
}

// ErrQuarantined is returned for what would use a server in quarantine, see
// [StageQuarantined]. A call of one of its tools fails with a
// [registry.QuarantinedError].
var ErrQuarantined = errors.New("host: it is in quarantine: look at its tools, and accept what Ledger.Pending has of the server")

// errNoLedger is why a server in quarantine cannot be started where its tools cannot be
// accepted.
var errNoLedger = fmt.Errorf("%w; there is no ledger for that: set Options.Registry with one", ErrQuarantined)

// quarantined reports whether nothing of the server may be used before it is accepted.
func (s *server) quarantined() bool { return s.host.registry.Quarantines(s.facts()) }

// cannotExamine returns why a server in quarantine is not started, or nil.
func (s *server) cannotExamine() error {
	if s.host.registry.Ledger() == nil && s.quarantined() {
		return errNoLedger
	}
	return nil
}

// mute has a server ask no user for anything as long as it is in quarantine, and tells it
// of no folders if it is when it is started.
func (s *server) mute(o *mcp.ClientOptions) {
	if s.quarantined() {
		o.ListRoots = nil
	}
	decline := &mcp.ElicitResult{Action: "decline"}
	o.Elicit = unless(s.quarantined, decline, nil, o.Elicit)
	o.ElicitURL = unless(s.quarantined, decline, nil, o.ElicitURL)
	o.Sample = unless(s.quarantined, nil, ErrQuarantined, o.Sample)
}

// unless returns a handler that answers res and err as long as a condition holds.
func unless[Request, Result any](holds func() bool, res Result, err error, handle func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	if handle == nil {
		return nil
	}
	return func(ctx context.Context, r Request) (Result, error) {
		if holds() {
			return res, err
		}
		return handle(ctx, r)
	}
}
