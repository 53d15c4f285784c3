package registry_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []uint64
		var last *registry.Snapshot
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for s := range r.Watch(ctx) {
				seen = append(seen, s.Version())
				last = s
			}
		})
		step := func(want ...uint64) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(seen, want) {
				t.Fatalf("seen %d, want %d", seen, want)
			}
		}
		step(1)
		mustReplace(t, r, "s", serverTool("s", "a", ""))
		step(1, 2)
		mustReplace(t, r, "s", serverTool("s", "a", "")) // no change: nobody is woken
		step(1, 2)
		mustReplace(t, r, "s", serverTool("s", "a", "new"))
		step(1, 2, 3)
		r.Remove("s__a")
		step(1, 2, 3, 4)
		if last != r.Snapshot() {
			t.Error("the last snapshot seen is not the current one")
		}
		cancel()
		watcher.Wait()
		mustAdd(t, r, native("b"))
		step(1, 2, 3, 4)
	})
}

func TestWatchCoalesces(t *testing.T) {
	r := registry.New(nil)
	var seen []uint64
	for s := range r.Watch(t.Context()) {
		seen = append(seen, s.Version())
		if s.Version() == 1 { // a slow consumer
			mustAdd(t, r, native("a"))
			mustAdd(t, r, native("b"))
			mustAdd(t, r, native("c"))
		}
		if s.Version() == 4 {
			break
		}
	}
	if !slices.Equal(seen, []uint64{1, 4}) {
		t.Errorf("seen %d, want the first and the last", seen)
	}
}

func TestWatchAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := registry.New(nil)
	changes := r.Watch(ctx)
	for range changes {
		mustAdd(t, r, native("a")) // a change and the end at once: the end wins
		cancel()
	}
	for range changes {
		t.Error("a snapshot after the end of the context")
	}
}

// What a ledger learns of servers that are not here wakes nobody.
func TestWatchWithALedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := ledger.New(nil)
		r := registry.New(&registry.Options{Ledger: accepted})
		ctx, cancel := context.WithCancel(t.Context())
		var seen []uint64
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for s := range r.Watch(ctx) {
				seen = append(seen, s.Version())
			}
		})
		synctest.Wait()
		mustReplace(t, registry.New(&registry.Options{Ledger: accepted}), "files", serverTool("files", "list", ""))
		synctest.Wait()
		if !slices.Equal(seen, []uint64{1}) {
			t.Errorf("seen %d", seen)
		}
		cancel()
		watcher.Wait()
	})
}
