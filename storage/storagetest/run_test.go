package storagetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A verdict takes the failures of a check.
type verdict struct {
	testing.TB
	failed atomic.Bool
}

func (v *verdict) Helper()               {}
func (v *verdict) Errorf(string, ...any) { v.failed.Store(true) }
func (v *verdict) Fatalf(string, ...any) { v.failed.Store(true); panic(v) }
func (v *verdict) Fatal(...any)          { v.failed.Store(true); panic(v) }
func (v *verdict) Skip(...any)           { panic(v) }

// memory is what a store in memory is.
type memory interface {
	storage.Store
	storage.Locker
	storage.Watcher
	storage.Leaser
}

// fails reports whether a driver fails a check. Its time is virtual.
func fails(t *testing.T, c check, open func(memory) storage.Store) (failed bool) {
	synctest.Test(t, func(t *testing.T) {
		v := &verdict{TB: t}
		defer func() {
			if r := recover(); r != nil && r != any(v) {
				panic(r)
			}
			failed = v.failed.Load()
		}()
		c.run(newPair(v, func(testing.TB) storage.Store { return open(storage.NewMemory().(memory)) }, nil))
	})
	return failed
}

func TestSoundDriverPasses(t *testing.T) {
	for _, c := range checks() {
		assert.False(t, fails(t, c, func(m memory) storage.Store { return m }), "%s: fails", c.name)
	}
}

// slowCheck is the check that writes megabytes.
const slowCheck = "empty and large data"

// Each of these drivers breaks the promise of the check after which it is named.
type (
	savesOverOthers    struct{ memory }
	hashesAsRevisions  struct{ memory }
	keepsData          struct{ memory }
	comparesNoKnown    struct{ memory }
	losesEmptyData     struct{ memory }
	deletesOthers      struct{ memory }
	deletesNothing     struct{ memory }
	prefixIsPattern    struct{ memory }
	listsTwice         struct{ memory }
	ignoresContext     struct{ memory }
	oneLockForAll      struct{ memory }
	noLock             struct{ memory }
	tellsFirstChange   struct{ memory }
	tellsEveryChange   struct{ memory }
	watchOutlivesStore struct{ memory }
	leaseForEveryone   struct{ memory }
	leaseNeverEnds     struct{ memory }
	renewsEndedLease   struct{ memory }
)

func (m savesOverOthers) Save(ctx context.Context, name string, data []byte, _ storage.Revision) (storage.Revision, error) {
	for {
		r, err := m.Load(ctx, name, "")
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return "", err
		}
		if at, err := m.memory.Save(ctx, name, data, r.Revision); !errors.Is(err, storage.ErrConflict) {
			return at, err
		}
	}
}

func (m hashesAsRevisions) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	_, err := m.memory.Save(ctx, name, data, old)
	return storage.Revision(data), err
}

func (m keepsData) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	r, err := m.memory.Load(ctx, name, known)
	r.Data = append(r.Data, 'x')
	return r, err
}

func (m comparesNoKnown) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if known != "" {
		return storage.Record{Revision: known}, ctx.Err()
	}
	return m.memory.Load(ctx, name, known)
}

func (m losesEmptyData) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	r, err := m.memory.Load(ctx, name, known)
	if err == nil && len(r.Data) == 0 {
		return storage.Record{}, storage.ErrNotFound
	}
	return r, err
}

func (m deletesOthers) Delete(ctx context.Context, name string, _ storage.Revision) error {
	r, err := m.Load(ctx, name, "")
	if err != nil {
		return err
	}
	return m.memory.Delete(ctx, name, r.Revision)
}

func (m deletesNothing) Delete(ctx context.Context, name string, old storage.Revision) error {
	if err := m.memory.Delete(ctx, name, old); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil
}

func (m prefixIsPattern) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return m.memory.Names(ctx, strings.TrimRight(prefix, "_%*"))
}

func (m listsTwice) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for range 2 {
			for name, err := range m.memory.Names(ctx, prefix) {
				if !yield(name, err) {
					return
				}
			}
		}
	}
}

func (m ignoresContext) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	return m.memory.Save(context.WithoutCancel(ctx), name, data, old)
}

func (m oneLockForAll) Lock(ctx context.Context, _ string) (func(), error) {
	return m.memory.Lock(ctx, "all")
}

func (m noLock) Lock(ctx context.Context, name string) (func(), error) {
	unlock, err := m.memory.Lock(ctx, name)
	if err == nil {
		unlock()
	}
	return func() {}, err
}

func (m tellsFirstChange) Watch(ctx context.Context, _ string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if yield("", nil) {
			<-ctx.Done()
			yield("", ctx.Err())
		}
	}
}

func (m tellsEveryChange) Watch(ctx context.Context, _ string) iter.Seq2[string, error] {
	return m.memory.Watch(ctx, "")
}

func (m watchOutlivesStore) Watch(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range m.memory.Watch(ctx, prefix) {
			if errors.Is(err, storage.ErrClosed) {
				err = nil
			}
			if !yield(name, err) {
				return
			}
		}
	}
}

func (m leaseForEveryone) TakeLease(ctx context.Context, name string, _ time.Duration) (int64, error) {
	return m.memory.TakeLease(ctx, name, -1)
}

func (m leaseNeverEnds) TakeLease(ctx context.Context, name string, _ time.Duration) (int64, error) {
	return m.memory.TakeLease(ctx, name, time.Hour)
}

func (m renewsEndedLease) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	if err := m.memory.RenewLease(ctx, name, number, ttl); !errors.Is(err, storage.ErrLost) {
		return err
	}
	return nil
}

func TestBrokenDriversFail(t *testing.T) {
	for _, test := range []struct {
		check string
		open  func(memory) storage.Store
	}{
		{"save conflict", func(m memory) storage.Store { return savesOverOthers{m} }},
		{"revisions", func(m memory) storage.Store { return hashesAsRevisions{m} }},
		{"load and save", func(m memory) storage.Store { return keepsData{m} }},
		{"known revision", func(m memory) storage.Store { return comparesNoKnown{m} }},
		{"empty and large data", func(m memory) storage.Store { return losesEmptyData{m} }},
		{"delete", func(m memory) storage.Store { return deletesOthers{m} }},
		{"delete", func(m memory) storage.Store { return deletesNothing{m} }},
		{"list", func(m memory) storage.Store { return prefixIsPattern{m} }},
		{"names", func(m memory) storage.Store { return listsTwice{m} }},
		{"context ended", func(m memory) storage.Store { return ignoresContext{m} }},
		{"lock", func(m memory) storage.Store { return oneLockForAll{m} }},
		{"lock waits", func(m memory) storage.Store { return noLock{m} }},
		{"watch", func(m memory) storage.Store { return tellsFirstChange{m} }},
		{"watch of a prefix", func(m memory) storage.Store { return tellsEveryChange{m} }},
		{"watch and close", func(m memory) storage.Store { return watchOutlivesStore{m} }},
		{"lease by many", func(m memory) storage.Store { return leaseForEveryone{m} }},
		{"lease ends", func(m memory) storage.Store { return leaseNeverEnds{m} }},
		{"lease ends", func(m memory) storage.Store { return renewsEndedLease{m} }},
	} {
		var failed []string
		for _, c := range checks() {
			if c.name != slowCheck || test.check == slowCheck {
				if fails(t, c, test.open) {
					failed = append(failed, c.name)
				}
			}
		}
		assert.True(t, slices.Contains(failed, test.check), "%T fails %q; %q among them", test.open(nil), failed, test.check)
	}
}
