package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// maxMoves is how often a call follows its server to another connection, or to a
// successor, before it gives up.
const maxMoves = 8

// call calls a tool of the server that stands in the slot. It starts the server if that
// is necessary, and sees to it that the tool is what was offered.
func (sl *slot) call(ctx context.Context, o *listedTool, args json.RawMessage, opts *mcp.CallToolOptions) (*mcp.CallToolResult, error) {
	var res *mcp.CallToolResult
	err := errPanicked
	end := sl.meter.begin()
	defer func() { end(res, err) }()
	for range maxMoves {
		var moved bool
		if res, moved, err = sl.try(ctx, o, args, opts); !moved {
			break
		}
	}
	return res, err
}

// busy returns the error of a call with so many bytes of arguments that the client for ctx's
// user would refuse now, since too many wait, and counts that call. Without a client there
// is room: a call makes one.
func (sl *slot) busy(ctx context.Context, bytes int) error {
	s := sl.now()
	if s == nil {
		return nil
	}
	l := s.present(ctx)
	if l == nil || l.isEnded() {
		return nil
	}
	err := l.client.Busy(ctx, bytes)
	if err != nil {
		sl.meter.Count(meter.Refused)
	}
	return err
}

// present returns the conn for calls of ctx's user, or nil if there is none yet.
func (s *server) present(ctx context.Context) *conn {
	if s.perUser() {
		user, _ := session.UserOf(ctx)
		return s.host.pool.present(s, session.Key{User: user, Server: s.entry.Name})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// errPanicked is how a call ended whose progress function panicked.
var errPanicked = errors.New("the call panicked")

// try is one attempt of call. It reports whether the call has to go somewhere else: it
// was not sent, since its server or its connection ended.
func (sl *slot) try(ctx context.Context, o *listedTool, args json.RawMessage, opts *mcp.CallToolOptions) (res *mcp.CallToolResult, moved bool, err error) {
	s, err := sl.present()
	if err != nil {
		return nil, false, err
	}
	ctx, l, drop, err := s.connFor(ctx)
	if err != nil {
		return nil, errors.Is(err, errEnded), mcp.WithOutcome(err, mcp.NotSent)
	}
	defer drop()
	served := l.known.Load() != nil
	known, err := s.verify(ctx, l, o)
	if err != nil {
		return nil, s.disown(l, err) && served, err
	}
	with := mcp.CallToolOptions{}
	if opts != nil {
		with = *opts
	}
	with.Connection = known.connection
	res, err = l.client.CallTool(ctx, o.tool.Name, args, &with)
	moved = errors.Is(err, mcp.ErrOtherConnection) || s.disown(l, err) && served
	return res, moved && mcp.OutcomeOf(err) == mcp.NotSent, err
}

// connFor returns the conn for calls of ctx's user, taken, and the context to make
// them with.
func (s *server) connFor(ctx context.Context) (context.Context, *conn, func(), error) {
	if s.perUser() {
		user, ok := session.UserOf(ctx)
		if !ok || user == "" {
			return ctx, nil, nil, &NoUserError{Server: s.entry.Name}
		}
		l, err := s.host.pool.take(ctx, s, session.Key{User: user, Server: s.entry.Name})
		if err != nil {
			return ctx, nil, nil, err
		}
		return ctx, l, func() { s.host.pool.drop(l) }, nil
	}
	l, err := s.open()
	if err != nil {
		return ctx, nil, nil, err
	}
	// All users share the connection: no user's login goes over it.
	return onbehalf.Shared(ctx), l, func() { l.drop() }, nil
}

// verify returns the tools of the conn's present connection, and fails if o is not
// one of them.
func (s *server) verify(ctx context.Context, l *conn, o *listedTool) (*listing, error) {
	known := l.known.Load()
	state := l.client.State()
	var err error
	switch {
	case known == nil || state.Phase != mcp.Ready || known.connection != state.Connections:
		known, err = s.list(ctx, l)
	case known.version != state.ToolsVersion:
		known, err = s.listAnnounced(ctx, l, known, o)
	}
	if err != nil {
		return nil, err
	}
	err = known.check(s.entry.Name, l.key.User, o)
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
type NoUserError struct {
	Server string // configured name
}

func (e *NoUserError) Error() string {
	return fmt.Sprintf("server %q has a connection for each user: make the call under a context of session.WithUser", e.Server)
}

// Outcome returns [mcp.NotSent].
func (e *NoUserError) Outcome() mcp.Outcome { return mcp.NotSent }
