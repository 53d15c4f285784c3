package mcp

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const (
	// maxUpdates bounds the URIs that wait for a slow consumer, and
	// maxUpdateURI each of them in bytes. The consumer's own stands for what
	// is more.
	maxUpdates   = 256
	maxUpdateURI = 8 << 10
)

// topics are the resources whose changes a person wants to know of.
type topics struct {
	changed chan struct{} // capacity 1: there are others

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	agreed   map[string]bool // those that the server announces changes of
}

// A watcher is one ResourceUpdates.
type watcher struct {
	uri     string
	signal  chan struct{}       // capacity 1
	updated map[string]struct{} // guarded by the lock of topics, as the next
	err     error
}

func newTopics() topics {
	return topics{changed: make(chan struct{}, 1), watchers: make(map[*watcher]struct{}), agreed: make(map[string]bool)}
}

func (s *topics) join(uri string) *watcher {
	w := &watcher{uri: uri, signal: make(chan struct{}, 1), updated: make(map[string]struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = struct{}{}
	if s.agreed[uri] {
		w.updated[uri] = struct{}{}
		poke(w.signal)
	}
	poke(s.changed)
	return w
}

func (s *topics) leave(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
	poke(s.changed)
}

// take returns what a watcher has not been told yet.
func (s *topics) take(w *watcher) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := slices.Sorted(maps.Keys(w.updated))
	clear(w.updated)
	return uris, w.err
}

// uris returns the resources, sorted.
func (s *topics) uris() []string {
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

// tell wakes the watchers of a resource, and of what it is a part of.
func (s *topics) tell(uri string) {
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
		poke(w.signal)
	}
}

// agree notes that the server announces changes of a resource from now on.
func (s *topics) agree(uri string) {
	s.mu.Lock()
	s.agreed[uri] = true
	s.mu.Unlock()
	s.tell(uri)
}

// disagree notes that it does not any more; of all if uri is empty.
func (s *topics) disagree(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uri == "" {
		clear(s.agreed)
	}
	delete(s.agreed, uri)
}

// fail ends the watchers of a resource, or of all if uri is empty.
func (s *topics) fail(uri string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if uri == "" || w.uri == uri {
			w.err = err
			poke(w.signal)
		}
	}
}

// partOf reports whether a resource is another one, or a part of it.
func partOf(uri, whole string) bool {
	return uri == whole || strings.HasPrefix(uri, strings.TrimSuffix(whole, "/")+"/")
}

// resourcesOf returns the resources that a filter names.
func resourcesOf(filter []byte) map[string]bool {
	set := make(map[string]bool)
	for item := range jsonscan.Elements(jsonscan.Member(filter, "resourceSubscriptions")) {
		if uri, ok := jsonscan.String(item); ok {
			set[uri] = true
		}
	}
	return set
}
