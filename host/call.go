package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// maxMoves is how often a call follows its server to another connection, or to a
// successor, before it gives up.
const maxMoves = 8

// callTool calls a tool of the server. It starts the server if that
// is necessary, and sees to it that the tool is what was offered.
func (t *target) callTool(ctx context.Context, o *listedTool, args json.RawMessage, opts *mcp.RequestOptions) (*mcp.CallToolResult, error) {
	var res *mcp.CallToolResult
	err := errPanicked
	end := t.meter.begin()
	defer func() { end(res, err) }()
	var tried error // how an attempt failed that may have run and is harmless to repeat, once
	for range maxMoves {
		var moved bool
		if res, moved, err = t.try(ctx, o, args, opts); !moved || mcp.OutcomeOf(err) != mcp.NotSent && tried != nil {
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
		err = &maskedExit{err, how, t.host.events.Mask(t.name, said)}
	}
	return res, err
}

// A maskedExit says how a server's process has ended, without the secrets of its entry.
type maskedExit struct {
	error
	how, said string
}

func (e *maskedExit) Unwrap() error { return e.error }

func (e *maskedExit) Exit() (how, said string) { return e.how, e.said }

// errPanicked is how a call ended whose progress function panicked.
var errPanicked = errors.New("the call panicked")

// try is one attempt of callTool. It reports whether the call has to go somewhere else, since its
// server or its connection ended: it was not sent, or does no harm when it is made once more.
func (t *target) try(ctx context.Context, o *listedTool, args json.RawMessage, opts *mcp.RequestOptions) (res *mcp.CallToolResult, moved bool, err error) {
	s, err := t.get()
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

// relist reads the tools, and starts a server that rests for it. Where users have connections of
// their own, what the user of ctx sees becomes the catalogue of all.
func (s *server) relist(ctx context.Context) error {
	ctx, c, err := s.connFor(ctx)
	if err != nil {
		return err
	}
	defer s.pool.drop(c)
	known, err := s.list(ctx, c, 0)
	if err != nil {
		s.disown(c, err)
		return err
	}
	if s.perUser() {
		s.takeOver(known)
		s.host.changed.Ring()
	}
	return nil
}

// discoverFirst is relist unless the tools are known already.
func (s *server) discoverFirst(ctx context.Context) error {
	if s.toolsKnown() {
		return nil
	}
	select {
	case s.discovering <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.discovering }()
	if s.toolsKnown() {
		return nil
	}
	return s.relist(ctx)
}

// disown ends the conn of a user if the server does not accept the headers any more that
// the program made for the user, and reports whether it did: for the next conn the program is
// asked again.
func (s *server) disown(c *conn, err error) bool {
	var status *transport.StatusError
	if !errors.As(err, &status) || status.Code != http.StatusUnauthorized ||
		s.host.opts.UserHeaders == nil || s.entry.Identity != config.IdentityHeader {
		return false
	}
	s.pool.close(c, false)
	return true
}
