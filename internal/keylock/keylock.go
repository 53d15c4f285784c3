// Package keylock is a mutex for each of many names, with waits that a context
// bounds.
package keylock

import (
	"context"
	"sync"
)

// A Set has the locks that are held or waited for. The zero value is ready for use,
// and must not be copied.
type Set struct {
	mu    sync.Mutex
	locks map[string]*lock
}

type lock struct {
	free  chan struct{} // has a token while the lock is free
	users int           // callers that hold it or wait; guarded by Set.mu
}

// Lock waits until the lock of name is free, and takes it. If ctx ends first it
// returns ctx's error. Calls of unlock after the first do nothing.
func (s *Set) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := s.join(name)
	select {
	case <-l.free:
	case <-ctx.Done():
		s.leave(name, l)
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() {
		l.free <- struct{}{}
		s.leave(name, l)
	}), nil
}

func (s *Set) join(name string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.locks[name]
	if !ok {
		l = &lock{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		if s.locks == nil {
			s.locks = map[string]*lock{}
		}
		s.locks[name] = l
	}
	l.users++
	return l
}

func (s *Set) leave(name string, l *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.locks, name)
	}
}
