package storagetest

import (
	"errors"
	"runtime"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	writers = 8
	rounds  = 8 // that each writer has to win
)

// checkWriters has several writers count up one number, which none of them may
// lose, and readers who must see it grow.
func checkWriters(p *pair) {
	p.save(p.first, "n", "0", "")
	var mu sync.Mutex
	seen := map[storage.Revision]bool{}
	done := make(chan struct{})
	var wg, reading sync.WaitGroup
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
	for i := range writers {
		s := p.first
		if i%2 == 1 {
			s = p.second
		}
		wg.Go(func() {
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
				if seen[at] {
					p.Errorf("revision %q was given twice", at)
				}
				seen[at] = true
				mu.Unlock()
				won++
			}
		})
	}
	wg.Wait()
	close(done)
	reading.Wait()
	r, err := p.second.Load(p.Context(), "n", "")
	if want := strconv.Itoa(writers * rounds); err != nil || string(r.Data) != want {
		p.Errorf("after %s saves without conflict the record is %q, %v", want, r.Data, err)
	}
}

// checkCreators has several writers create, and then delete, the same record.
func checkCreators(p *pair) {
	for range rounds {
		type result struct {
			at  storage.Revision
			err error
		}
		results := make(chan result, writers)
		var wg sync.WaitGroup
		for i := range writers {
			s := p.first
			if i%2 == 1 {
				s = p.second
			}
			wg.Go(func() {
				at, err := s.Save(p.Context(), "a", []byte(strconv.Itoa(i)), "")
				results <- result{at, err}
			})
		}
		wg.Wait()
		close(results)
		var at storage.Revision
		created := 0
		for r := range results {
			if r.err == nil {
				created++
				at = r.at
			} else {
				p.expectError("Save of a new record by many", r.err, storage.ErrConflict)
			}
		}
		if created != 1 {
			p.Fatalf("%d of %d writers created the record", created, writers)
		}
		deletes := make(chan error, writers)
		for i := range writers {
			s := p.first
			if i%2 == 1 {
				s = p.second
			}
			wg.Go(func() { deletes <- s.Delete(p.Context(), "a", at) })
		}
		wg.Wait()
		close(deletes)
		deleted := 0
		for err := range deletes {
			if err == nil {
				deleted++
			} else {
				p.expectError("Delete by many", err, storage.ErrNotFound)
			}
		}
		if deleted != 1 {
			p.Fatalf("%d of %d callers deleted the record", deleted, writers)
		}
	}
}
