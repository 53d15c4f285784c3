package storage

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
)

// A Memory is a [Store] and a [Locker] that keeps records no longer than the
// program runs. It is safe for concurrent use.
type Memory struct {
	locks keylock.Set

	mu      sync.Mutex
	closed  bool
	saved   uint64 // how often; makes the revisions
	records map[string]Record
}

var (
	_ Store  = (*Memory)(nil)
	_ Locker = (*Memory)(nil)
)

// NewMemory returns a Memory without records.
func NewMemory() *Memory { return &Memory{records: map[string]Record{}} }

// begin locks m for a call, which has to unlock it.
func (m *Memory) begin(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, name string, known Revision) (Record, error) {
	if err := m.begin(ctx, name); err != nil {
		return Record{}, err
	}
	defer m.mu.Unlock()
	r, ok := m.records[name]
	if !ok {
		return Record{}, fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	if r.Revision == known {
		return Record{Revision: known}, nil
	}
	r.Data = append([]byte{}, r.Data...)
	return r, nil
}

// Save implements [Store].
func (m *Memory) Save(ctx context.Context, name string, data []byte, old Revision) (Revision, error) {
	if len(data) > MaxData {
		return "", fmt.Errorf("%w: %d bytes", ErrTooLarge, len(data))
	}
	if err := m.begin(ctx, name); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	if m.records[name].Revision != old {
		return "", fmt.Errorf("%w: %q", ErrConflict, name)
	}
	m.saved++
	r := Record{Data: bytes.Clone(data), Revision: Revision(strconv.FormatUint(m.saved, 10))}
	if m.records == nil {
		m.records = map[string]Record{}
	}
	m.records[name] = r
	return r.Revision, nil
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, name string, old Revision) error {
	if err := m.begin(ctx, name); err != nil {
		return err
	}
	defer m.mu.Unlock()
	r, ok := m.records[name]
	if !ok {
		return fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	if r.Revision != old {
		return fmt.Errorf("%w: %q", ErrConflict, name)
	}
	delete(m.records, name)
	return nil
}

// Names implements [Store].
func (m *Memory) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := m.list(ctx, prefix)
		for _, name := range names {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(name, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

func (m *Memory) list(ctx context.Context, prefix string) (names []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	for name := range m.records {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Lock implements [Locker].
func (m *Memory) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := m.begin(ctx, name); err != nil {
		return nil, err
	}
	m.mu.Unlock()
	return m.locks.Lock(ctx, name)
}

// Close implements [Store]. The records go with the Memory, not before.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
