package session

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A brokenDisk is a driver that fails to save when it is told to.
type brokenDisk struct {
	storage.Store
	fail atomic.Int32 // saves to fail; negative: all
	skip atomic.Int32 // saves that succeed before
}

var errDisk = errors.New("no space left")

func (d *brokenDisk) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if d.skip.Load() > 0 {
		d.skip.Add(-1)
		return d.Store.Save(ctx, name, data, old)
	}
	if n := d.fail.Load(); n != 0 {
		if n > 0 {
			d.fail.Add(-1)
		}
		return "", errDisk
	}
	return d.Store.Save(ctx, name, data, old)
}

func (d *brokenDisk) Lock(ctx context.Context, name string) (func(), error) {
	return d.Store.(storage.Locker).Lock(ctx, name)
}

// keepIn makes d the driver of the world's store.
func (w *world) keepIn(d storage.Store) {
	w.t.Helper()
	s := assert.Value(seal.NewStore(w.ctx, d, seal.StaticKey(auth.Secret(bytes.Repeat([]byte{1}, seal.KeySize)))))(w.t)
	w.store = s
}

func (w *world) breakable() *brokenDisk {
	w.t.Helper()
	d := &brokenDisk{Store: storage.NewMemory()}
	w.keepIn(d)
	return d
}

func TestNothingIsSentThatCannotBeWrittenDown(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	disk.fail.Store(-1)
	before := w.as.Count(authtest.TokenEndpoint)
	_, err := w.call(w.ctx, m, alice)
	assert.As[*StoreError](t, err)
	assert.Is(t, err, errDisk)
	assert.Equal(t, w.as.Count(authtest.TokenEndpoint), before, "a refresh token was sent that nobody could have replaced")
	disk.fail.Store(0)
	w.mustCall(m, alice)
}

func TestAnswerIsSavedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	disk.skip.Store(1) // the journal
	disk.fail.Store(3)
	w.mustCall(m, alice)
	assert.Equal(t, disk.fail.Load(), 0, "the token was used before it was saved")
	assert.Equal(t, w.as.Granted("refresh_token"), 1, "refreshes")
}

// An answer that cannot be saved before Close is lost, and the journal tells so.
func TestAnswerThatIsNeverSaved(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	disk.skip.Store(1)
	disk.fail.Store(-1)
	ctx, giveUp := context.WithCancel(w.ctx)
	gone := make(chan error, 1)
	before := w.as.Count(authtest.TokenEndpoint)
	go func() { _, err := w.call(ctx, m, alice); gone <- err }()
	assert.OK(t, w.as.Await(w.ctx, authtest.TokenEndpoint, before+1))
	giveUp()
	<-gone
	_ = m.Close()
	disk.fail.Store(0)
	m = w.manager(nil)
	assert.Equal(t, w.mustNeedLogin(m, alice).Reason, "the answer to an earlier renewal was lost", "reason")
}
