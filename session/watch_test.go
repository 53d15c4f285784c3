package session

import (
	"bytes"
	"context"
	"errors"
	"iter"
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

// A deafDisk cannot be read when it is told so.
type deafDisk struct {
	brokenDisk
	deaf atomic.Bool
}

func (d *deafDisk) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if d.deaf.Load() {
		return storage.Record{}, errDisk
	}
	return d.brokenDisk.Load(ctx, name, known)
}

// watching runs f in a bubble, with what Watch yields of alice's session, which
// is r at first. A deaf disk is so from then on.
func watching(t *testing.T, deaf bool, r func(*record), f func(disk *deafDisk, next func() (Status, bool))) {
	synctest.Test(t, func(t *testing.T) {
		disk := &deafDisk{brokenDisk: brokenDisk{Store: storage.NewMemory()}}
		s := assert.Value(seal.NewStore(t.Context(), disk, seal.StaticKey(auth.Secret(bytes.Repeat([]byte{1}, seal.KeySize)))))(t)
		config := &auth.Config{Server: "s", URL: "https://mcp.example.com/mcp"}
		m := assert.Value(NewManager(s, &Options{Config: func(Key) (*auth.Config, error) { return config, nil }}))(t)
		defer m.Close()
		assert.Value(newEntry(m, alice).change(t.Context(), func(old *record) *record {
			return old.with(func(n *record) { n.URL = config.URL; r(n) })
		}))(t)
		assert.Value(m.Status(t.Context(), alice))(t)
		disk.deaf.Store(deaf)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		next, end := iter.Pull(m.Watch(ctx, alice))
		defer end()
		f(disk, next)
	})
}

// A login that nobody has answered in time is over without anybody's doing.
func TestWatchSeesALoginExpire(t *testing.T) {
	pending := func(r *record) { r.Login = &login{Name: "x", URL: "https://a/", Expires: time.Now().Add(time.Minute)} }
	watching(t, false, pending, func(_ *deafDisk, next func() (Status, bool)) {
		s, _ := next()
		assert.Equal(t, s.Phase, LoginPending)
		if s, ok := next(); !ok || s.Phase != LoggedOut {
			t.Errorf("%+v", s)
		}
	})
}

func TestWatchSeesATokenEnd(t *testing.T) {
	short := func(r *record) {
		r.Grant = &auth.TokenSet{Token: auth.Token{Access: "a", Type: "Bearer", Obtained: time.Now(), Expires: time.Now().Add(time.Minute)}}
	}
	watching(t, false, short, func(_ *deafDisk, next func() (Status, bool)) {
		s, _ := next()
		assert.Equal(t, s.Phase, LoggedIn)
		if s, ok := next(); !ok || s.Phase != LoggedOut || s.Reason == "" {
			t.Errorf("%+v", s)
		}
	})
}

// A store that could not be read for a while leaves no wrong status behind.
func TestWatchGetsOverAnError(t *testing.T) {
	out := func(r *record) { r.DeclinedReason = loggedOut }
	watching(t, true, out, func(disk *deafDisk, next func() (Status, bool)) {
		if s, _ := next(); s.Reason == "" || s.Reason == loggedOut {
			t.Fatalf("%+v", s)
		}
		time.AfterFunc(time.Minute, func() { disk.deaf.Store(false) })
		s, ok := next()
		assert.Equal(t, [...]any{ok, s.Reason}, [...]any{true, loggedOut})
	})
}

// The journal of a machine whose clock is ahead keeps the others away for the
// time of a request, not until their clocks are there.
func TestJournalOfTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := assert.Value(seal.NewStore(t.Context(), noLocks{storage.NewMemory()}, seal.StaticKey(auth.Secret(bytes.Repeat([]byte{1}, seal.KeySize)))))(t)
		e := newEntry(&Manager{store: s}, alice)
		assert.Value(e.change(t.Context(), func(r *record) *record {
			return r.with(func(r *record) {
				r.Journal = &journal{Started: time.Now().Add(24 * time.Hour), Holder: "another", Refresh: "x"}
			})
		}))(t)
		ctx, stop := context.WithTimeout(t.Context(), workTime)
		defer stop()
		r, at, err := e.load(ctx)
		assert.OK(t, err)
		began := time.Now()
		_, _, err = e.awaitLease(ctx, r, at)
		assert.OK(t, err)
		assert.Equal(t, errors.Is(err, context.DeadlineExceeded), false, "errors")
		assert.Equal(t, time.Since(began) >= leaseTime, true, "it is not believed at all")
	})
}

// Somebody who looks after sessions sees which ones cannot be renewed, and why.
func TestStatusTellsOfFailures(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 503})
	assert.As[*RefreshError](t, errOf(w.call(w.ctx, m, alice)))
	var refused *auth.OAuthError
	status, err := m.Status(w.ctx, alice)
	if err != nil || status.Phase != LoggedIn || !errors.As(status.Err, &refused) || refused.Status != 503 {
		t.Errorf("status %+v, error %v", status, err)
	}
	w.mustCall(w.manager(nil), alice) // another process, which need not wait
	assert.OK(t, assert.Value(m.Status(w.ctx, alice))(t).Err)
}
