package session

import (
	"bytes"
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

// age makes the token of a session one that is due for renewal, for a server at
// url. No manager may know the session yet.
func age(ctx context.Context, s *seal.Store, key Key, url string, g auth.TokenSet) error {
	g.Token.Obtained = time.Now().Add(-50 * time.Minute)
	g.Token.Expires = time.Now().Add(10 * time.Minute)
	e := newEntry(&Manager{store: s}, key)
	_, err := e.change(ctx, func(r *record) *record {
		return r.with(func(r *record) { r.Grant, r.URL = &g, url })
	})
	return err
}

// A tiredDisk counts what is read of it, and after too much answers no more.
type tiredDisk struct {
	brokenDisk
	loads atomic.Int32
}

const tooMany = 200

func (d *tiredDisk) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if d.loads.Add(1) > tooMany {
		<-ctx.Done()
		return storage.Record{}, ctx.Err()
	}
	return d.brokenDisk.Load(ctx, name, known)
}

// What is due and cannot be done is tried again after a while, not at once.
func TestKeeperDoesNotSpin(t *testing.T) {
	const url = "https://mcp.example.com/mcp"
	for name, c := range map[string]struct {
		url     string // of the session
		saves   int32  // that fail
		removed bool   // the server from the configuration
	}{
		"server has moved":        {url: "https://old.example.com/mcp"},
		"disk is full":            {url: url, saves: -1},
		"server was taken away":   {url: url, removed: true},
		"moved, and disk is full": {url: "https://old.example.com/mcp", saves: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &tiredDisk{brokenDisk: brokenDisk{Store: storage.NewMemory()}}
				s := assert.Value(seal.NewStore(t.Context(), disk, seal.StaticKey(auth.Secret(bytes.Repeat([]byte{1}, seal.KeySize)))))(t)
				old := auth.TokenSet{Token: auth.Token{Access: "a", Type: "Bearer", Refresh: "r"}}
				assert.OK(t, age(t.Context(), s, alice, c.url, old))
				config := &auth.Config{Server: "s", URL: url}
				m := assert.Value(NewManager(s, &Options{Config: func(Key) (*auth.Config, error) {
					if c.removed {
						return nil, errors.New("not configured")
					}
					return config, nil
				}}))(t)
				defer m.Close()
				disk.fail.Store(c.saves)
				assert.Value(m.Status(t.Context(), alice))(t)
				time.Sleep(10 * time.Minute)
				switch n := disk.loads.Load(); {
				case n > tooMany:
					t.Error("the keeper does not rest")
				case n < 3:
					t.Errorf("the keeper has looked %d times", n)
				}
			})
		})
	}
}

// A server whose authorization server does not answer keeps no others from being
// served.
func TestKeeperServesOthersMeanwhile(t *testing.T) {
	hung, good := newWorld(t, nil, nil), newWorld(t, nil, nil)
	good.store = hung.store
	configs := map[string]*auth.Config{"hung": hung.config, "good": good.config}
	o := &Options{Config: func(k Key) (*auth.Config, error) { return configs[k.Server], nil }}
	key := Key{User: "alice", Server: "good"}
	var keys []Key
	for i := range 2 * maxRenewals {
		keys = append(keys, Key{User: string(rune('a' + i)), Server: "hung"})
	}
	m := hung.manager(o)
	good.mustLogIn(m, key)
	hung.mustLogIn(m, keys[0])
	old := hung.grantOf(m, keys[0])
	aged := *good.grantOf(m, key)
	_ = m.Close()
	for _, k := range keys {
		assert.OK(t, age(hung.ctx, hung.store, k, hung.config.URL, *old))
	}
	assert.OK(t, age(good.ctx, good.store, key, good.config.URL, aged))
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
		if good.grantOf(m, key).Token.Access != aged.Token.Access {
			return
		}
	}
	t.Error("one server has kept another from being served")
}

// However many are due, they are served one after the other without a rest.
func TestKeeperServesMany(t *testing.T) {
	const many = 50 * maxRenewals
	synctest.Test(t, func(t *testing.T) {
		s := Memory()
		config := &auth.Config{Server: "s", URL: "https://mcp.example.com/mcp"}
		m := assert.Value(NewManager(s, &Options{Config: func(Key) (*auth.Config, error) { return config, nil }}))(t)
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
			e := newEntry(&Manager{store: s}, Key{User: strconv.Itoa(i), Server: "s"})
			assert.Value(e.change(ctx, func(r *record) *record {
				return r.with(func(r *record) { r.URL, r.Header = config.URL, map[string]auth.Secret{"A": "b"} })
			}))(t)
		}
		time.Sleep(2 * lookBase)
		synctest.Wait()
		assert.Equal(t, told.Load(), many, "told")
	})
}

// That a session has ended is written down before anything is done about it.
func TestEndThatCannotBeWrittenDown(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.EndAll()
	disk.skip.Store(1) // the journal
	disk.fail.Store(1)
	before := w.as.Count(authtest.RegistrationEndpoint)
	assert.As[*StoreError](t, errOf(w.call(w.ctx, m, alice)))
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, [...]any{status.LoginURL, w.as.Count(authtest.RegistrationEndpoint)}, [...]any{"", before}, "status")
	w.mustNeedLogin(m, alice)
}
