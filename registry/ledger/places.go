package ledger

import (
	"context"
	"slices"
	"sync"
)

// Places are the ledgers that keep the servers of other places, see Options.Open.
type places struct {
	open func(place string) (*Ledger, error)

	mu    sync.Mutex      // guards the following; nothing slow happens under it
	known []*placedLedger // in the order in which they were first asked for
	grown chan struct{}   // closed when another one is open; nil: nobody waits for it
}

// A placedLedger is the ledger of a place.
type placedLedger struct {
	place  string
	mu     sync.Mutex // held while it is opened; guards the following
	ledger *Ledger    // nil: it is not open
}

// At returns the ledger that keeps the servers of a [Server].Place: l itself unless
// [Options].Open has another one, which it opens now if it is not open. If that fails it returns nil, a
// ledger that holds back everything, and why.
func (l *Ledger) At(place string) (*Ledger, error) {
	if l == nil || l.turn == nil {
		return l, errNoLedger
	}
	if place == "" || l.places.open == nil {
		return l, nil
	}
	p := l.places.placed(place)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ledger != nil {
		return p.ledger, nil
	}
	part, err := l.places.open(place)
	if err != nil {
		return nil, err
	}
	if part == nil || part.turn == nil || part == l {
		return l, nil
	}
	part.place, part.whole = place, l
	p.ledger = part
	l.places.announce()
	l.show(nil)
	return part, nil
}

// placed returns the entry of a place.
func (p *places) placed(place string) *placedLedger {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.known, func(known *placedLedger) bool { return known.place == place })
	if i < 0 {
		i = len(p.known)
		p.known = append(p.known, &placedLedger{place: place})
	}
	return p.known[i]
}

// announce wakes those that wait for another ledger.
func (p *places) announce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.grown != nil {
		close(p.grown)
		p.grown = nil
	}
}

// parts returns the ledger and those of other places that are open, and a channel that is closed
// when there is another one.
func (l *Ledger) parts() ([]*Ledger, <-chan struct{}) {
	if l == nil || l.turn == nil {
		return nil, nil
	}
	l.places.mu.Lock()
	if l.places.grown == nil {
		l.places.grown = make(chan struct{})
	}
	known, grown := slices.Clone(l.places.known), l.places.grown
	l.places.mu.Unlock()
	parts := []*Ledger{l}
	for _, p := range known {
		p.mu.Lock()
		if p.ledger != nil {
			parts = append(parts, p.ledger)
		}
		p.mu.Unlock()
	}
	return parts, grown
}

// followParts follows the ledgers of other places, also those that are opened later, until ctx ends.
func (l *Ledger) followParts(ctx context.Context, running *sync.WaitGroup) {
	following := map[*Ledger]bool{l: true}
	for {
		parts, grown := l.parts()
		for _, part := range parts {
			if !following[part] {
				following[part] = true
				running.Go(func() { _ = part.follow(ctx) })
			}
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return
		}
	}
}

// named gives a change the place of the ledger that keeps it.
func (l *Ledger) named(c *Change) *Change {
	if c != nil && l != nil {
		c.Place = l.place
	}
	return c
}

// byPlace sorts changes by the ledgers that keep them.
func (l *Ledger) byPlace(changes []Change) (map[*Ledger][]Change, error) {
	sorted := map[*Ledger][]Change{}
	for _, c := range changes {
		part, err := l.At(c.Place)
		if err != nil {
			return nil, err
		}
		sorted[part] = append(sorted[part], c)
	}
	return sorted, nil
}
