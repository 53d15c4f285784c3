package host

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

const (
	listRetryBase    = time.Second
	listRetryCeiling = 30 * time.Second
	// listTime bounds the first attempt to read in the background what a server has
	// announced. Each further one has twice the time of the one before, so that a slow
	// server is read in the end.
	listTime = 10 * time.Second
	// listPatience is how long a call waits for what a server has announced.
	listPatience = 5 * time.Second
)

// A follower keeps the tools listed as the state of the client for all users wants it.
type follower struct {
	server *server
	conn   *conn
	ctx    context.Context // ends with it
	cancel context.CancelFunc
	task   *again.Task // looks at the state
	stage  Stage       // told of last; of the task
}

// newFollower returns the follower of a conn whose client was not used yet.
func newFollower(s *server, c *conn) *follower {
	f := &follower{server: s, conn: c}
	f.ctx, f.cancel = context.WithCancel(s.host.ctx)
	f.task = again.New(f.look)
	c.client.OnChange(f.task.Wake)
	return f
}

func (f *follower) end() {
	f.cancel()
	f.task.End()
	f.server.settle()
}

// look does what the state asks for.
func (f *follower) look() {
	s, c, state := f.server, f.conn, f.conn.client.State()
	if state.Phase == mcp.Waiting {
		s.slot.meter.fail(s.entry, state.Err)
	}
	switch state.Phase {
	case mcp.Ready:
		s.keepListed(f.ctx, c, f.told)
	case mcp.Connecting:
		s.tools.lost()
	case mcp.Waiting:
		if denied := denial(state.Err); denied != nil {
			s.forbid(c, denied)
		}
		s.tools.lost()
		s.settle()
		c.listed()
	case mcp.Authenticating:
		// The tools stay: a call of one fails with the login that it wants.
		s.tools.keep()
		s.settle()
		c.listed()
	}
	f.told()
}

// told tells who watches the host, and the log if it is at another stage.
func (f *follower) told() {
	s := f.server
	s.host.broadcast()
	if now := s.status(); now.Stage != f.stage {
		s.host.events.Record(context.Background(), events.OfStage(s.entry.Name, string(f.stage), string(now.Stage), now.Err))
		f.stage = now.Stage
	}
}

// keepListed reads the tools of the server and takes them over. If that fails while
// the connection lasts it is tried again, with growing waits, and told is called.
func (s *server) keepListed(ctx context.Context, c *conn, told func()) {
	for attempt := 0; ; attempt++ {
		done := s.listOnce(ctx, c, listTime<<min(attempt, 6))
		s.settle()
		c.listed()
		if done {
			return
		}
		told()
		timer := time.NewTimer(backoff.Full(attempt, listRetryBase/2, listRetryBase, listRetryCeiling))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// listOnce reports whether there is nothing more to read for the present connection.
// Limit bounds the reading of what the server has announced.
func (s *server) listOnce(ctx context.Context, c *conn, limit time.Duration) bool {
	state := c.client.State()
	if state.Phase != mcp.Ready {
		return true
	}
	if known := c.known.Load(); known != nil && known.version == state.ToolsVersion {
		s.tools.keep()
		return s.tools.registryError() == nil || s.tools.update()
	}
	if _, err := s.listWithin(ctx, c, limit); err != nil {
		return ctx.Err() != nil
	}
	return s.tools.registryError() == nil
}

// A readFail is an attempt to read the tools that failed.
type readFail struct {
	at  time.Time
	err error
}

// list reads the tools by a conn, and takes them over if the conn is the one for
// all users. Tools that were read already are not read again, and a call that waits while
// another fails to read them fails with it.
func (s *server) list(ctx context.Context, c *conn) (*listing, error) {
	return s.listWithin(ctx, c, 0)
}

// listWithin is list, with a limit for the reading of tools in the place of others that
// the connection had; 0: none but that of any request.
func (s *server) listWithin(ctx context.Context, c *conn, limit time.Duration) (*listing, error) {
	came := time.Now()
	if err := c.client.Ready(ctx); err != nil {
		return nil, err
	}
	select {
	case c.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, mcp.WithOutcome(fmt.Errorf("server %q: listing the tools: %w", s.entry.Name, ctx.Err()), mcp.NotSent)
	}
	defer func() { <-c.reading }()
	state, before := c.client.State(), c.known.Load()
	anew := before != nil && before.connection == state.Connections
	if anew && before.version == state.ToolsVersion {
		return before, nil
	}
	if failed := c.unread.Load(); failed != nil && failed.at.After(came) {
		return nil, failed.err
	}
	reading := ctx
	if anew && limit > 0 {
		var stop context.CancelFunc
		reading, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	tools, err := c.client.Tools(reading)
	if err != nil {
		unread := fmt.Errorf("listing the tools: %w", err)
		err = mcp.WithOutcome(fmt.Errorf("server %q: %w", s.entry.Name, unread), mcp.NotSent)
		if ctx.Err() != nil {
			return nil, err
		}
		c.unread.Store(&readFail{time.Now(), err})
		s.slot.meter.fail(s.entry, unread)
		if c.follower != nil {
			s.tools.fail(unread, true)
		}
		return nil, err
	}
	known := newListing(state, c.client, tools)
	if c.follower != nil { // it is followed: the one for all users
		s.tools.put(known)
	}
	c.known.Store(known)
	if c.follower == nil { // nothing follows it and tells that it is connected
		s.host.broadcast()
	}
	return known, nil
}

// listAnnounced returns the tools that the server has announced in the place of those in
// before, as far as they can be read soon. Otherwise tool o is held back.
func (s *server) listAnnounced(ctx context.Context, c *conn, before *listing, o *listedTool) (*listing, error) {
	waiting, stop := context.WithTimeout(ctx, listPatience)
	defer stop()
	known, err := s.list(waiting, c)
	state := c.client.State()
	if err == nil || ctx.Err() != nil || state.Phase != mcp.Ready || state.Connections != before.connection {
		return known, err
	}
	origin := registry.Origin{Server: s.entry.Name, Tool: o.tool.Name}
	held := &registry.QuarantinedError{
		Name:   origin.Tool,
		Change: &ledger.Change{Server: origin.Server, Tool: origin.Tool, Kind: ledger.ToolUnread},
	}
	for _, t := range s.host.registry.Snapshot().Tools() {
		if d := t.Definition(); d.Origin == origin {
			held.Name = d.Name
		}
	}
	return nil, held
}
