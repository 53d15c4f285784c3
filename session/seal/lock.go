package seal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
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
		if number, err = l.TakeLease(ctx, name, lockFor); err == nil {
			break
		}
		if !errors.Is(err, storage.ErrHeld) {
			return nil, err
		}
		timer := time.NewTimer(backoff.Full(attempt, lockFirst, lockGrowth, lockMost))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
	unlocked, released := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(released)
		ticker := time.NewTicker(lockRenew)
		defer ticker.Stop()
		ask := func(do func(context.Context) error) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockRenew)
			defer cancel()
			return do(ctx)
		}
		for {
			select {
			case <-unlocked:
				// If that fails it ends by itself.
				_ = ask(func(ctx context.Context) error { return l.ReleaseLease(ctx, name, number) })
				return
			case <-ticker.C:
				err := ask(func(ctx context.Context) error { return l.RenewLease(ctx, name, number, lockFor) })
				if errors.Is(err, storage.ErrLost) {
					<-unlocked
					return
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(unlocked)
		<-released
	}), nil
}
