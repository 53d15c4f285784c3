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

// fails reports whether a driver fails a check. Its time is virtual.
func fails(t *testing.T, c check, open func(storage.Memory) storage.Store) (failed bool) {
	synctest.Test(t, func(t *testing.T) {
		v := &verdict{TB: t}
		defer func() {
			if r := recover(); r != nil && r != any(v) {
				panic(r)
			}
			failed = v.failed.Load()
		}()
		c.run(newPair(v, func(testing.TB) storage.Store { return open(storage.NewMemory()) }, nil))
	})
	return failed
}

func TestSoundDriverPasses(t *testing.T) {
	for _, c := range checks() {
		assert.False(t, fails(t, c, func(m storage.Memory) storage.Store { return m }), "%s: fails", c.name)
	}
}

// slowCheck is the check that writes megabytes.
const slowCheck = "empty and large data"

// Each of these drivers breaks the promise of the check after which it is named.
type (
	savesOverOthers    struct{ storage.Memory }
	hashesAsRevisions  struct{ storage.Memory }
	keepsData          struct{ storage.Memory }
	comparesNoKnown    struct{ storage.Memory }
	losesEmptyData     struct{ storage.Memory }
	deletesOthers      struct{ storage.Memory }
	deletesNothing     struct{ storage.Memory }
	prefixIsPattern    struct{ storage.Memory }
	listsTwice         struct{ storage.Memory }
	ignoresContext     struct{ storage.Memory }
	oneLockForAll      struct{ storage.Memory }
	noLock             struct{ storage.Memory }
	tellsFirstChange   struct{ storage.Memory }
	tellsEveryChange   struct{ storage.Memory }
	watchOutlivesStore struct{ storage.Memory }
	leaseForEveryone   struct{ storage.Memory }
	leaseNeverEnds     struct{ storage.Memory }
	renewsEndedLease   struct{ storage.Memory }
)

func (m savesOverOthers) Save(ctx context.Context, name string, data []byte, _ storage.Revision) (storage.Revision, error) {
	for {
		r, err := m.Load(ctx, name, "")
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return "", err
		}
		if at, err := m.Memory.Save(ctx, name, data, r.Revision); !errors.Is(err, storage.ErrConflict) {
			return at, err
		}
	}
}

func (m hashesAsRevisions) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	_, err := m.Memory.Save(ctx, name, data, old)
	return storage.Revision(data), err
}

func (m keepsData) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	r, err := m.Memory.Load(ctx, name, known)
	r.Data = append(r.Data, 'x')
	return r, err
}

func (m comparesNoKnown) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if known != "" {
		return storage.Record{Revision: known}, ctx.Err()
	}
	return m.Memory.Load(ctx, name, known)
}

func (m losesEmptyData) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	r, err := m.Memory.Load(ctx, name, known)
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
	return m.Memory.Delete(ctx, name, r.Revision)
}

func (m deletesNothing) Delete(ctx context.Context, name string, old storage.Revision) error {
	if err := m.Memory.Delete(ctx, name, old); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil
}

func (m prefixIsPattern) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return m.Memory.Names(ctx, strings.TrimRight(prefix, "_%*"))
}

func (m listsTwice) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for range 2 {
			for name, err := range m.Memory.Names(ctx, prefix) {
				if !yield(name, err) {
					return
				}
			}
		}
	}
}

func (m ignoresContext) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	return m.Memory.Save(context.WithoutCancel(ctx), name, data, old)
}

func (m oneLockForAll) Lock(ctx context.Context, _ string) (func(), error) {
	return m.Memory.Lock(ctx, "all")
}

func (m noLock) Lock(ctx context.Context, name string) (func(), error) {
	unlock, err := m.Memory.Lock(ctx, name)
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
	return m.Memory.Watch(ctx, "")
}

func (m watchOutlivesStore) Watch(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range m.Memory.Watch(ctx, prefix) {
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
	return m.Memory.TakeLease(ctx, name, -1)
}

func (m leaseNeverEnds) TakeLease(ctx context.Context, name string, _ time.Duration) (int64, error) {
	return m.Memory.TakeLease(ctx, name, time.Hour)
}

func (m renewsEndedLease) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	if err := m.Memory.RenewLease(ctx, name, number, ttl); !errors.Is(err, storage.ErrLost) {
		return err
	}
	return nil
}

func TestBrokenDriversFail(t *testing.T) {
	for _, test := range []struct {
		check string
		open  func(storage.Memory) storage.Store
	}{
		{"save conflict", func(m storage.Memory) storage.Store { return savesOverOthers{m} }},
		{"revisions", func(m storage.Memory) storage.Store { return hashesAsRevisions{m} }},
		{"load", func(m storage.Memory) storage.Store { return keepsData{m} }},
		{"known revision", func(m storage.Memory) storage.Store { return comparesNoKnown{m} }},
		{"empty and large data", func(m storage.Memory) storage.Store { return losesEmptyData{m} }},
		{"delete", func(m storage.Memory) storage.Store { return deletesOthers{m} }},
		{"delete", func(m storage.Memory) storage.Store { return deletesNothing{m} }},
		{"list", func(m storage.Memory) storage.Store { return prefixIsPattern{m} }},
		{"names", func(m storage.Memory) storage.Store { return listsTwice{m} }},
		{"context ended", func(m storage.Memory) storage.Store { return ignoresContext{m} }},
		{"lock", func(m storage.Memory) storage.Store { return oneLockForAll{m} }},
		{"lock waits", func(m storage.Memory) storage.Store { return noLock{m} }},
		{"watch", func(m storage.Memory) storage.Store { return tellsFirstChange{m} }},
		{"watch of a prefix", func(m storage.Memory) storage.Store { return tellsEveryChange{m} }},
		{"watch and close", func(m storage.Memory) storage.Store { return watchOutlivesStore{m} }},
		{"lease by many", func(m storage.Memory) storage.Store { return leaseForEveryone{m} }},
		{"lease ends", func(m storage.Memory) storage.Store { return leaseNeverEnds{m} }},
		{"lease ends", func(m storage.Memory) storage.Store { return renewsEndedLease{m} }},
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
