package registry_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
			wantList(t, seen, want, "seen")
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
		assert.Equal(t, last, r.Snapshot(), "the last snapshot seen is not the current one")
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
	wantList(t, seen, []uint64{1, 4}, "seen")
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
		wantList(t, seen, []uint64{1}, "seen")
		cancel()
		watcher.Wait()
	})
}

// Each definition of a snapshot has a cell of its own, in whatever order they come, and no
// other definition has one.
func TestSnapshotMemory(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "files", serverTool("files", "read", ""), serverTool("files", "stat", ""), serverTool("files", "write", ""))
	s := r.Snapshot()
	memory := s.Memory()
	for _, i := range []int{2, 0, 1, 2, 1, 1} {
		def := s.Tools()[i].Definition()
		cell, _ := memory(def)
		if cell == nil {
			t.Fatalf("%s: got no cell", def.Name)
		}
		cell.Put("name", def.Name)
		copied := *def
		if cell, _ := memory(&copied); cell != nil {
			t.Errorf("%s: got a cell for a copy of the definition, want none", def.Name)
		}
	}
	cell, _ := memory(nil)
	assert.Equal(t, cell != nil, false, "a cell for nil")
	again := s.Memory()
	for _, tool := range s.Tools() {
		def := tool.Definition()
		if cell, _ := again(def); cell.Get("name") != def.Name {
			t.Errorf("got the cell of %v, want that of %s", cell.Get("name"), def.Name)
		}
	}
}
