package mcp

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A page is one that a user was asked to visit.
type page struct {
	id        string // by the server; may be empty
	once      sync.Once
	completed chan struct{}
}

func (p *page) complete() { p.once.Do(func() { close(p.completed) }) }

// over reports whether the user is done with the page.
func (p *page) over() bool { return isClosed(p.completed) }

const (
	// maxOpenPages bounds the pages whose completion is waited for, and
	// maxPageID their ids in bytes, since they are kept.
	maxOpenPages = 1024
	maxPageID    = 4 << 10
)

// pages are those that users were asked to visit and may not be done with, the oldest first.
type pages struct {
	mu   sync.Mutex
	open []*page
}

// begin returns a page for an id, the same if it was asked for before and the
// user is not done with it. The oldest is forgotten when there are too many. A
// page whose id is missing or too long is never done by a notification.
func (s *pages) begin(id string) *page {
	p := &page{id: id, completed: make(chan struct{})}
	if id == "" || len(id) > maxPageID {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, (*page).over)
	if i := s.indexLocked(id); i >= 0 {
		return s.open[i]
	}
	if len(s.open) == maxOpenPages {
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, p)
	return p
}

func (s *pages) indexLocked(id string) int {
	return slices.IndexFunc(s.open, func(p *page) bool { return p.id == id })
}

// complete takes a notification of the server. Ids that are not known, or not
// any more, are ignored.
func (s *pages) complete(params json.RawMessage) {
	id, _ := jsonscan.String(jsonscan.Member(params, "elicitationId"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.indexLocked(id); i >= 0 {
		s.open[i].complete()
		s.open = slices.Delete(s.open, i, i+1)
	}
}
