package record

import (
	"context"
	"slices"
	"strconv"
	"sync"
)

// A MemoryStore is an [Archive] in memory.
type MemoryStore struct {
	mu      sync.Mutex
	last    uint64 // revision
	records []Stored
	history History
}

// NewMemoryStore returns a store that holds the records, which have different names.
// It keeps copies of them, and panics if one is nil.
func NewMemoryStore(records ...*Record) *MemoryStore {
	m := &MemoryStore{}
	for _, r := range records {
		if r == nil {
			panic("record: NewMemoryStore: a record is nil")
		}
		m.records = append(m.records, Stored{Record: r.clone(), Revision: m.next()})
		m.history.Saved(nil, "", r.Name)
	}
	m.history.Identify(m.records)
	return m
}

func (m *MemoryStore) next() Revision {
	m.last++
	return Revision(strconv.FormatUint(m.last, 10))
}

// Records implements [Store].
func (m *MemoryStore) Records(ctx context.Context) ([]Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.records)
	for i := range all {
		all[i].Record = all[i].Record.clone()
	}
	return all, nil
}

// Save implements [Store].
func (m *MemoryStore) Save(ctx context.Context, name string, r *Record, old Revision) (Revision, error) {
	if r == nil {
		return "", errNoRecord
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := PlaceOf(m.records, name, r.Name, old)
	if err != nil {
		return "", err
	}
	m.history.Saved(m.records, name, r.Name)
	s := Stored{Record: r.clone(), Revision: m.next()}
	if at < 0 {
		m.records = append(m.records, s)
	} else {
		m.records[at] = s
	}
	m.history.Identify(m.records)
	return s.Revision, nil
}

// Delete implements [Store].
func (m *MemoryStore) Delete(ctx context.Context, name string, old Revision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := IndexOf(m.records, name, old)
	if err != nil {
		return err
	}
	m.history.Removed(m.records, at)
	m.records = slices.Delete(m.records, at, at+1)
	return nil
}

// Deleted implements [Archive]. The last 100 are kept.
func (m *MemoryStore) Deleted(ctx context.Context) ([]Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history.Deleted(m.records), nil
}

// Restore implements [Archive].
func (m *MemoryStore) Restore(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.history.Find(id)
	if err != nil {
		return err
	}
	if _, err := PlaceOf(m.records, "", r.Name, ""); err != nil {
		return err
	}
	m.history.Restored(id)
	m.records = append(m.records, Stored{Record: r, Revision: m.next()})
	m.history.Identify(m.records)
	return nil
}

// PlaceOf returns where [Store.Save] puts a record called next in the place of that
// called name: an index, or -1 for the end.
func PlaceOf(records []Stored, name, next string, old Revision) (int, error) {
	at := -1
	if name != "" || old != "" {
		var err error
		if at, err = IndexOf(records, name, old); err != nil {
			return 0, err
		}
	}
	for i, s := range records {
		if i != at && s.isCalled(next) {
			return 0, &Error{Code: CodeNameTaken, Name: next}
		}
	}
	return at, nil
}

// IndexOf returns the index of the record of that name and revision.
func IndexOf(records []Stored, name string, old Revision) (int, error) {
	at := slices.IndexFunc(records, func(s Stored) bool { return s.isCalled(name) })
	switch {
	case at < 0:
		return 0, &Error{Code: CodeNotFound, Name: name}
	case records[at].Revision != old:
		return 0, &Error{Code: CodeConflict, Name: name}
	}
	return at, nil
}
