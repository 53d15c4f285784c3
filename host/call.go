package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// maxMoves is how often a call follows its server to another connection, or to a
// successor, before it gives up.
const maxMoves = 8

// call calls a tool of the server. It starts the server if that
// is necessary, and sees to it that the tool is what was offered.
func (sv *supervisor) call(ctx context.Context, o *listedTool, args json.RawMessage, opts *mcp.RequestOptions) (*mcp.CallToolResult, error) {
	var res *mcp.CallToolResult
	err := errPanicked
	end := sv.meter.begin()
	defer func() { end(res, err) }()
	var tried error // how an attempt failed that may have run and is harmless to repeat, once
	for range maxMoves {
		var moved bool
		if res, moved, err = sv.try(ctx, o, args, opts); !moved || mcp.OutcomeOf(err) != mcp.NotSent && tried != nil {
			break
		}
		if mcp.OutcomeOf(err) != mcp.NotSent {
			tried = err
		}
	}
	if tried != nil && mcp.SafeToRetry(err) {
		err = tried
	}
	if exit, ok := errors.AsType[*transport.ExitError](err); ok {
		how, said := exit.Exit()
		err = &maskedExit{err, how, sv.host.masked(sv.name, said)}
	}
	return res, err
}

// A maskedExit says how a server's process has ended, without the secrets of its entry.
type maskedExit struct {
	error
	how, said string
}

func (e *maskedExit) Unwrap() error            { return e.error }
func (e *maskedExit) Exit() (how, said string) { return e.how, e.said }

// busy returns the error of a call with so many bytes of arguments that the client for ctx's
// user would refuse now, since too many wait, and counts that call. Without a client there
// is room: a call makes one.
func (sv *supervisor) busy(ctx context.Context, bytes int) error {
	s := sv.now()
	if s == nil {
		return nil
	}
	c := s.pool.get(s.userOf(ctx))
	if c == nil {
		return nil
	}
	err := c.client.Busy(ctx, bytes)
	if err != nil {
		sv.meter.Count(meter.Refused)
	}
	return err
}

// userOf returns the user whose conn the calls of ctx go over; empty: that of all, if there is one.
func (s *server) userOf(ctx context.Context) (user string) {
	if s.perUser() {
		user, _ = session.UserOf(ctx)
	}
	return user
}

// errPanicked is how a call ended whose progress function panicked.
var errPanicked = errors.New("the call panicked")

// try is one attempt of call. It reports whether the call has to go somewhere else, since its
// server or its connection ended: it was not sent, or does no harm when it is made once more.
func (sv *supervisor) try(ctx context.Context, o *listedTool, args json.RawMessage, opts *mcp.RequestOptions) (res *mcp.CallToolResult, moved bool, err error) {
	s, err := sv.get()
	if err != nil {
		return nil, false, err
	}
	ctx, c, err := s.connFor(ctx)
	if err != nil {
		return nil, errors.Is(err, errEnded), mcp.WithOutcome(err, mcp.NotSent)
	}
	defer s.pool.drop(c)
	served := c.known.Load() != nil
	known, err := s.verify(ctx, c, o)
	if err != nil {
		return nil, s.disown(c, err) && served, err
	}
	with := *cmp.Or(opts, new(mcp.RequestOptions))
	with.Connection = known.connection
	res, err = c.client.CallTool(ctx, o.tool.Name, args, &with)
	moved = errors.Is(err, mcp.ErrOtherConnection) || s.disown(c, err) && served && mcp.SafeToRetry(err)
	return res, moved, err
}

// connFor returns the conn for calls of ctx's user, taken, and the context to make
// them with.
func (s *server) connFor(ctx context.Context) (context.Context, *conn, error) {
	user := s.userOf(ctx)
	switch {
	case s.perUser() && user == "":
		return ctx, nil, &NoUserError{server: s.entry.Name}
	case user == "": // no user's login goes over what all users share
		ctx = onbehalf.Shared(ctx)
	}
	c, err := s.pool.take(ctx, user)
	return ctx, c, err
}

// verify returns the tools of the conn's present connection, and fails if o is not
// one of them.
func (s *server) verify(ctx context.Context, c *conn, o *listedTool) (*listing, error) {
	known := c.known.Load()
	state := c.client.State()
	var err error
	switch {
	case known == nil || state.Phase != mcp.Ready || known.connection != state.Connections:
		known, err = s.list(ctx, c, 0)
	case known.version != state.ToolsVersion:
		known, err = s.listAnnounced(ctx, c, known, o)
	}
	if err != nil {
		return nil, err
	}
	err = known.check(s.entry.Name, c.key.User, o)
	if err == nil || s.perUser() {
		return known, err
	}
	// The ledger says it better, if it holds the tool back.
	for _, q := range s.host.registry.Snapshot().Quarantined() {
		if q.Tool.Origin.Server == s.entry.Name && q.Tool.Origin.Tool == o.tool.Name {
			return nil, &registry.QuarantinedError{Name: q.Tool.Name, Change: q.Change}
		}
	}
	return nil, err
}

// A NoUserError reports a call of a server where each user has a connection of their own,
// under a context that does not say who the user is.
//
//cure:give the context a user by session.WithUser
type NoUserError struct {
	server string // configured name
}

func (e *NoUserError) Error() string {
	return fmt.Sprintf("server %q has a connection for each user: make the call under a context of session.WithUser", e.server)
}

// Outcome returns [mcp.NotSent].
func (e *NoUserError) Outcome() mcp.Outcome { return mcp.NotSent }
