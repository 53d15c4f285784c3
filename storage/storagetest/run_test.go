package storagetest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

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

// judge returns the checks that a driver fails, with so much patience for its locks.
func judge(t *testing.T, patience time.Duration, open func() storage.Store) (failed []string) {
	for _, c := range checks() {
		v := &verdict{TB: t}
		func() {
			defer func() {
				if r := recover(); r != nil && r != any(v) {
					panic(r)
				}
			}()
			p := newPair(v, func(testing.TB) storage.Store { return open() }, nil)
			p.patience = patience
			c.run(p)
		}()
		if v.failed.Load() {
			failed = append(failed, c.name)
		}
	}
	return failed
}

// A broken driver breaks one promise.
type broken struct {
	*storage.Memory
	load   func(*storage.Memory, context.Context, string, storage.Revision) (storage.Record, error)
	save   func(*storage.Memory, context.Context, string, []byte, storage.Revision) (storage.Revision, error)
	delete func(*storage.Memory, context.Context, string, storage.Revision) error
	names  func(*storage.Memory, context.Context, string) iter.Seq2[string, error]
	lock   func(*storage.Memory, context.Context, string) (func(), error)
	watch  func(*storage.Memory, context.Context, string) iter.Seq2[string, error]
	take   func(*storage.Memory, context.Context, string, time.Duration) (int64, error)
	renew  func(*storage.Memory, context.Context, string, int64, time.Duration) error
}

func (b *broken) Watch(ctx context.Context, prefix string) iter.Seq2[string, error] {
	if b.watch != nil {
		return b.watch(b.Memory, ctx, prefix)
	}
	return b.Memory.Watch(ctx, prefix)
}

func (b *broken) TakeLease(ctx context.Context, name string, ttl time.Duration) (int64, error) {
	if b.take != nil {
		return b.take(b.Memory, ctx, name, ttl)
	}
	return b.Memory.TakeLease(ctx, name, ttl)
}

func (b *broken) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	if b.renew != nil {
		return b.renew(b.Memory, ctx, name, number, ttl)
	}
	return b.Memory.RenewLease(ctx, name, number, ttl)
}

func (b *broken) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if b.load != nil {
		return b.load(b.Memory, ctx, name, known)
	}
	return b.Memory.Load(ctx, name, known)
}

func (b *broken) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if b.save != nil {
		return b.save(b.Memory, ctx, name, data, old)
	}
	return b.Memory.Save(ctx, name, data, old)
}

func (b *broken) Delete(ctx context.Context, name string, old storage.Revision) error {
	if b.delete != nil {
		return b.delete(b.Memory, ctx, name, old)
	}
	return b.Memory.Delete(ctx, name, old)
}

func (b *broken) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	if b.names != nil {
		return b.names(b.Memory, ctx, prefix)
	}
	return b.Memory.Names(ctx, prefix)
}

func (b *broken) Lock(ctx context.Context, name string) (func(), error) {
	if b.lock != nil {
		return b.lock(b.Memory, ctx, name)
	}
	return b.Memory.Lock(ctx, name)
}

// TestSeesBrokenDrivers breaks one promise at a time.
func TestSeesBrokenDrivers(t *testing.T) {
	if failed := judge(t, patience, func() storage.Store { return storage.NewMemory() }); failed != nil {
		t.Errorf("a sound driver fails %q", failed)
	}
	for name, b := range map[string]struct {
		broken broken
		want   string // a check that has to fail
	}{
		"save without comparing": {broken{save: func(m *storage.Memory, ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
			for {
				r, err := m.Load(ctx, name, "")
				if err != nil && !errors.Is(err, storage.ErrNotFound) {
					return "", err
				}
				at, err := m.Save(ctx, name, data, r.Revision)
				if !errors.Is(err, storage.ErrConflict) {
					return at, err
				}
			}
		}}, "save conflict"},
		"revision is a hash": {broken{save: func(m *storage.Memory, ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
			at, err := m.Save(ctx, name, data, old)
			if err == nil {
				at = storage.Revision(data)
			}
			return at, err
		}}, "revisions"},
		"data are kept": {broken{load: func(m *storage.Memory, ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
			r, err := m.Load(ctx, name, known)
			r.Data = append(r.Data, 'x')
			return r, err
		}}, "load"},
		"known is not compared": {broken{load: func(m *storage.Memory, ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
			if known != "" {
				return storage.Record{Revision: known}, ctx.Err()
			}
			return m.Load(ctx, name, known)
		}}, "known revision"},
		"nothing is empty": {broken{load: func(m *storage.Memory, ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
			r, err := m.Load(ctx, name, known)
			if err == nil && len(r.Data) == 0 {
				return storage.Record{}, storage.ErrNotFound
			}
			return r, err
		}}, "empty and large data"},
		"delete without comparing": {broken{delete: func(m *storage.Memory, ctx context.Context, name string, old storage.Revision) error {
			r, err := m.Load(ctx, name, "")
			if err != nil {
				return err
			}
			return m.Delete(ctx, name, r.Revision)
		}}, "delete"},
		"delete of nothing": {broken{delete: func(m *storage.Memory, ctx context.Context, name string, old storage.Revision) error {
			if err := m.Delete(ctx, name, old); !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return nil
		}}, "delete"},
		"prefix is a pattern": {broken{names: func(m *storage.Memory, ctx context.Context, prefix string) iter.Seq2[string, error] {
			return m.Names(ctx, strings.TrimRight(prefix, "_%*"))
		}}, "list"},
		"names twice": {broken{names: func(m *storage.Memory, ctx context.Context, prefix string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for range 2 {
					for name, err := range m.Names(ctx, prefix) {
						if !yield(name, err) {
							return
						}
					}
				}
			}
		}}, "names"},
		"context is not looked at": {broken{save: func(m *storage.Memory, ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
			return m.Save(context.WithoutCancel(ctx), name, data, old)
		}}, "context ended"},
		"one lock for all": {broken{lock: func(m *storage.Memory, ctx context.Context, name string) (func(), error) {
			if err := storage.CheckName(name); err != nil {
				return nil, err
			}
			return m.Lock(ctx, "all")
		}}, "lock"},
		"no lock": {broken{lock: func(m *storage.Memory, ctx context.Context, name string) (func(), error) {
			unlock, err := m.Lock(ctx, name)
			if err == nil {
				unlock()
			}
			return func() {}, err
		}}, "lock waits"},
		"the first change alone is told": {broken{watch: func(m *storage.Memory, ctx context.Context, prefix string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if yield("", nil) {
					<-ctx.Done()
					yield("", ctx.Err())
				}
			}
		}}, "watch"},
		"every change is told": {broken{watch: func(m *storage.Memory, ctx context.Context, prefix string) iter.Seq2[string, error] {
			return m.Watch(ctx, "")
		}}, "watch of a prefix"},
		"watch outlives the store": {broken{watch: func(m *storage.Memory, ctx context.Context, prefix string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for name, err := range m.Watch(ctx, prefix) {
					if errors.Is(err, storage.ErrClosed) {
						err = nil
					}
					if !yield(name, err) {
						return
					}
				}
			}
		}}, "watch and close"},
		"a lease for everyone": {broken{take: func(m *storage.Memory, ctx context.Context, name string, ttl time.Duration) (int64, error) {
			return m.TakeLease(ctx, name, -1)
		}}, "lease by many"},
		"a lease that never ends": {broken{take: func(m *storage.Memory, ctx context.Context, name string, ttl time.Duration) (int64, error) {
			return m.TakeLease(ctx, name, time.Hour)
		}}, "lease ends"},
		"a lease that has ended is renewed": {broken{renew: func(m *storage.Memory, ctx context.Context, name string, number int64, ttl time.Duration) error {
			if err := m.RenewLease(ctx, name, number, ttl); !errors.Is(err, storage.ErrLost) {
				return err
			}
			return nil
		}}, "lease ends"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := judge(t, time.Second, func() storage.Store {
				fresh := b.broken
				fresh.Memory = storage.NewMemory()
				return &fresh
			})
			if !strings.Contains(strings.Join(failed, "\n")+"\n", b.want+"\n") {
				t.Errorf("the kit fails %q, want %q", failed, b.want)
			}
		})
	}
}
