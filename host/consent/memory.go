package consent

import (
	"bytes"
	"context"
	"strconv"
	"sync"
)

// A memoryStore keeps the book for as long as it lives.
type memoryStore struct {
	mu   sync.Mutex
	data []byte
	n    int // of what was saved
}

func (m *memoryStore) revision() string {
	if m.n == 0 {
		return ""
	}
	return strconv.Itoa(m.n)
}

// Load returns what was saved last.
func (m *memoryStore) Load(ctx context.Context, known string) ([]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known == m.revision() {
		return nil, known, ctx.Err()
	}
	return bytes.Clone(m.data), m.revision(), ctx.Err()
}

// Save replaces what was saved.
func (m *memoryStore) Save(ctx context.Context, data []byte, old string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old != m.revision() {
		return "", ErrConflict
	}
	m.data, m.n = bytes.Clone(data), m.n+1
	return m.revision(), nil
}
