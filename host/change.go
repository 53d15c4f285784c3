package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/session"
)

// Enable starts a server and returns when it is ready, or with the error of its
// first attempt; it then goes on trying. It does not wait for a lazy server.
func (h *Host) Enable(ctx context.Context, name string) error {
	return h.change(ctx, "enable", name, func(ctx context.Context, sv *supervisor, s *server) (wait, error) {
		s.refuse(s.running()) // if that is about to be done
		if s.usable() {
			return s.untilStarted(), nil
		}
		return sv.renew(ctx, s).untilStarted(), nil
	})
}

// renew starts a new server of the configured entry in the place of one that does not run.
func (sv *supervisor) renew(ctx context.Context, old *server) *server {
	s := sv.newServer(sv.configured(old))
	s.prepare()
	_, _, _ = sv.handle(ctx, lifecycle.Start, s)
	sv.setUnapplied(nil, nil)
	return s
}

// Disable stops a server and removes its tools. Calls under way may finish
// until ctx ends. Enable, Restart and Refresh that wait for the server give up.
func (h *Host) Disable(ctx context.Context, name string) error {
	need(ctx)
	if sv, err := h.supervisor(name); err == nil {
		sv.interrupt(nil)
	}
	return h.change(ctx, "disable", name, func(_ context.Context, sv *supervisor, old *server) (wait, error) {
		s := sv.newServer(sv.configured(old))
		s.err = nil
		calls := sv.place(lifecycle.Disable, s)
		sv.setUnapplied(nil, nil)
		return calls, nil
	})
}

// Restart ends the connection to a server and makes a new one at once, also if
// the server was waiting for its next attempt, and returns as Enable does. Calls under
// way are cut off; Refresh lets them finish. The clients of users are ended when
// their calls have finished, and made again when they are needed.
//
// If the server does not run as it is configured, see [Status.Unapplied], it is replaced
// by what is, as [Host.Apply] does: while that fails the present one goes on.
func (h *Host) Restart(ctx context.Context, name string) error {
	return h.change(ctx, "restart", name, func(ctx context.Context, sv *supervisor, s *server) (wait, error) {
		s.askAgain()
		switch did, until, err := sv.apply(ctx, sv.configured(s)); {
		case did != lifecycle.None:
			return until, err
		case !s.usable():
			return sv.renew(ctx, s).firstAttempt, nil
		case s.perUser():
			h.inBackground(s.pool.end())
			return nil, nil
		}
		if c := s.pool.find(""); c != nil {
			defer s.pool.drop(c)
			if err := c.client.Reconnect(ctx); err != nil {
				return nil, err
			}
		}
		return nil, s.relist(ctx)
	})
}

// Refresh reads anew what servers are and offer, those of the given names or, without
// any, all that are enabled, in parallel. A new connection is made beside the present
// one, which serves until the new one is ready and its tools are in the registry, and
// then finishes its calls in the background; so no tool is missing meanwhile. If that
// fails for a server the present connection stays, and the error says so. A server with
// a connection for each user is read by [Host.Discover] for the user of ctx, and left
// alone without one. The new connection is to the server as it is configured, see
// [Status.Unapplied].
func (h *Host) Refresh(ctx context.Context, names ...string) error {
	need(ctx)
	leave, err := h.visit()
	if err != nil {
		return err
	}
	defer leave()
	if len(names) == 0 {
		for _, s := range h.current() {
			if s.usable() {
				names = append(names, s.entry.Name)
			}
		}
	}
	return atOnce(names, func(name string) error {
		return h.change(ctx, "refresh", name, refresh)
	})
}

// refresh is Refresh of one server.
func refresh(ctx context.Context, sv *supervisor, s *server) (until wait, err error) {
	switch did, until, err := sv.apply(ctx, sv.configured(s)); {
	case did != lifecycle.None:
		return until, err
	case s.perUser():
		if _, ok := session.UserOf(ctx); ok {
			err = s.relist(ctx)
		}
		return nil, err
	case !s.usable():
		return nil, s.unusable()
	case s.running() == nil:
		return nil, s.relist(ctx)
	}
	next := sv.newServer(s.entry)
	next.prepare()
	_, until, err = sv.handle(ctx, lifecycle.Start, next)
	return until, err
}

// change has f change the named server, and no other change with it. The context that f
// gets ends when the host is closed, or when another change takes its place. What is the
// verb for it in the log.
func (h *Host) change(ctx context.Context, what, name string, f func(context.Context, *supervisor, *server) (wait, error)) error {
	need(ctx)
	leave, err := h.visit()
	if err != nil {
		return err
	}
	defer leave()
	sv, err := h.supervisor(name)
	if err != nil {
		return err
	}
	until, err := sv.hold(ctx, nil, func(own context.Context, s *server) (wait, error) {
		if s == nil {
			return nil, &UnknownServerError{name, h.names()}
		}
		until, err := f(own, sv, s)
		if err != nil && errors.Is(context.Cause(own), ErrOvertaken) {
			err = fmt.Errorf("server %q: %s: %w", name, what, ErrOvertaken)
		}
		return until, err
	})
	if err == nil && until != nil {
		err = until(ctx)
	}
	h.events.Record(ctx, events.OfConfig(what, name, err))
	if err != nil && h.isClosing() {
		return ErrClosed
	}
	return err
}

// askAgain has the user asked again what was not answered.
func (s *server) askAgain() {
	if g, ok := s.transport.(*guarded); ok {
		g.refused.Store(nil)
	}
}
