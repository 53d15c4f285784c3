package session

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// makeDue gives a session a token that is due for renewal, for a server at url.
func makeDue(t *testing.T, s *seal.Store, key Key, url string, g auth.TokenSet) {
	t.Helper()
	g.Token.Obtained, g.Token.Expires = time.Now().Add(-50*time.Minute), time.Now().Add(10*time.Minute)
	alter(t, s, key, func(r *record) { r.Grant, r.URL = &g, url })
}

// What is due and cannot be done is tried again after a while, not at once.
func TestKeeperDoesNotSpin(t *testing.T) {
	const here, old = "https://mcp.example.com/mcp", "https://old.example.com/mcp"
	for name, test := range map[string]struct {
		url     string // of the session
		saves   int32  // that fail
		removed bool   // the server from the configuration
	}{
		"server has moved":        {url: old},
		"disk is full":            {url: here, saves: -1},
		"server was taken away":   {url: here, removed: true},
		"moved, and disk is full": {url: old, saves: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &testStore{Store: storage.NewMemory()}
				s := sealed(t, disk)
				makeDue(t, s, alice, test.url, auth.TokenSet{Token: auth.Token{Access: "a", Type: "Bearer", Refresh: "r"}})
				config := &auth.Config{Server: "s", URL: here}
				m := assert.Value(NewManager(s, &Options{Config: func(Key) (*auth.Config, error) {
					if test.removed {
						return nil, errors.New("not configured")
					}
					return config, nil
				}}))(t)
				defer m.Close()
				disk.fail.Store(test.saves)
				disk.load = func(ctx context.Context) error {
					if disk.loads.Load() > 200 { // else a keeper that spins would hang the bubble
						<-ctx.Done()
					}
					return ctx.Err()
				}
				assert.Value(m.Status(t.Context(), alice))(t)
				time.Sleep(10 * time.Minute)
				n := disk.loads.Load()
				assert.True(t, n >= 3 && n <= 200, "the keeper has looked now and then, %d times", n)
			})
		})
	}
}

// A server whose authorization server does not answer keeps no others from being
// served.
func TestKeeperServesOthersMeanwhile(t *testing.T) {
	hung, good := newEnv(t, nil, nil), newEnv(t, nil, nil)
	good.store = hung.store
	configs := map[string]*auth.Config{"hung": hung.config, "good": good.config}
	o := &Options{Config: func(k Key) (*auth.Config, error) { return configs[k.Server], nil }}
	key := Key{User: "alice", Server: "good"}
	var keys []Key
	for i := range 2 * maxRenewals {
		keys = append(keys, Key{User: strconv.Itoa(i), Server: "hung"})
	}
	m := hung.manager(o)
	good.mustLogIn(m, key)
	hung.mustLogIn(m, keys[0])
	old, due := *hung.grantOf(m, keys[0]), *good.grantOf(m, key)
	assert.OK(t, m.Close())
	for _, k := range keys {
		makeDue(t, hung.store, k, hung.config.URL, old)
	}
	makeDue(t, good.store, key, good.config.URL, due)
	release := make(chan struct{})
	defer close(release)
	hung.as.Fail(authtest.TokenEndpoint, -1, authtest.Fault{Wait: release, Status: 503})
	before := hung.as.Count(authtest.TokenEndpoint)
	m = hung.manager(o)
	for _, k := range keys {
		assert.Value(m.Status(hung.ctx, k))(t)
	}
	assert.OK(t, hung.as.Await(hung.ctx, authtest.TokenEndpoint, before+maxRenewals))
	for range m.Watch(good.ctx, key) {
		if good.tokenOf(m, key) != due.Token.Access {
			return
		}
	}
	t.Error("one server has kept another from being served")
}

// However many are due, they are served one after the other without a rest.
func TestKeeperServesMany(t *testing.T) {
	const many = 5 * maxRenewals
	synctest.Test(t, func(t *testing.T) {
		s := Memory()
		m, config := newOffline(t, s)
		defer m.Close()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var told atomic.Int32
		for i := range many {
			go func() {
				for status := range m.Watch(ctx, Key{User: strconv.Itoa(i), Server: "s"}) {
					if status.Phase == LoggedIn {
						told.Add(1)
					}
				}
			}()
		}
		synctest.Wait()
		for i := range many {
			alter(t, s, Key{User: strconv.Itoa(i), Server: "s"}, func(r *record) {
				r.URL, r.Header = config.URL, map[string]auth.Secret{"A": "b"}
			})
		}
		time.Sleep(2 * lookBase)
		synctest.Wait()
		assert.Equal(t, told.Load(), many, "sessions that were told in time")
	})
}
