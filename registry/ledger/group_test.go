package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A gatedStore holds up each save until it is let through, or until its context ends.
type gatedStore struct {
	storage.Store
	saves int // that have begun; one at a time
	pass  chan struct{}
	most  int // bytes of a record; 0: not bounded
}

func (s *gatedStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	s.saves++
	if s.most > 0 && len(data) > s.most {
		return "", storage.ErrTooLarge
	}
	select {
	case <-s.pass:
		return s.Store.Save(ctx, name, data, old)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func newGated(t *testing.T) (*gatedStore, *Ledger) {
	t.Helper()
	store := &gatedStore{Store: storage.NewMemory(), pass: make(chan struct{})}
	return store, loadLedger(t, store)
}

// TestGroupIsWrittenOnce lists 50 servers while the first write is under way: one more
// write keeps them all, and none returns before.
func TestGroupIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := newGated(t)
		var work sync.WaitGroup
		var mu sync.Mutex
		kept := 0
		record := func(server string) {
			work.Go(func() {
				assert.Is(t, l.Record(t.Context(), Server{Name: server}, surfacesIn(surfaceTool("a"))), nil)
				mu.Lock()
				defer mu.Unlock()
				kept++
			})
		}
		record("first")
		synctest.Wait()
		for i := range 50 {
			record(fmt.Sprint("server", i))
		}
		for _, want := range []int{0, 1, 51} {
			synctest.Wait()
			assert.Equal(t, kept, want, "calls that have returned")
			assert.Equal(t, len(loadLedger(t, store.Store).Entries()), want, "tools kept")
			if want < 51 {
				store.pass <- struct{}{}
			}
		}
		work.Wait()
		assert.Equal(t, store.saves, 2, "writes")
	})
}

// TestGroupGoesOnWithoutItsWriter ends the context of the caller that writes for all: it
// fails, and another one writes for the rest. One whose context ends while it waits asks for
// nothing any more.
func TestGroupGoesOnWithoutItsWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := newGated(t)
		record := func(ctx context.Context, server string) <-chan error {
			done := make(chan error, 1)
			go func() { done <- l.Record(ctx, Server{Name: server}, surfacesIn(surfaceTool("a"))) }()
			synctest.Wait()
			return done
		}
		writing, stop := context.WithCancel(t.Context())
		waiting, leave := context.WithCancel(t.Context())
		writer := record(writing, "writer")
		left := record(waiting, "left")
		others := []<-chan error{record(t.Context(), "one"), record(t.Context(), "two")}
		leave()
		assert.Is(t, <-left, context.Canceled)
		stop()
		assert.Is(t, <-writer, context.Canceled)
		close(store.pass)
		for _, done := range others {
			assert.OK(t, <-done)
		}
		var got []string
		for _, e := range l.Entries() {
			got = append(got, e.Server)
		}
		assert.Equal(t, strings.Join(got, " "), "one two", "the servers")
	})
}

// TestGroupWithOneTooLarge keeps what fits, though one of the group does not.
func TestGroupWithOneTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := newGated(t)
		store.most = 10_000
		errs := make([]error, 4)
		var work sync.WaitGroup
		for i := range errs {
			work.Go(func() {
				tool := surfaceTool("a", func(tool *Tool) {
					if i == 2 {
						tool.Description = strings.Repeat("long ", 5_000)
					}
				})
				errs[i] = l.Record(t.Context(), Server{Name: fmt.Sprint("server", i)}, surfacesIn(tool))
			})
			synctest.Wait()
		}
		close(store.pass)
		work.Wait()
		for i, err := range errs {
			assert.Equal(t, errors.Is(err, storage.ErrTooLarge), i == 2, "server%d", i)
		}
		assert.Equal(t, len(l.Entries()), 3, "tools kept")
	})
}
