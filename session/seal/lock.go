package seal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// lockFor is how long a lock by a lease outlives its process.
	lockFor    = 10 * time.Second
	lockRenew  = 3 * time.Second
	lockFirst  = 20 * time.Millisecond // between two attempts
	lockGrowth = 20 * time.Millisecond
	lockMost   = 500 * time.Millisecond
)

// Locks reports whether the driver is a storage.Locker or a storage.Leaser, so that Lock works. A nil or zero
// Store does not.
func (s *Store) Locks() bool {
	if s == nil {
		return false
	}
	_, locker := s.driver.(storage.Locker)
	_, leaser := s.driver.(storage.Leaser)
	return locker || leaser
}

// Lock implements [storage.Locker]: by the driver if it is one or, if it is a storage.Leaser, by a
// lease that is renewed, so that a lock ends 10 seconds after its process has died. Else the error
// wraps errors.ErrUnsupported.
func (s *Store) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	switch d := s.driver.(type) {
	case storage.Locker:
		unlock, err = d.Lock(ctx, name)
	case storage.Leaser:
		unlock, err = lockByLease(ctx, d, name)
	default:
		err = fmt.Errorf("the store cannot lock: %w", errors.ErrUnsupported)
	}
	return unlock, wrap(name, err)
}

// lockByLease waits for the lease of a name, and renews it until unlock is called.
func lockByLease(ctx context.Context, l storage.Leaser, name string) (unlock func(), err error) {
	var number int64
	for attempt := 0; ; attempt++ {
		if number, err = l.TakeLease(ctx, name, lockFor); !errors.Is(err, storage.ErrHeld) {
			break
		}
		if err := feed.Sleep(ctx, backoff.Full(attempt, lockFirst, lockGrowth, lockMost)); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	locked, end := context.WithCancel(context.WithoutCancel(ctx))
	released := make(chan struct{})
	go func() {
		defer close(released)
		for feed.Sleep(locked, lockRenew) == nil {
			asking, cancel := context.WithTimeout(locked, lockRenew)
			err := l.RenewLease(asking, name, number, lockFor)
			cancel()
			if errors.Is(err, storage.ErrLost) {
				return
			}
		}
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockRenew)
		defer cancel()
		_ = l.ReleaseLease(releasing, name, number) // if that fails it ends by itself
	}()
	return sync.OnceFunc(func() {
		end()
		<-released
	}), nil
}
