package activity

import (
	"context"
	"sync"
)

// DefaultMemory is how many events a [Memory] keeps if it is not told.
const DefaultMemory = 1000

// A Memory is a [Sink] that keeps the newest events, for whoever looks at a running
// program. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	ring []Event
	next int // where the next event goes, once the ring is full
	most int
}

// NewMemory returns a Memory of at most most events; 0 or less means
// [DefaultMemory]. Each takes about 1 KB, and at most 40 KB.
func NewMemory(most int) *Memory {
	return &Memory{most: most}
}

// Write implements [Sink].
func (m *Memory) Write(_ context.Context, events []Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.most <= 0 {
		m.most = DefaultMemory
	}
	for _, e := range events {
		if len(m.ring) < m.most {
			m.ring = append(m.ring, e)
			continue
		}
		m.ring[m.next] = e
		m.next = (m.next + 1) % m.most
	}
	return nil
}

// Recent returns the newest events that filter wants, which may be nil, the newest
// first and at most limit; 0 or less means all that there are. Call [Log.Flush]
// before to have in them what was just recorded.
func (m *Memory) Recent(filter *Filter, limit int) []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Event
	for i := range m.ring {
		at := (m.next - 1 - i + 2*len(m.ring)) % len(m.ring)
		if e := &m.ring[at]; filter.Match(e) {
			if found = append(found, *e); len(found) == limit {
				break
			}
		}
	}
	return found
}
