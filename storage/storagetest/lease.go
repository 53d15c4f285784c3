package storagetest

import (
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// longLease does not end while the kit runs, and shortLease does soon.
	longLease  = time.Hour
	shortLease = 100 * time.Millisecond
)

// lease takes a lease and expects to get it.
func (p *pair) lease(l storage.Leaser, name string, ttl time.Duration) (number int64) {
	p.Helper()
	number, err := l.TakeLease(p.Context(), name, ttl)
	assert.OK(p, err, "TakeLease(%q)", name)
	return number
}

func checkLease(p *pair) {
	first, second := both[storage.Leaser](p)
	ctx := p.Context()
	one := p.lease(first, "a", longLease)
	p.expectError("TakeLease of one that is held", errOf(second.TakeLease(ctx, "a", longLease)), storage.ErrHeld)
	p.expectError("TakeLease of one that the caller holds", errOf(first.TakeLease(ctx, "a", longLease)), storage.ErrHeld)
	p.lease(second, "b", longLease) // another name
	assert.OK(p, first.RenewLease(ctx, "a", one, longLease), "RenewLease")
	p.expectError("RenewLease by another number", second.RenewLease(ctx, "a", one+1, longLease), storage.ErrLost)
	p.expectError("ReleaseLease by another number", second.ReleaseLease(ctx, "a", one+1), storage.ErrLost)
	assert.OK(p, first.ReleaseLease(ctx, "a", one), "ReleaseLease")
	p.expectError("RenewLease after ReleaseLease", first.RenewLease(ctx, "a", one, longLease), storage.ErrLost)
	two := p.lease(second, "a", longLease)
	assert.True(p, two > one, "the lease %d is after the lease %d", two, one)
	p.expectError("ReleaseLease of one that another caller has taken", first.ReleaseLease(ctx, "a", one), storage.ErrLost)
	p.expectError("TakeLease after that", errOf(first.TakeLease(ctx, "a", longLease)), storage.ErrHeld)
	p.expectList(p.first, "", nil) // a lease is no record

	p.expectError("TakeLease after the end of the context", errOf(first.TakeLease(p.ended(), "free", longLease)), p.ended().Err())
	p.lease(second, "free", longLease)
	p.expectError("TakeLease of no name", errOf(first.TakeLease(ctx, "A", longLease)), storage.ErrName)
}

// checkLeaseEnds lets leases end by time: their holders learn it, and others get them.
func checkLeaseEnds(p *pair) {
	first, second := both[storage.Leaser](p)
	ctx := p.Context()
	one := p.lease(first, "a", shortLease)
	two, err := second.TakeLease(ctx, "a", longLease)
	for giveUp := time.Now().Add(patience); errors.Is(err, storage.ErrHeld) && time.Now().Before(giveUp); {
		time.Sleep(shortLease / 10)
		two, err = second.TakeLease(ctx, "a", longLease)
	}
	assert.OK(p, err, "TakeLease of one that has ended")
	assert.True(p, two > one, "the lease %d is after the lease %d", two, one)
	p.expectError("RenewLease of one that has ended", first.RenewLease(ctx, "a", one, longLease), storage.ErrLost)

	alone := p.lease(first, "b", -time.Second)
	p.expectError("RenewLease of one that no other caller has taken since", first.RenewLease(ctx, "b", alone, longLease), storage.ErrLost)
}

// checkLeaseByMany has many callers take one lease at once, and release it.
func checkLeaseByMany(p *pair) {
	_, second := both[storage.Leaser](p)
	last := int64(0)
	for range rounds {
		number := one(p, "TakeLease by many", storage.ErrHeld, func(s storage.Store) (int64, error) {
			return s.(storage.Leaser).TakeLease(p.Context(), "a", longLease)
		})
		assert.True(p, number > last, "the lease %d is after the lease %d", number, last)
		last = number
		assert.OK(p, second.ReleaseLease(p.Context(), "a", last), "ReleaseLease")
	}
}
