package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

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
			for range 150 {
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
	if len(p.all.places) != 0 || len(p.conns) != 0 || p.all.waiting != 0 || p.all.leaving != 0 {
		t.Errorf("%d places, %d conns, %d waiting, %d leaving", len(p.all.places), len(p.conns), p.all.waiting, p.all.leaving)
	}
	for _, r := range quotas {
		if len(r.places) != 0 || r.waiting != 0 || r.leaving != 0 {
			t.Errorf("of one server: %d places, %d waiting, %d leaving", len(r.places), r.waiting, r.leaving)
		}
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
	for i := range 2000 {
		l := assert.Value(h.pool.take(t.Context(), s, session.Key{User: fmt.Sprint(i), Server: "s"}))(t)
		h.pool.mu.Lock()
		waiting, leaving := h.pool.all.waiting, h.pool.all.leaving
		h.pool.mu.Unlock()
		if waiting != 0 || leaving != 0 {
			t.Fatalf("the place of %d is taken, with %d waiting and %d leaving", i, waiting, leaving)
		}
		h.pool.drop(l)
	}
	s.retire(true)
	h.ending.Wait()
	h.cancel()
}
