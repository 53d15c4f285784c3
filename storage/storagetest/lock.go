package storagetest

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// heldFor is how long the kit waits for a lock that it must not get.
	heldFor = 50 * time.Millisecond
	// patience is how long it waits for what must happen: longer than a busy machine takes.
	patience = 2 * time.Minute
)

// lock takes a lock and expects to get it.
func (p *pair) lock(l storage.Locker, name string) (unlock func()) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	unlock, err := l.Lock(ctx, name)
	assert.OK(p, err, "Lock(%q)", name)
	return unlock
}

// expectHeld asks for a lock that is held.
func (p *pair) expectHeld(l storage.Locker, name string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), heldFor)
	defer cancel()
	unlock, err := l.Lock(ctx, name)
	if err == nil {
		unlock()
		p.Fatalf("Lock(%q) while it is held: no error", name)
	}
	p.expectError("Lock while it is held", err, context.DeadlineExceeded)
}

func checkLock(p *pair) {
	first, second := both[storage.Locker](p)
	unlock := p.lock(first, "a")
	p.expectHeld(second, "a")
	p.expectHeld(first, "a")
	p.lock(second, "b")() // another name does not wait
	unlock()
	again := p.lock(second, "a")
	unlock() // does nothing
	p.expectHeld(first, "a")
	again()
	p.lock(first, "a")()

	ctx := p.ended()
	p.expectError("Lock after the end of the context", errOf(first.Lock(ctx, "free")), ctx.Err())
	p.lock(second, "free")()
}

// checkLockWaits has two callers wait for a lock that is then unlocked.
func checkLockWaits(p *pair) {
	first, second := both[storage.Locker](p)
	unlock := p.lock(first, "a")
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for _, l := range []storage.Locker{first, second} {
		wg.Go(func() {
			unlock, err := l.Lock(ctx, "a")
			if err != nil {
				p.Errorf("Lock: %v", err)
				return
			}
			unlock()
		})
	}
	p.expectHeld(second, "a")
	unlock()
	wg.Wait()
}

// checkLockRecords saves and deletes while a lock is held: they do not ask for it.
func checkLockRecords(p *pair) {
	first, _ := both[storage.Locker](p)
	defer p.lock(first, "a")()
	at := p.save(p.first, "a", "one", "")
	at = p.save(p.second, "a", "two", at)
	p.expect("a", "two", at)
	assert.OK(p, p.second.Delete(p.Context(), "a", at), "Delete")
	p.expectList(p.first, "", nil) // a lock is no record
}

// checkLockMany has several callers take turns.
func checkLockMany(p *pair) {
	both[storage.Locker](p)
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	var holders [2]atomic.Int32 // by name
	p.each(writers, func(i int, s storage.Store) {
		for range rounds {
			name := i / 2 % 2
			unlock, err := s.(storage.Locker).Lock(ctx, strconv.Itoa(name))
			if err != nil {
				p.Errorf("Lock: %v", err)
				return
			}
			assert.Equal(p, holders[name].Add(1), 1, "callers that hold one lock")
			runtime.Gosched()
			holders[name].Add(-1)
			unlock()
		}
	})
}
