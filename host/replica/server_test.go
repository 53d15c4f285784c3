package replica_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A cluster is some replicas that reach each other in memory.
type cluster struct {
	store    storage.Store
	mu       sync.Mutex
	handlers map[string]http.Handler // by host
	lost     []string                // servers that had to end, with the host
}

// RoundTrip implements http.RoundTripper.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	h := c.handlers[r.URL.Host]
	c.mu.Unlock()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// leasingStore is a store of one replica, which may be cut off, or hang.
type leasingStore struct {
	stuckStore
	storage.Leaser
	hangs atomic.Bool
}

func (s *leasingStore) TakeLease(ctx context.Context, name string, ttl time.Duration) (int64, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Leaser.TakeLease(ctx, name, ttl)
}

func (s *leasingStore) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	if s.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.dead.Load() {
		return errDead
	}
	return s.Leaser.RenewLease(ctx, name, number, ttl)
}

// add adds a replica, whose servers say where they run.
func (c *cluster) add(t *testing.T, host string) (*replica.Member, *leasingStore) {
	t.Helper()
	store := &leasingStore{stuckStore: stuckStore{Store: c.store}, Leaser: c.store.(storage.Leaser)}
	m := assert.Value(replica.Join(t.Context(), store, &replica.Options{
		URL: "http://" + host,
		Servers: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s at %s%s", r.URL.Path, host, r.Header.Get("Authorization"))
		}),
		Lost: func(server string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lost = append(c.lost, server+" at "+host)
		},
	}))(t)
	m.SetProxy(c)
	c.mu.Lock()
	c.handlers[host] = m.Handler(http.NotFoundHandler())
	c.mu.Unlock()
	t.Cleanup(func() {
		store.dead.Store(false)
		store.hangs.Store(false)
		assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil)
	})
	return m, store
}

// ask asks for a server by a replica, and returns the status and what was answered.
func (c *cluster) ask(t *testing.T, m *replica.Member, server string) string {
	t.Helper()
	address, authorization := m.ServerURL(server)
	u := assert.Value(url.Parse(address))(t)
	req := httptest.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader("{}"))
	req.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	c.handlers[u.Host].ServeHTTP(w, req)
	return fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String()))
}

// A server runs on one replica, whichever is asked, and on another one when that has died or left.
func TestServerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{store: storage.NewMemory(), handlers: map[string]http.Handler{}}
		a, place := c.add(t, "a")
		b, _ := c.add(t, "b")
		settled()
		for _, m := range []*replica.Member{a, b, b, a} {
			assert.Equal(t, c.ask(t, m, "notes"), "200 /s/notes/mcp at a")
		}
		assert.Equal(t, c.ask(t, b, "other"), "200 /s/other/mcp at b")
		time.Sleep(time.Hour) // the leases are renewed
		synctest.Wait()
		assert.Equal(t, c.ask(t, b, "notes"), "200 /s/notes/mcp at a")
		place.dead.Store(true)
		time.Sleep(40 * time.Second)
		synctest.Wait()
		assert.Equal(t, fmt.Sprint(c.lost), fmt.Sprint([]string{"notes at a"}), "as lost")
		for _, m := range []*replica.Member{b, b} {
			assert.Equal(t, c.ask(t, m, "notes"), "200 /s/notes/mcp at b")
		}
		assert.Equal(t, c.ask(t, a, "notes"), "503 no replica runs the server at the moment", "of a replica without store")
		place.dead.Store(false)
		settled()
		assert.Equal(t, c.ask(t, a, "notes"), "200 /s/notes/mcp at b")
		assert.Equal(t, b.Close(t.Context()), nil)
		assert.Equal(t, c.ask(t, a, "notes"), "200 /s/notes/mcp at a", "after the other has left")
	})
}

// A replica whose store hangs serves a server no longer than its lease lasts, and answers soon.
func TestServerWhileStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{store: storage.NewMemory(), handlers: map[string]http.Handler{}}
		a, place := c.add(t, "a")
		assert.Equal(t, c.ask(t, a, "notes"), "200 /s/notes/mcp at a")
		place.hangs.Store(true)
		began := time.Now()
		for c.ask(t, a, "notes") == "200 /s/notes/mcp at a" {
			took := time.Since(began)
			assert.True(t, took <= 20*time.Second, "it is served %v after its lease was taken, at most 20 s", took)
			time.Sleep(100 * time.Millisecond)
		}
		took := time.Since(began)
		assert.True(t, took <= 26*time.Second, "the refusal came after %v, at most 20 s for the lease and 5 s for the store", took)
	})
}

func TestServerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{store: storage.NewMemory(), handlers: map[string]http.Handler{}}
		a, _ := c.add(t, "a")
		_, authorization := a.ServerURL("notes")
		for _, test := range []struct {
			path, authorization string
			want                int
		}{
			{"/replica/s/notes/mcp", "", 401},
			{"/replica/s/notes/mcp", "Bearer ", 401},
			{"/replica/s/notes/mcp", authorization + "x", 401},
			{"/replica/s/notes/../mcp", authorization, 404},
			{"/replica/s//mcp", authorization, 404},
			{"/replica/s/notes/mcp/tools/list", authorization, 404},
			{"/replica/s/notes/mcp", authorization, 200},
		} {
			req := httptest.NewRequestWithContext(t.Context(), "POST", "http://a"+test.path, nil)
			req.Header.Set("Authorization", test.authorization)
			w := httptest.NewRecorder()
			c.handlers["a"].ServeHTTP(w, req)
			assert.Equal(t, w.Code, test.want, "%s: the status", test.path)
			assert.Lacks(t, w.Body.String(), strings.TrimPrefix(authorization, "Bearer "), "%s: the secret in", test.path)
		}
	})
}
