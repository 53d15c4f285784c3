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

// Lock locks a name across processes, until unlock is called: by the driver if it is a
// storage.Locker or, if it is a storage.Leaser, by a lease that is renewed, so that a lock ends 10
// seconds after its process has died. If it is neither, locked is false and unlock does nothing.
func (s *Store) Lock(ctx context.Context, name string) (unlock func(), locked bool, err error) {
	if err := s.check(name); err != nil {
		return nil, false, err
	}
	switch d := s.driver.(type) {
	case storage.Locker:
		unlock, err = d.Lock(ctx, name)
	case storage.Leaser:
		unlock, err = lockByLease(ctx, d, name)
	default:
		return func() {}, false, nil
	}
	if err != nil {
		return nil, false, wrap(name, err)
	}
	return unlock, true, nil
}

// leaser returns the driver, if it gives leases.
func (s *Store) leaser(name string) (storage.Leaser, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	if l, ok := s.driver.(storage.Leaser); ok {
		return l, nil
	}
	return nil, wrap(name, fmt.Errorf("the store gives no leases: %w", errors.ErrUnsupported))
}

// TakeLease takes a lease of the driver, if it is a storage.Leaser; names are not sealed. Else the error wraps
// errors.ErrUnsupported, as that of RenewLease and ReleaseLease does.
func (s *Store) TakeLease(ctx context.Context, name string, ttl time.Duration) (number int64, err error) {
	l, err := s.leaser(name)
	if err != nil {
		return 0, err
	}
	number, err = l.TakeLease(ctx, name, ttl)
	return number, wrap(name, err)
}

// RenewLease renews a lease of the driver.
func (s *Store) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	l, err := s.leaser(name)
	if err != nil {
		return err
	}
	return wrap(name, l.RenewLease(ctx, name, number, ttl))
}

// ReleaseLease ends a lease of the driver.
func (s *Store) ReleaseLease(ctx context.Context, name string, number int64) error {
	l, err := s.leaser(name)
	if err != nil {
		return err
	}
	return wrap(name, l.ReleaseLease(ctx, name, number))
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
