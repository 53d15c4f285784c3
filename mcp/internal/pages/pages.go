// Package pages keeps the pages that servers have asked users to visit, until they are done.
package pages

import (
	"slices"
	"sync"
)

// A Page is one that a user was asked to visit.
type Page struct {
	Completed chan struct{} // closed when the user is done

	id   string // by the server; may be empty
	once sync.Once
}

// Complete notes that the user is done.
func (p *Page) Complete() { p.once.Do(func() { close(p.Completed) }) }

func (p *Page) over() bool {
	select {
	case <-p.Completed:
		return true
	default:
		return false
	}
}

const (
	// maxOpenPages bounds the pages whose completion is waited for, and
	// maxPageID their ids in bytes, since they are kept.
	maxOpenPages = 1024
	maxPageID    = 4 << 10
)

// A Set are the pages that users may not be done with. The zero value has none; its methods are
// safe for concurrent use.
type Set struct {
	mu   sync.Mutex
	open []*Page // the oldest first
}

// Begin returns a page for an id, the same if it was asked for before and the
// user is not done with it. The oldest is forgotten when there are too many. A
// page whose id is missing or too long is never done by a notification.
func (s *Set) Begin(id string) *Page {
	p := &Page{id: id, Completed: make(chan struct{})}
	if id == "" || len(id) > maxPageID {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, (*Page).over)
	if i := s.indexLocked(id); i >= 0 {
		return s.open[i]
	}
	if len(s.open) == maxOpenPages {
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, p)
	return p
}

func (s *Set) indexLocked(id string) int {
	return slices.IndexFunc(s.open, func(p *Page) bool { return p.id == id })
}

// Complete notes that the user is done with a page, unless it is not known, or not any more.
func (s *Set) Complete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.indexLocked(id); i >= 0 {
		s.open[i].Complete()
	}
}
