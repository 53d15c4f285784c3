//lint:file-ignore SA1019 Sampling and roots are deprecated since revision 2026-07-28, and work.

package host

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// newServer returns the server of an entry, which does not run yet; nil of none.
func (t *target) newServer(entry *config.Server) *server {
	if entry == nil {
		return nil
	}
	s := &server{
		host:    t.host,
		target:  t,
		entry:   entry,
		hash:    hashOf(entry),
		settled: make(chan struct{}),

		discovering: make(chan struct{}, 1),
		said:        entry,
		err:         entry.Err,
	}
	s.settle = sync.OnceFunc(func() { close(s.settled) })
	s.discovery = discovery{
		host: t.host, server: entry.Name,
		wanted: func() bool { return s.usable() && s.awaitsLogin() },
		read:   s.discoverFirst,
		done:   func(err error) { s.listFailed(err, false) },
	}
	s.discovery.task = again.New(s.discovery.run)
	s.pool = &pool{
		host: t.host, server: entry.Name,
		newConn: s.newConn, unusable: s.unusable, follow: s.follow, settle: s.settle,
		places: make(chan struct{}, t.host.opts.MaxUserClients), conns: map[string]*conn{},
	}
	return s
}

// prepare makes what the server is started with, or notes why it must not be. The supervisor does not have
// the server yet.
func (s *server) prepare() {
	if s.err != nil {
		return
	}
	if denied := s.host.consents.notAllowed(s.host.ctx, s.entry); denied != nil {
		s.err = denied
		return
	}
	if s.host.registry.Ledger() == nil && s.quarantined() {
		s.err = errNoLedger
		return
	}
	s.host.opts.Logins.Use(s.entry)
	if !s.perUser() {
		s.transport, s.err = s.host.connectable(s.host.ctx, session.Key{Server: s.entry.Name}, s.entry, nil, s.logStderr)
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
		switch t, err = s.host.connectable(asking, key, s.entry, &s.pool.origin, s.logStderr); {
		case err != nil && s.host.isClosing():
			return nil, ErrClosed
		case err != nil:
			return nil, fmt.Errorf("server %q: %w", s.entry.Name, err)
		}
	}
	client := mcp.NewClient(s.entry.Name, t, s.options(key.User, nil))
	c := &conn{
		key: key, client: client, reading: make(chan struct{}, 1), quiet: make(chan struct{}), starting: key.User == "",
	}
	if key.User != "" || s.entry.Lazy {
		c.idleAfter = cmp.Or(s.entry.IdleTimeout, s.host.opts.idleTimeout)
	}
	return c, nil
}

// stop ends the conns of a server, which may be nil, that the supervisor has no more, and returns what
// waits for the calls under way.
func (s *server) stop() wait {
	if s == nil {
		return nil
	}
	s.keepTools()
	calls := s.pool.end()
	s.discovery.end()
	s.pool.origin.End()
	s.host.changed.Ring()
	return calls
}

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

// logStderr has the lines of a server's standard error be logged, if they would be.
func (s *server) logStderr(t mcp.Transport) (mcp.Transport, error) {
	logger := s.host.opts.Client.Logger
	if c, ok := t.(*transport.Command); ok && c.Stderr == nil && logger.Enabled(s.host.ctx, slog.LevelDebug) {
		c.Stderr = func(line string) { logger.Debug("mcp: stderr", "server", s.entry.Name, "line", line) }
	}
	return t, nil
}
