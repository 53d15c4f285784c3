package main

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"
)

const (
	maxOffices = 100              // that are open at one time on a replica
	idleAfter  = 10 * time.Minute // one that is not in use for so long is closed
)

var errFull = errors.New("too many users are here now, try again soon")

// offices are the offices that are open on a replica. One is opened when its user first needs it, stays open
// while it is in use (by a request, or by an agent whose calls may wait), and closes when it is idle, or its place
// is needed. Nothing is lost by that: the user's next request opens it again, here or on another replica.
type offices struct {
	open func(user string) (*office, error)

	mu      sync.Mutex // guards the following
	rooms   map[string]*room
	closing sync.WaitGroup
}

// A room is an office that is open, being opened, or could not be.
type room struct {
	get  func() (*office, error) // opens it once
	uses int
	used time.Time // when the last use ended
}

// use returns the office of a user, and what is called when it is not needed any more.
func (s *offices) use(user string) (*office, func(), error) {
	s.mu.Lock()
	r := s.rooms[user]
	if r == nil {
		if len(s.rooms) >= maxOffices && !s.closeIdle(0, 1) {
			s.mu.Unlock()
			return nil, nil, errFull
		}
		r = &room{get: sync.OnceValues(func() (*office, error) { return s.open(user) })}
		s.rooms[user] = r
	}
	r.uses++
	s.mu.Unlock()
	o, err := r.get()
	done := sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.uses--
		r.used = time.Now()
		if err != nil && s.rooms[user] == r {
			delete(s.rooms, user) // the next request tries again
		}
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	return o, done, nil
}

// closeIdle closes at most n offices that have not been used for an age, in the background, those that were used last
// at the end. It reports whether there was one. The caller holds the lock.
func (s *offices) closeIdle(age time.Duration, n int) bool {
	found := false
	for ; n > 0; n-- {
		oldest := ""
		for user, r := range s.rooms {
			if r.uses == 0 && time.Since(r.used) >= age && (oldest == "" || r.used.Before(s.rooms[oldest].used)) {
				oldest = user
			}
		}
		if oldest == "" {
			break
		}
		r := s.rooms[oldest]
		delete(s.rooms, oldest)
		found = true
		s.closing.Go(func() {
			if o, err := r.get(); err == nil {
				if err := o.close(); err != nil {
					log.Print(err)
				}
			}
		})
	}
	return found
}

// sweep closes idle offices until ctx ends.
func (s *offices) sweep(ctx context.Context) {
	ticker := time.NewTicker(idleAfter / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mu.Lock()
			s.closeIdle(idleAfter, maxOffices)
			s.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// close closes all offices, none of which is in use, and returns when they are closed.
func (s *offices) close() {
	s.mu.Lock()
	s.closeIdle(0, maxOffices)
	s.mu.Unlock()
	s.closing.Wait()
}
