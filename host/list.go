package host

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/feed"
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

// follow has the tools be listed as the state of a conn, the one for all users, wants it. Its client was not used yet.
func (s *server) follow(c *conn) {
	c.ctx, c.cancel = context.WithCancel(s.host.ctx)
	c.follower = again.New(func() { s.look(c) })
	c.client.OnChange(c.follower.Wake)
}

// look does what the state asks for.
func (s *server) look(c *conn) {
	switch state := c.client.State(); state.Phase {
	case mcp.Ready:
		s.keepListed(c)
	case mcp.Connecting:
		s.loseTools()
	case mcp.Waiting:
		s.target.meter.fail(s.entry, state.Err)
		s.refuse(c)
		s.loseTools()
		s.pool.attempted(c)
	case mcp.Authenticating:
		s.keepTools() // a call of one fails with the login that it wants
		s.pool.attempted(c)
	}
	s.tell(c)
}

// tell tells who watches the host, and the log if the server is at another stage.
func (s *server) tell(c *conn) {
	s.host.changed.Ring()
	if now := s.status(); string(now.Stage) != c.stage {
		s.host.events.Record(context.Background(), events.OfStage(s.entry.Name, c.stage, string(now.Stage), now.Err))
		c.stage = string(now.Stage)
	}
}

// keepListed reads the tools of the server and takes them over. If that fails while
// the connection lasts it is tried again, with growing waits.
func (s *server) keepListed(c *conn) {
	for attempt := 0; ; attempt++ {
		done := s.listOnce(c.ctx, c, listTime<<min(attempt, 6))
		s.pool.attempted(c)
		if done {
			return
		}
		s.tell(c)
		if feed.Sleep(c.ctx, backoff.Full(attempt, listRetryBase/2, listRetryBase, listRetryCeiling)) != nil {
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
	if known := c.known.Load(); known == nil || known.version != state.ToolsVersion {
		if _, err := s.list(ctx, c, limit); err != nil {
			return ctx.Err() != nil
		}
		return s.inRegistry()
	}
	s.keepTools()
	return s.inRegistry() || s.update()
}

// inRegistry reports whether the registry could take over the tools.
func (s *server) inRegistry() bool {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	return s.registryErr == nil
}

// list reads the tools by a conn, and takes them over if the conn is the one for
// all users. Tools that were read already are not read again, and a call that waits while
// another fails to read them fails with it. Limit bounds the reading of tools in the place of
// others that the connection had; 0: as any request is.
func (s *server) list(ctx context.Context, c *conn, limit time.Duration) (*listing, error) {
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
		s.target.meter.fail(s.entry, unread)
		if c.follower != nil {
			s.listFailed(unread, true)
		}
		return nil, err
	}
	known := newListing(state, c.client, tools)
	if c.follower != nil { // it is followed: the one for all users
		s.takeOver(known)
	}
	c.known.Store(known)
	s.host.changed.Ring()
	return known, nil
}

// listAnnounced returns the tools that the server has announced in the place of those in
// before, as far as they can be read soon. Otherwise tool o is held back.
func (s *server) listAnnounced(ctx context.Context, c *conn, before *listing, o *listedTool) (*listing, error) {
	waiting, stop := context.WithTimeout(ctx, listPatience)
	defer stop()
	known, err := s.list(waiting, c, 0)
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

// refuse ends a conn, which may be nil, that must not be connected again, since it is not allowed any
// more, and takes the tools out of the registry.
func (s *server) refuse(c *conn) {
	t := s.target
	t.publishing.Lock()
	defer t.publishing.Unlock()
	if c == nil || s.running() != c {
		return
	}
	denied := denial(c.client.State().Err)
	if denied == nil {
		return
	}
	s.withdraw() // before the status says that it does not run
	t.mu.Lock()
	s.err = denied
	if t.server == s {
		t.state = lifecycle.Next(t.state, lifecycle.Refuse).To
	}
	t.mu.Unlock()
	s.pool.close(c, false)
}
