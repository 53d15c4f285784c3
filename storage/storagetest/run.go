package storagetest

import (
	"cmp"
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Options say what else there is to test. Nil is fine.
type Options struct {
	// Reopen opens a second time the place that a store has open, as another
	// process would, and closes the second store when the test ends. With it,
	// Run checks what holds between two processes, and that records survive a
	// Close. Nil means that this cannot be.
	Reopen func(t testing.TB, s storage.Store) storage.Store
}

// Run checks a driver. The function open returns a store without records, another
// one each time; it has to close it when the test ends. If the stores are
// storage.Lockers, Run checks their locks, too.
func Run(t *testing.T, open func(t testing.TB) storage.Store, opts *Options) {
	o := *cmp.Or(opts, new(Options))
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			c.run(newPair(t, open, o.Reopen))
		})
	}
}

// A check is one promise.
type check struct {
	name string
	run  func(p *pair)
}

func checks() []check {
	return []check{
		{"load and save", checkSave},
		{"known revision", checkKnown},
		{"save conflict", checkSaveConflict},
		{"revisions", checkRevisions},
		{"delete", checkDelete},
		{"data belong to the caller", checkOwnership},
		{"empty and large data", checkSizes},
		{"names", checkNames},
		{"other names", checkBadNames},
		{"list", checkList},
		{"list in use", checkListInUse},
		{"context ended", checkEnded},
		{"writers", checkWriters},
		{"creators", checkCreators},
		{"close", checkClose},
		{"reopen", checkReopen},
		{"lock", checkLock},
		{"lock waits", checkLockWaits},
		{"lock and records", checkLockRecords},
		{"lock by many", checkLockMany},
		{"watch", checkWatch},
		{"watch of a prefix", checkWatchPrefix},
		{"watch and close", checkWatchClose},
		{"lease", checkLease},
		{"lease ends", checkLeaseEnds},
		{"lease by many", checkLeaseByMany},
	}
}

// A pair is two stores over one place, or the same store twice if a place can be
// open only once.
type pair struct {
	testing.TB
	first, second storage.Store
	reopened      bool
}

func newPair(t testing.TB, open func(t testing.TB) storage.Store, reopen func(testing.TB, storage.Store) storage.Store) *pair {
	t.Helper()
	p := &pair{TB: t, first: open(t)}
	p.second = p.first
	if reopen != nil {
		p.second, p.reopened = reopen(t, p.first), true
	}
	return p
}

// both returns the stores as what is optional, or skips the test.
func both[T any](p *pair) (first, second T) {
	p.Helper()
	first, ok := p.first.(T)
	if !ok {
		p.Skipf("the store is no %T", *new(*T))
	}
	if second, ok = p.second.(T); !ok {
		p.Fatalf("the store that was opened again is no %T", *new(*T))
	}
	return first, second
}

// save saves and expects success.
func (p *pair) save(s storage.Store, name, data string, old storage.Revision) storage.Revision {
	p.Helper()
	at, err := s.Save(p.Context(), name, []byte(data), old)
	assert.OK(p, err, "Save(%q)", name)
	assert.True(p, at != "", "Save(%q) returned the revision of a record that is there", name)
	return at
}

// expect loads from both stores.
func (p *pair) expect(name, data string, at storage.Revision) {
	p.Helper()
	for _, s := range []storage.Store{p.first, p.second} {
		r, err := s.Load(p.Context(), name, "")
		assert.OK(p, err, "Load(%q)", name)
		assert.True(p, string(r.Data) == data, "Load(%q) returned %s, want %s: equal", name, brief(string(r.Data)), brief(data))
		assert.Equal(p, r.Revision, at, "Load(%q): revision", name)
	}
}

// expectNone loads from both stores what is not there.
func (p *pair) expectNone(name string) {
	p.Helper()
	for _, s := range []storage.Store{p.first, p.second} {
		p.expectError("Load of no record", errOf(s.Load(p.Context(), name, "")), storage.ErrNotFound)
	}
}

func (p *pair) expectError(what string, err, want error) {
	p.Helper()
	assert.Is(p, err, want, what)
}

// errOf returns the error of a call that returns a value, too.
func errOf[T any](_ T, err error) error { return err }

// ended returns a context that has ended.
func (p *pair) ended() context.Context {
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	return ctx
}

// brief keeps a megabyte out of the log.
func brief(data string) string {
	if len(data) > 40 {
		return data[:40] + "..."
	}
	return `"` + data + `"`
}
