package activity

import (
	"context"
	"slices"
	"sync"
)

// A Sink writes events down, or sends them on. [OpenFile] and [NewMemory] make one.
type Sink interface {
	// Write writes events in the order in which they were recorded. It is called by
	// one goroutine at a time for each log, and has to return soon after ctx ends,
	// which it does after 30 seconds. It must not change what Arguments and Detail of
	// an event hold. If it returns an error none of the events is given to it again.
	Write(ctx context.Context, events []Event) error
}

// A Memory is a [Sink] that keeps the newest events, for those who look at a running
// program. It is safe for concurrent use.
type Memory struct {
	most int

	mu     sync.Mutex
	events []Event // the newest last
}

// NewMemory returns a Memory of at most most events; 0 or less means
// 1000. Each takes about 1 KB, and at most 40 KB.
func NewMemory(most int) *Memory {
	if most <= 0 {
		most = 1000
	}
	return &Memory{most: most}
}

// Write implements [Sink].
func (m *Memory) Write(_ context.Context, events []Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, events...)
	m.events = m.events[max(0, len(m.events)-m.most):]
	return nil
}

// Recent returns the newest events that filter wants, which may be nil, the newest
// first and at most limit; 0 or less means all that there are. Call [Log.Flush]
// before to have in them what was just recorded.
func (m *Memory) Recent(filter *Filter, limit int) []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Event
	for _, e := range slices.Backward(m.events) {
		if filter.Match(&e) {
			if found = append(found, e); len(found) == limit {
				break
			}
		}
	}
	return found
}
