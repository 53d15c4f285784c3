package storagetest

import (
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// longLease does not end while the kit runs, and shortLease does soon.
	longLease  = time.Hour
	shortLease = 100 * time.Millisecond
)

// leasers returns the stores as Leasers, or skips the test.
func (p *pair) leasers() (first, second storage.Leaser) { return both[storage.Leaser](p) }

// lease takes a lease and expects to get it.
func (p *pair) lease(l storage.Leaser, name string, ttl time.Duration) (number int64) {
	p.Helper()
	number, err := l.TakeLease(p.Context(), name, ttl)
	if err != nil {
		p.Fatalf("TakeLease(%q): %v", name, err)
	}
	return number
}

func checkLease(p *pair) {
	first, second := p.leasers()
	ctx := p.Context()
	one := p.lease(first, "a", longLease)
	_, err := second.TakeLease(ctx, "a", longLease)
	p.expectError("TakeLease of one that is held", err, storage.ErrHeld)
	_, err = first.TakeLease(ctx, "a", longLease)
	p.expectError("TakeLease of one that the caller holds", err, storage.ErrHeld)
	p.lease(second, "b", longLease) // another name
	if err := first.RenewLease(ctx, "a", one, longLease); err != nil {
		p.Errorf("RenewLease: %v", err)
	}
	p.expectError("RenewLease by another number", second.RenewLease(ctx, "a", one+1, longLease), storage.ErrLost)
	p.expectError("ReleaseLease by another number", second.ReleaseLease(ctx, "a", one+1), storage.ErrLost)
	if err := first.ReleaseLease(ctx, "a", one); err != nil {
		p.Errorf("ReleaseLease: %v", err)
	}
	p.expectError("RenewLease after ReleaseLease", first.RenewLease(ctx, "a", one, longLease), storage.ErrLost)
	two := p.lease(second, "a", longLease)
	if two <= one {
		p.Errorf("the next lease has the number %d, want one greater than %d", two, one)
	}
	p.expectError("ReleaseLease of one that another caller has taken", first.ReleaseLease(ctx, "a", one), storage.ErrLost)
	_, err = first.TakeLease(ctx, "a", longLease)
	p.expectError("TakeLease after that", err, storage.ErrHeld)
	p.expectList(p.first, "", nil) // a lease is no record

	_, err = first.TakeLease(p.ended(), "free", longLease)
	p.expectError("TakeLease after the end of the context", err, p.ended().Err())
	p.lease(second, "free", longLease)
	_, err = first.TakeLease(ctx, "A", longLease)
	p.expectError("TakeLease of no name", err, storage.ErrName)
}

// checkLeaseEnds lets leases end by time: their holders learn it, and others get them.
func checkLeaseEnds(p *pair) {
	first, second := p.leasers()
	ctx := p.Context()
	one := p.lease(first, "a", shortLease)
	two, err := second.TakeLease(ctx, "a", longLease)
	for giveUp := time.Now().Add(patience); errors.Is(err, storage.ErrHeld) && time.Now().Before(giveUp); {
		time.Sleep(shortLease / 10)
		two, err = second.TakeLease(ctx, "a", longLease)
	}
	if err != nil {
		p.Fatalf("TakeLease of one that has ended: %v", err)
	}
	if two <= one {
		p.Errorf("the next lease has the number %d, want one greater than %d", two, one)
	}
	p.expectError("RenewLease of one that has ended", first.RenewLease(ctx, "a", one, longLease), storage.ErrLost)

	alone := p.lease(first, "b", -time.Second)
	p.expectError("RenewLease of one that no other caller has taken since", first.RenewLease(ctx, "b", alone, longLease), storage.ErrLost)
}

// checkLeaseByMany has many callers take one lease at once, and release it.
func checkLeaseByMany(p *pair) {
	_, second := p.leasers()
	last := int64(0)
	for range rounds {
		number := one(p, "TakeLease by many", storage.ErrHeld, func(s storage.Store) (int64, error) {
			return s.(storage.Leaser).TakeLease(p.Context(), "a", longLease)
		})
		if number <= last {
			p.Errorf("got the number %d after %d", number, last)
		}
		last = number
		if err := second.ReleaseLease(p.Context(), "a", last); err != nil {
			p.Errorf("ReleaseLease: %v", err)
		}
	}
}
