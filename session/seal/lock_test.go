package seal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// leaser is a store that gives leases, and has no locks.
type leaser struct {
	storage.Store
	storage.Leaser
	dead atomic.Bool
}

func (l *leaser) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	if l.dead.Load() {
		return errors.New("dead")
	}
	return l.Leaser.RenewLease(ctx, name, number, ttl)
}

// A lock by a lease is held as long as it takes, by one alone, and ends soon after its process.
func TestLockByLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		open := func() (*seal.Store, *leaser) {
			l := &leaser{Store: memory, Leaser: memory.(storage.Leaser)}
			return assert.Value(seal.NewStore(t.Context(), l, seal.StaticKey("0123456789abcdef0123456789abcdef")))(t), l
		}
		a, place := open()
		b, _ := open()
		lock := func(s *seal.Store, name string) (unlock func(), took time.Duration) {
			t.Helper()
			began := time.Now()
			unlock = assert.Value(s.Lock(t.Context(), name))(t)
			return unlock, time.Since(began)
		}
		unlock, _ := lock(a, "x")
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.Is(t, assert.Err(b.Lock(short, "x")), context.DeadlineExceeded, "a lock that another one holds")
		other, _ := lock(b, "y")
		other()
		time.AfterFunc(5*time.Second, func() { unlock(); unlock() })
		second, took := lock(b, "x")
		assert.True(t, took <= 6*time.Second, "the lock is free after %v", took)
		second()
		last, _ := lock(a, "x")
		place.dead.Store(true)
		third, took := lock(b, "x")
		assert.True(t, 9*time.Second <= took && took <= 11*time.Second, "the lock of a dead process is free after %v", took)
		last()
		third()
	})
}
