package host

import (
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

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
