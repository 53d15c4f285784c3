// Tests of pool.go: who gets a place, and that none is lost.

package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

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
	assert.False(t, was.take(), "the predecessor's conn can be taken")
	old.retire(false)
	h.pool.drop(was)
	<-was.quiet
	assert.Equal(t, fmt.Sprint(h.pool.at(next)), fmt.Sprint([]*conn{is}), "conns of the successor")
	h.pool.drop(is)
	next.retire(true)
	h.ending.Wait()
	assert.Equal(t, len(h.pool.all.places), 0, "places are still taken")
	assert.OK(t, h.Close())
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
	_, err := h.pool.take(t.Context(), s, session.Key{User: "anna", Server: "s"})
	assert.Is(t, err, errEnded)
	assert.Equal(t, len(h.pool.all.places), 0)
	assert.Equal(t, len(h.pool.at(s)), 0)
	assert.OK(t, h.Close())
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
	assert.Equal(t, fmt.Sprint(users), fmt.Sprint([]string{"anna", "clara", "dora"}))
	s.retire(true)
	assert.OK(t, h.Close())
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

// TestPoolCounts: whatever becomes of those who want a place, each place is that of one
// conn, and nobody is thought to wait or to leave when all have done so.
func TestPoolCounts(t *testing.T) {
	t.Run("one server", func(t *testing.T) { testPoolCounts(t, 3, false) })
	t.Run("one of several servers", func(t *testing.T) { testPoolCounts(t, 4, true) })
}

func testPoolCounts(t *testing.T, places int, several bool) {
	h := New(&Options{
		StateDir: NoState, MaxUserClients: places, IdleTimeout: time.Microsecond,
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: func(ctx context.Context, _ mcp.Transport) error { <-ctx.Done(); return ctx.Err() }}, nil
		},
		UserHeaders: func(ctx context.Context, _ session.Key, _ *config.Server) (http.Header, error) {
			switch rand.IntN(6) {
			case 0:
				return nil, errors.New("no headers")
			case 1:
				panic("no headers")
			}
			return http.Header{"X-User": {"u"}}, nil
		},
	})
	sl := h.newSlot("s")
	var quotas []*quota
	serve := func() *server {
		s := sl.newServer(&config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP, Identity: config.IdentityHeader, Enabled: true})
		s.start(true)
		quotas = append(quotas, s.quota)
		return s
	}
	sl.set(serve())
	if several {
		other := h.newSlot("other")
		other.set(other.newServer(&config.Server{Name: "other", Identity: config.IdentityUser}))
		h.slots["other"], h.order = other, []string{"other"}
	}
	use := func(user string) {
		defer func() { _ = recover() }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if rand.IntN(3) == 0 {
			defer time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, cancel).Stop()
		}
		s := sl.now()
		l, err := h.pool.take(ctx, s, session.Key{User: user, Server: "s"})
		if err != nil {
			return
		}
		l.client.Connect()
		switch rand.IntN(8) {
		case 0:
			h.pool.abandon(l)
		case 1:
			h.pool.retire(s)
		}
		h.pool.drop(l)
	}
	var wg, swapping sync.WaitGroup
	stop := make(chan struct{})
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				sl.swap(sl.now(), serve())
			}
		}
	})
	for range 12 {
		wg.Go(func() {
			for range assert.Cases(30, 150) {
				use(fmt.Sprint("u", rand.IntN(8)))
			}
		})
	}
	wg.Wait()
	close(stop)
	swapping.Wait()
	if err := sl.now().finish()(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
		t.Log(err)
	}
	h.ending.Wait()
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Equal(t, fmt.Sprint(len(p.all.places), len(p.conns), p.all.waiting, p.all.leaving), "0 0 0 0", "places, conns, waiting, leaving")
	for _, r := range quotas {
		assert.Equal(t, len(r.places), 0, "of one server")
		assert.Equal(t, r.waiting, 0, "of one server")
		assert.Equal(t, r.leaving, 0, "of one server")
	}
	h.cancel()
}

// TestPoolHasLeftWhenAPlaceIsTaken: who comes next must not count on a conn that is gone.
func TestPoolHasLeftWhenAPlaceIsTaken(t *testing.T) {
	h := New(&Options{StateDir: NoState, MaxUserClients: 1, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: func(ctx context.Context, _ mcp.Transport) error { <-ctx.Done(); return ctx.Err() }}, nil
	}})
	s := h.newSlot("s").newServer(&config.Server{Name: "s", Command: "x", Transport: config.TransportStdio, Identity: config.IdentityUser, Enabled: true})
	s.start(true)
	for i := range assert.Cases(200, 2000) {
		l := assert.Value(h.pool.take(t.Context(), s, session.Key{User: fmt.Sprint(i), Server: "s"}))(t)
		h.pool.mu.Lock()
		waiting, leaving := h.pool.all.waiting, h.pool.all.leaving
		h.pool.mu.Unlock()
		assert.Equal(t, waiting, 0, "the place")
		assert.Equal(t, leaving, 0, "the place")
		h.pool.drop(l)
	}
	s.retire(true)
	h.ending.Wait()
	h.cancel()
}

// Who does not answer is not asked at each attempt to start, but when somebody wants it.
func TestRefusedAnswer(t *testing.T) {
	text := `{"inputs":[{"id":"i","type":"promptString"}],"servers":{"a":{"url":"https://x/","headers":{"X":"${input:i}"}}}}`
	asked, willing := 0, false
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(text), &config.Options{Scope: config.ScopeProject,
		Input: func(context.Context, config.Input) (config.Secret, error) {
			asked++
			if !willing {
				return "", errors.New("the window was closed")
			}
			return "said", nil
		}}))(t)
	made := 0
	h := New(&Options{StateDir: NoState})
	defer func() { _ = h.Close() }()
	guard := assert.Value(h.guard(c.Servers[0], func(e *config.Server) (mcp.Transport, error) {
		made++
		return &transport.HTTP{URL: e.Headers["X"].Reveal()}, nil
	}))(t)
	s := &server{transport: func() (mcp.Transport, error) { return guard, nil }}
	g := guard.(*guarded)
	for range 3 {
		_, _, err := g.transport(t.Context())
		assert.Is(t, err, config.ErrNotAnswered)
	}
	assert.Equal(t, asked, 1, "asked times")
	willing = true
	s.askAgain()
	for range 3 {
		inner, e, err := g.transport(t.Context())
		assert.OK(t, err)
		h, ok := inner.(*transport.HTTP)
		assert.True(t, ok, "ok")
		assert.Equal(t, h.URL, "said")
		assert.Equal(t, e.Headers["X"], "said")
	}
	assert.Equal(t, asked, 2, "asked")
	assert.Equal(t, made, 1, "asked")
	(&server{}).askAgain() // not started
}
