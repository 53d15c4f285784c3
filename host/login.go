package host

import (
	"cmp"
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/session"
)

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
