package host

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// TestPoolGivesUpTheConnOfAPredecessor: a user of the new server may come when that is
// in its place and the conns of the old one are not ended yet. The old one's must not
// be lost sight of: it has a place, and a connection.
func TestPoolGivesUpTheConnOfAPredecessor(t *testing.T) {
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
	was := assert.Value(h.pool.take(t.Context(), old, key))(t)
	is := assert.Value(h.pool.take(t.Context(), next, key))(t)
	if was.take() {
		t.Fatal("the predecessor's conn can be taken")
	}
	old.retire(false)
	h.pool.drop(was)
	<-was.quiet
	if got := h.pool.at(next); len(got) != 1 || got[0] != is {
		t.Errorf("conns of the successor: %v", got)
	}
	h.pool.drop(is)
	next.retire(true)
	h.ending.Wait()
	assert.Equal(t, len(h.pool.all.places), 0, "places are still taken")
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestPoolMakesNoConnOfAStoppedServer: a server may be stopped while the headers of its
// user are asked for. Nobody would end that conn.
func TestPoolMakesNoConnOfAStoppedServer(t *testing.T) {
	var s *server
	h := New(&Options{StateDir: NoState, MaxUserClients: 1, IdleTimeout: -1, UserHeaders: func(context.Context, session.Key, *config.Server) (http.Header, error) {
		s.retire(true)
		return http.Header{"X-User": {"anna"}}, nil
	}})
	s = h.newSlot("s").newServer(&config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP, Identity: config.IdentityHeader, Enabled: true})
	s.start(true)
	if l, err := h.pool.take(t.Context(), s, session.Key{User: "anna", Server: "s"}); !errors.Is(err, errEnded) {
		t.Errorf("%v, %v", l, err)
	}
	if places, conns := len(h.pool.all.places), len(h.pool.at(s)); places != 0 || conns != 0 {
		t.Errorf("%d places, %d conns", places, conns)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestPoolExpelsWhoWasIdleLongest: who was here last may well be here next.
func TestPoolExpelsWhoWasIdleLongest(t *testing.T) {
	h := New(&Options{StateDir: NoState, MaxUserClients: 3, IdleTimeout: -1})
	s := h.newSlot("s").newServer(&config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP, Identity: config.IdentityUser, Enabled: true})
	s.start(true)
	for _, user := range []string{"anna", "berta", "clara", "anna", "dora"} {
		l := assert.Value(h.pool.take(t.Context(), s, session.Key{User: user, Server: "s"}))(t)
		h.pool.drop(l)
	}
	var users []string
	for _, l := range h.pool.at(s) {
		users = append(users, l.key.User)
	}
	slices.Sort(users)
	if want := []string{"anna", "clara", "dora"}; !slices.Equal(users, want) {
		t.Errorf("%q, want %q", users, want)
	}
	s.retire(true)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A negative MaxUserClients is no limit.
func TestPoolWithoutLimit(t *testing.T) {
	h := New(&Options{StateDir: NoState, MaxUserClients: -1})
	defer func() { _ = h.Close() }()
	server := h.pool.serverQuota()
	for range DefaultMaxUserClients + 1 {
		for name, r := range map[string]*quota{"all servers": h.pool.all, "one server": server} {
			select {
			case r.places <- struct{}{}:
			default:
				t.Fatalf("%s: got no place beyond %d, want no limit", name, len(r.places))
			}
		}
	}
}
