package host

import (
	"context"
	"errors"
	"fmt"

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
