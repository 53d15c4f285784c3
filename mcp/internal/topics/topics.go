// Package topics keeps the resources whose changes consumers want to know of, and what they have
// not been told yet.
package topics

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// maxUpdates bounds the URIs that wait for a slow consumer, and
	// maxUpdateURI each of them in bytes. The consumer's own stands for what
	// is more.
	maxUpdates   = 256
	maxUpdateURI = 8 << 10
)

// A Set are such resources. Make one with [New]; its methods are safe for concurrent use.
type Set struct {
	Changed chan struct{} // capacity 1: there are others

	mu       sync.Mutex
	watchers map[*Watcher]struct{}
	agreed   map[string]bool // those that the server announces changes of
}

// A Watcher is one consumer.
type Watcher struct {
	Signal chan struct{} // capacity 1: there is something to take

	uri     string
	updated map[string]struct{} // guarded by the lock of the Set, as the next
	err     error
}

// New returns a Set without resources.
func New() *Set {
	return &Set{Changed: make(chan struct{}, 1), watchers: make(map[*Watcher]struct{}), agreed: make(map[string]bool)}
}

// Join adds a watcher of a resource, until Leave. It is woken at once if changes are announced already.
func (s *Set) Join(uri string) *Watcher {
	w := &Watcher{uri: uri, Signal: make(chan struct{}, 1), updated: make(map[string]struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = struct{}{}
	if s.agreed[uri] {
		w.updated[uri] = struct{}{}
		poke(w.Signal)
	}
	poke(s.Changed)
	return w
}

// Leave ends Join.
func (s *Set) Leave(w *Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
	poke(s.Changed)
}

// Take returns what a watcher has not been told yet.
func (s *Set) Take(w *Watcher) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := slices.Sorted(maps.Keys(w.updated))
	clear(w.updated)
	return uris, w.err
}

// URIs returns the resources, sorted.
func (s *Set) URIs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := make(map[string]struct{})
	for w := range s.watchers {
		if w.err == nil {
			set[w.uri] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Tell wakes the watchers of a resource, and of what it is a part of.
func (s *Set) Tell(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if !partOf(uri, w.uri) {
			continue
		}
		news := uri
		if len(w.updated) >= maxUpdates || len(uri) > maxUpdateURI {
			clear(w.updated)
			news = w.uri
		}
		w.updated[news] = struct{}{}
		poke(w.Signal)
	}
}

// Agree notes that the server announces changes of a resource from now on.
func (s *Set) Agree(uri string) {
	s.mu.Lock()
	s.agreed[uri] = true
	s.mu.Unlock()
	s.Tell(uri)
}

// Disagree notes that it does not any more; of all if uri is empty.
func (s *Set) Disagree(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uri == "" {
		clear(s.agreed)
	}
	delete(s.agreed, uri)
}

// Fail ends the watchers of a resource, or of all if uri is empty.
func (s *Set) Fail(uri string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if uri == "" || w.uri == uri {
			w.err = err
			poke(w.Signal)
		}
	}
}

// partOf reports whether a resource is another one, or a part of it.
func partOf(uri, whole string) bool {
	return uri == whole || strings.HasPrefix(uri, strings.TrimSuffix(whole, "/")+"/")
}

// poke leaves a note for a loop that looks at ch, unless one lies there already.
func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
