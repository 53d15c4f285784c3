// Tests of pool.go, who gets a place, and that none is lost; and of what else only the package sees.

package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// startServer returns a server that runs, in the place of the one before.
func startServer(sv *supervisor, e *config.Server) (*supervisor, *server) {
	s := sv.newServer(e)
	s.prepare()
	_, _, _ = sv.handle(context.Background(), lifecycle.Start, s)
	return sv, s
}

// TestPoolMakesNoConnOfAStoppedServer: a server may be stopped while the headers of its
// user are asked for. Nobody would end that conn.
func TestPoolMakesNoConnOfAStoppedServer(t *testing.T) {
	var sv *supervisor
	h := New(&Options{StateDir: NoState, MaxUserClients: 1, idleTimeout: -1, UserHeaders: func(context.Context, session.Key, *config.Server) (http.Header, error) {
		sv.host.inBackground(sv.place(lifecycle.Remove, nil))
		return http.Header{"X-User": {"anna"}}, nil
	}})
	sv = newSupervisor(&h.shared, "s")
	_, s := startServer(sv, &config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP, Identity: config.IdentityHeader})
	assert.Is(t, assert.Err(s.pool.take(t.Context(), "anna")), errEnded)
	assert.Equal(t, len(s.pool.places), 0)
	assert.Equal(t, len(s.pool.users()), 0)
	assert.OK(t, h.Close())
}

// TestPoolEvictsTheLongestIdle: who was here last may well be here next. A negative limit is none.
func TestPoolEvictsTheLongestIdle(t *testing.T) {
	h := New(&Options{StateDir: NoState, MaxUserClients: 3, idleTimeout: -1})
	sv, s := startServer(newSupervisor(&h.shared, "s"), &config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP, Identity: config.IdentityUser})
	for _, user := range []string{"anna", "berta", "clara", "anna", "dora"} {
		s.pool.drop(assert.Value(s.pool.take(t.Context(), user))(t))
	}
	assert.List(t, slices.Sorted(maps.Keys(s.pool.conns)), []string{"anna", "clara", "dora"})
	assert.Equal(t, New(&Options{StateDir: NoState, MaxUserClients: -1}).opts.MaxUserClients, math.MaxInt)
	_ = sv.place(lifecycle.Remove, nil)(t.Context())
	assert.OK(t, h.Close())
}

// TestPoolCounts: whatever becomes of those who want a place, each place is that of one
// conn, and nobody is thought to wait or to leave when all have done so.
func TestPoolCounts(t *testing.T) {
	h := New(&Options{
		StateDir: NoState, MaxUserClients: 3, idleTimeout: time.Microsecond,
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
	sv := newSupervisor(&h.shared, "s")
	var pools []*pool
	serve := func() {
		_, s := startServer(sv, &config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP, Identity: config.IdentityHeader})
		pools = append(pools, s.pool)
	}
	serve()
	use := func(user string) {
		defer func() { _ = recover() }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if rand.IntN(3) == 0 {
			defer time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, cancel).Stop()
		}
		s := sv.now()
		c, err := s.pool.take(ctx, user)
		if err != nil {
			return
		}
		c.client.Connect()
		switch rand.IntN(8) {
		case 0:
			s.pool.close(c, false)
		case 1:
			h.inBackground(s.pool.end())
		}
		s.pool.drop(c)
	}
	var wg, swapping sync.WaitGroup
	stop := make(chan struct{})
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				serve()
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
	if err := sv.place(lifecycle.Remove, nil)(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
		t.Log(err)
	}
	h.ending.Wait()
	for _, p := range pools {
		assert.Equal(t, fmt.Sprint(len(p.places), len(p.conns), p.waiting, p.leaving), "0 0 0 0", "places, conns, waiting, leaving")
	}
	h.cancel()
}

// TestPoolHasLeftWhenAPlaceIsTaken: who comes next must not count on a conn that is gone.
func TestPoolHasLeftWhenAPlaceIsTaken(t *testing.T) {
	h := New(&Options{StateDir: NoState, MaxUserClients: 1, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: func(ctx context.Context, _ mcp.Transport) error { <-ctx.Done(); return ctx.Err() }}, nil
	}})
	sv, s := startServer(newSupervisor(&h.shared, "s"), &config.Server{Name: "s", Command: "x", Transport: config.TransportStdio, Identity: config.IdentityUser})
	for i := range assert.Cases(200, 2000) {
		c := assert.Value(s.pool.take(t.Context(), fmt.Sprint(i)))(t)
		s.pool.mu.Lock()
		waiting, leaving := s.pool.waiting, s.pool.leaving
		s.pool.mu.Unlock()
		assert.Equal(t, [2]int{waiting, leaving}, [2]int{}, "the place")
		s.pool.drop(c)
	}
	h.inBackground(sv.place(lifecycle.Remove, nil))
	h.ending.Wait()
	h.cancel()
}

// Of two steps the one that was claimed last decides, also if the other begins later.
func TestEarlierStepCancelsNoLaterOne(t *testing.T) {
	h := New(&Options{StateDir: NoState})
	defer func() { _ = h.Close() }()
	entry := &config.Server{Name: "s", URL: "http://127.0.0.1:1", Transport: config.TransportHTTP}
	h.mu.Lock()
	earlier, later := h.claimLocked("s", nil, nil), h.claimLocked("s", entry, nil)
	h.mu.Unlock()
	assert.Value(later.supervisor.hold(t.Context(), later, func(own context.Context, _ *server) (wait, error) {
		later.supervisor.interrupt(earlier)
		return nil, own.Err()
	}))(t)
}

// Who does not answer is not asked at each attempt to start, but when a person wants it.
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
	s := &server{transport: guard}
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
