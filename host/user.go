package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// Client returns the client for the user of a key at its server, which must be enabled.
// Without a user in the key it is the one of ctx, see [session.WithUser]; a server that
// all share has one client for all. It may not be connected yet. Where users have
// connections of their own and no tools are known yet, those of this one are read, see
// [Host.Discover].
//
// Do not close it, and do not keep it; [Host.WithClient] keeps it for as long as it is
// needed: the client of a user, and that of a lazy server,
// is closed some time after it was got here or made a call of a tool, that of a user at
// once if another user waits for its place, and that of a replaced server when its calls
// have finished. Ask for it again then.
func (h *Host) Client(ctx context.Context, key session.Key) (client *mcp.Client, err error) {
	err = h.WithClient(ctx, key, func(own context.Context, c *mcp.Client) error {
		client = c
		if s, err := h.server(key.Server); err == nil && s.perUser() {
			_ = s.discoverFirst(own) // State of the client tells what is wrong
		}
		return nil
	})
	return client, err
}

// WithClient calls f with the client that [Host.Client] returns, which is not closed for
// want of use, or for another user, before f returns; and with the context to make calls
// with: ctx for a user's own client, and one without a user where all share one. A lazy
// server is started for it. The error is that of f, if f was called.
func (h *Host) WithClient(ctx context.Context, key session.Key, f func(context.Context, *mcp.Client) error) error {
	sv, err := h.supervisor(key.Server)
	if err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	if key.User != "" {
		ctx = session.WithUser(ctx, key.User)
	}
	for range maxMoves {
		var s *server
		if s, err = sv.get(); err != nil {
			return err
		}
		if s.quarantined() {
			err = fmt.Errorf("server %q: %w", key.Server, ErrQuarantined)
			break
		}
		own, c, failed := s.connFor(ctx)
		if failed == nil {
			defer s.pool.drop(c)
			err = f(own, c.client)
			s.disown(c, err)
			return err
		}
		if err = failed; !errors.Is(err, errEnded) || ctx.Err() != nil {
			break
		}
	}
	return mcp.WithOutcome(err, mcp.NotSent)
}

// Discover reads the tools of a server where each user has a connection of their own, with
// the login of the key's user or, without one, the user of ctx. What they see becomes the
// catalogue of all, as far as the ledger of the registry lets it: other users whose
// server shows them another tool of a name cannot call that.
//
// Without it the catalogue is that of the first user who has logged in by Options.Logins,
// also in an earlier run, or for whom [Host.Client] was asked. The tools are read by
// themselves when a user logs in, and when the server is started and a user is
// logged in; if that fails it is tried again.
func (h *Host) Discover(ctx context.Context, key session.Key) error {
	s, err := h.server(key.Server)
	if err != nil {
		return err
	}
	if key.User != "" {
		ctx = session.WithUser(ctx, key.User)
	}
	return s.relist(ctx)
}

// Login begins the login of a user at a server, or joins the one that waits for them, as
// [session.Manager.Login] does. Without a user in the key it is the user of ctx where
// each has a connection of their own, and the login of all where they share one.
//
// The error is an [*UnknownServerError], a [*LaunchNotAllowedError] or a [*login.Error], or that
// of the manager.
func (h *Host) Login(ctx context.Context, key session.Key) (*session.Login, error) {
	key, entry, err := h.loginKey(ctx, key)
	if err != nil {
		return nil, err
	}
	if denied := h.consents.notAllowed(ctx, entry); denied != nil { // it is not to be spoken to
		return nil, denied
	}
	begun, err := h.opts.Logins.Sessions().Login(ctx, key)
	if err != nil {
		h.events.Record(ctx, events.OfLogin("login", key, err))
	}
	return begun, err
}

// Complete completes the login that a user's browser has come back from, as
// [session.Manager.Complete] does. It does not wait for what becomes possible then: a
// server that all share is connected to, and one where users have connections of their
// own is asked for its tools, if they are not known yet. [Host.Watch] tells of both. So
// it is with every other way of logging in, such as [session.Manager.CallbackHandler].
func (h *Host) Complete(ctx context.Context, callback string, opts *session.CompleteOptions) (session.Key, error) {
	if h.opts.Logins == nil {
		return session.Key{}, errors.New("host: no login can be completed: set Options.Logins")
	}
	key, err := h.opts.Logins.Sessions().Complete(ctx, callback, opts)
	if key.Server != "" { // it is the callback of a login
		h.events.Record(ctx, events.OfLogin("login", key, err))
	}
	return key, err
}

// Logout ends the session of a user at a server, as [session.Manager.Logout] does. The
// key is as for [Host.Login].
func (h *Host) Logout(ctx context.Context, key session.Key) error {
	key, _, err := h.loginKey(ctx, key)
	if err != nil {
		return err
	}
	err = h.opts.Logins.Sessions().Logout(ctx, key)
	h.events.Record(ctx, events.OfLogin("logout", key, err))
	return err
}

// loginKey returns the key of a session, with its user, and the entry of the server.
func (h *Host) loginKey(ctx context.Context, key session.Key) (session.Key, *config.Server, error) {
	s, err := h.server(key.Server)
	if err != nil {
		return key, nil, err
	}
	if h.opts.Logins == nil {
		return key, nil, &login.Error{Server: key.Server, Problem: "set Options.Logins"}
	}
	if why := s.entry.NoLogin(); why != "" {
		return key, nil, &login.Error{Server: key.Server, Problem: why}
	}
	h.opts.Logins.Know(s.entry) // it may be disabled
	key.User = cmp.Or(key.User, s.userOf(ctx))
	switch {
	case !s.perUser() && key.User != "":
		return key, nil, &login.Error{Server: key.Server, Problem: `all users share its connection: log in without a user, or set "identity": "user" in its entry`}
	case s.perUser() && key.User == "":
		return key, nil, &NoUserError{server: key.Server}
	}
	return key, s.entry, nil
}

// loggedIn is told of a user who has logged in at a server.
func (h *Host) loggedIn(key session.Key) {
	if s, err := h.server(key.Server); err == nil && key.User != "" {
		s.discovery.begin(key.User)
	}
}

// Try calls f with what it takes to make a client of the server that an entry describes, on
// a connection of its own: a transport, and options for [mcp.NewClient]. f closes the client
// before it returns. The entry e need not be in the configuration, and may be switched off.
// Try touches nothing that runs or is kept: no server of the host, not the registry and not
// its ledger. Where users have connections of their own it is that of ctx's user, see
// [session.WithUser].
//
// The entry counts as it does for a server of the configuration: one whose launch
// has to be allowed and is not is not started, and one that is to be confined is not started
// without. By the options the client declares what those of the host do, since servers list tools by that, and declines
// what a server asks the user or a model. If
// observe is not nil it gets the transport that the entry describes, such as a
// [*transport.Command], made for this call of Try alone, and returns the one to use.
//
// The context of f ends with ctx and when the host is closed. The error is that of f; if f
// was not called it is the error of the entry or of observe, a [*LaunchNotAllowedError], a
// [*NoUserError], or [ErrClosed].
func (h *Host) Try(ctx context.Context, e *config.Server, observe func(mcp.Transport) (mcp.Transport, error), f func(context.Context, mcp.Transport, *mcp.ClientOptions) error) error {
	need(ctx)
	if e == nil {
		return errors.New("host: no server to try: the entry is nil")
	}
	leave, err := h.visit()
	if err != nil {
		return err
	}
	defer leave()
	if f == nil {
		return errors.New("host: Try: f is nil")
	}
	h.mu.Lock()
	e = h.scopes.keep(e)
	h.mu.Unlock()
	ctx, release := h.whileOpen(ctx)
	defer release()
	s := newSupervisor(&h.shared, e.Name).newServer(e) // which is never started
	t, err := s.tryTransport(ctx, observe)
	if err == nil {
		o := s.options("", errTried)
		o.Logger = nil
		//lint:ignore SA1019 older servers use them
		o.Log, o.LogLevel = nil, ""
		o.HealthInterval = -1
		err = f(ctx, t, o)
	}
	if h.isClosing() { // which may be what has ended it
		return ErrClosed
	}
	return err
}

// errTried is what a server is told that asks for sampling while it is tried.
var errTried = errors.New("host: no model answers while a server is tried")

// tryTransport returns the transport for a try, if one may be made.
func (s *server) tryTransport(ctx context.Context, observe func(mcp.Transport) (mcp.Transport, error)) (mcp.Transport, error) {
	if s.entry.Err != nil {
		return nil, s.entry.Err
	}
	if _, err := s.host.consents.allowedLaunch(ctx, s.entry); err != nil { // or it cannot be told what would be started
		return nil, err
	}
	key := session.Key{User: s.userOf(ctx), Server: s.entry.Name}
	if s.perUser() && key.User == "" {
		return nil, &NoUserError{server: s.entry.Name}
	}
	return s.host.connectable(ctx, key, s.entry, nil, observe)
}
