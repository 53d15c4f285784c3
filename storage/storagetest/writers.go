package storagetest

import (
	"errors"
	"runtime"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	writers = 8
	rounds  = 8 // that each writer has to win
)

// each runs f at once for so many callers, of which every other one has the second store.
func (p *pair) each(n int, f func(i int, s storage.Store)) {
	var wg sync.WaitGroup
	for i := range n {
		s := p.first
		if i%2 == 1 {
			s = p.second
		}
		wg.Go(func() { f(i, s) })
	}
	wg.Wait()
}

// one runs f at once for many callers, and returns what it returned for the only one that
// succeeds; the others get the error want.
func one[T any](p *pair, what string, want error, f func(s storage.Store) (T, error)) (got T) {
	p.Helper()
	var mu sync.Mutex
	winners := 0
	p.each(writers, func(_ int, s storage.Store) {
		value, err := f(s)
		if err != nil {
			p.expectError(what, err, want)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		got = value
		winners++
	})
	if winners != 1 {
		p.Fatalf("%s: %d of %d callers succeeded, want 1", what, winners, writers)
	}
	return got
}

// checkWriters has several writers count up one number, which none of them may
// lose, and readers who must see it grow.
func checkWriters(p *pair) {
	p.save(p.first, "n", "0", "")
	var mu sync.Mutex
	seen := map[storage.Revision]bool{}
	done := make(chan struct{})
	var reading sync.WaitGroup
	for _, s := range []storage.Store{p.first, p.second} {
		reading.Go(func() {
			for last := 0; ; {
				r, err := s.Load(p.Context(), "n", "")
				n, bad := strconv.Atoi(string(r.Data))
				if err != nil || bad != nil || n < last {
					p.Errorf("Load after %d, while others save: %q, %v", last, r.Data, err)
					return
				}
				last = n
				select {
				case <-done:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	p.each(writers, func(_ int, s storage.Store) {
		for won := 0; won < rounds; {
			r, err := s.Load(p.Context(), "n", "")
			if err != nil {
				p.Errorf("Load: %v", err)
				return
			}
			n, _ := strconv.Atoi(string(r.Data))
			at, err := s.Save(p.Context(), "n", []byte(strconv.Itoa(n+1)), r.Revision)
			if errors.Is(err, storage.ErrConflict) {
				continue
			}
			if err != nil {
				p.Errorf("Save: %v", err)
				return
			}
			mu.Lock()
			assert.False(p, seen[at], "revision %q was given before", at)
			seen[at] = true
			mu.Unlock()
			won++
		}
	})
	close(done)
	reading.Wait()
	r, err := p.second.Load(p.Context(), "n", "")
	assert.OK(p, err, "Load")
	assert.Equal(p, string(r.Data), strconv.Itoa(writers*rounds), "saves without conflict")
}

// checkCreators has several writers create, and then delete, the same record.
func checkCreators(p *pair) {
	for range rounds {
		at := one(p, "Save of a new record by many", storage.ErrConflict, func(s storage.Store) (storage.Revision, error) {
			return s.Save(p.Context(), "a", []byte("x"), "")
		})
		one(p, "Delete by many", storage.ErrNotFound, func(s storage.Store) (bool, error) {
			return true, s.Delete(p.Context(), "a", at)
		})
	}
}
