package storage

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
)

// A memory keeps records no longer than the program runs.
type memory struct {
	locks   keylock.Set
	changed feed.Bell // rung after each change of the records, and by Close

	mu      sync.Mutex
	closed  bool
	saved   uint64 // how often; makes the revisions
	records map[string]Record
	leases  map[string]lease
}

// A lease is the last one of a name.
type lease struct {
	number int64
	until  time.Time
}

// NewMemory returns a store without records, which keeps them no longer than the program
// runs. It is a [Locker], a [Watcher] and a [Leaser].
func NewMemory() Store { return &memory{records: map[string]Record{}, leases: map[string]lease{}} }

// begin locks m for a call, which has to unlock it.
func (m *memory) begin(ctx context.Context, name string) error {
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
func (m *memory) Load(ctx context.Context, name string, known Revision) (Record, error) {
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
func (m *memory) Save(ctx context.Context, name string, data []byte, old Revision) (Revision, error) {
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
	m.records[name] = r
	m.changed.Ring()
	return r.Revision, nil
}

// Delete implements [Store].
func (m *memory) Delete(ctx context.Context, name string, old Revision) error {
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
	m.changed.Ring()
	return nil
}

// Names implements [Store].
func (m *memory) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		all, err := m.revisions(ctx, prefix)
		for name := range all {
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

// revisions returns the revisions of the records that begin with prefix.
func (m *memory) revisions(ctx context.Context, prefix string) (map[string]Revision, error) {
	if err := m.begin(ctx, "any"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	all := map[string]Revision{}
	for name, r := range m.records {
		if strings.HasPrefix(name, prefix) {
			all[name] = r.Revision
		}
	}
	return all, nil
}

// Lock implements [Locker].
func (m *memory) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := m.begin(ctx, name); err != nil {
		return nil, err
	}
	m.mu.Unlock()
	return m.locks.Lock(ctx, name)
}

// Watch implements [Watcher]. It tells of changes at once.
func (m *memory) Watch(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var changed <-chan struct{}
		list := func(ctx context.Context) (map[string]Revision, error) {
			changed = m.changed.Rung()
			return m.revisions(ctx, prefix)
		}
		feed.Changes(ctx, list, func(ctx context.Context) error {
			select {
			case <-changed:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})(yield)
	}
}

// TakeLease implements [Leaser].
func (m *memory) TakeLease(ctx context.Context, name string, ttl time.Duration) (number int64, err error) {
	if err := m.begin(ctx, name); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	l, now := m.leases[name], time.Now()
	if now.Before(l.until) {
		return 0, fmt.Errorf("%w: %q", ErrHeld, name)
	}
	m.leases[name] = lease{l.number + 1, now.Add(ttl)}
	return l.number + 1, nil
}

// RenewLease implements [Leaser].
func (m *memory) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	if err := m.begin(ctx, name); err != nil {
		return err
	}
	defer m.mu.Unlock()
	l, now := m.leases[name], time.Now()
	if l.number != number || !now.Before(l.until) {
		return fmt.Errorf("%w: %q", ErrLost, name)
	}
	m.leases[name] = lease{number, now.Add(ttl)}
	return nil
}

// ReleaseLease implements [Leaser].
func (m *memory) ReleaseLease(ctx context.Context, name string, number int64) error {
	return m.RenewLease(ctx, name, number, 0)
}

// Close implements [Store]. The records go with the Memory, not before.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.changed.Ring()
	return nil
}
