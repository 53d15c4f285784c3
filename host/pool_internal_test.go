package host

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// TestPoolGivesUpTheLinkOfAPredecessor: a user of the new server may come when that is
// in its place and the links of the old one are not ended yet. The old one's must not
// be lost sight of: it has a place, and a connection.
func TestPoolGivesUpTheLinkOfAPredecessor(t *testing.T) {
	h := New(&Options{StateDir: NoState, MaxUserClients: 2, IdleTimeout: -1, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: func(ctx context.Context, _ mcp.Transport) error { <-ctx.Done(); return ctx.Err() }}, nil
	}})
	sl := h.newSlot("s")
	serve := func() *server {
		s := sl.newServer(&config.Server{Name: "s", Command: "x", Transport: config.TransportStdio, Identity: config.IdentityUser, Enabled: true})
		s.start(true)
		return s
	}
	old, next := serve(), serve()
	key := session.Key{User: "anna", Server: "s"}
	was, err := h.pool.take(t.Context(), old, key)
	if err != nil {
		t.Fatal(err)
	}
	is, err := h.pool.take(t.Context(), next, key)
	if err != nil {
		t.Fatal(err)
	}
	if was.take() {
		t.Fatal("the predecessor's link can be taken")
	}
	old.retire(false)
	h.pool.drop(was)
	<-was.quiet
	if got := h.pool.at(next); len(got) != 1 || got[0] != is {
		t.Errorf("links of the successor: %v", got)
	}
	h.pool.drop(is)
	next.retire(true)
	h.ending.Wait()
	if n := len(h.pool.places); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
