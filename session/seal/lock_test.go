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
			l := &leaser{Store: memory, Leaser: memory}
			s := assert.Value(seal.NewStore(t.Context(), l, seal.StaticKey("0123456789abcdef0123456789abcdef")))(t)
			return s, l
		}
		a, place := open()
		b, _ := open()
		unlock, locked, err := a.Lock(t.Context(), "x")
		if err != nil || !locked {
			t.Fatalf("got %v, %v, want a lock", locked, err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, err := b.Lock(short, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v of a lock that another one holds, want that of the context", err)
		}
		if other, locked, err := b.Lock(t.Context(), "y"); err != nil || !locked {
			t.Errorf("got %v, %v of another name, want a lock", locked, err)
		} else {
			other()
		}
		began := time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			unlock()
			unlock()
		}()
		second, _, err := b.Lock(t.Context(), "x")
		took := time.Since(began)
		assert.OK(t, err)
		assert.Equal(t, took <= 6*time.Second, true, "took")
		second()
		last, _, err := a.Lock(t.Context(), "x")
		assert.OK(t, err)
		place.dead.Store(true)
		began = time.Now()
		third, _, err := b.Lock(t.Context(), "x")
		if took := time.Since(began); err != nil || took > 11*time.Second || took < 9*time.Second {
			t.Errorf("got %v after %v, want the lock 10s after the other process has died", err, took)
		}
		last()
		third()
	})
}
