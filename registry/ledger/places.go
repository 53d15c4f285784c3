package ledger

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
)

// Places are the ledgers that keep the servers of other places, see Options.Open.
type places struct {
	open    func(place string) (*Ledger, error)
	opening keylock.Set // by place

	mu    sync.Mutex    // guards the following; nothing slow happens under it
	known []*Ledger     // that are open, in the order in which they were opened
	grown chan struct{} // closed when another one is open; nil: nobody waits for it
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
	if part := l.places.at(place); part != nil {
		return part, nil
	}
	unlock, err := l.places.opening.Lock(context.Background(), place)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if part := l.places.at(place); part != nil {
		return part, nil
	}
	part, err := l.places.open(place)
	if err != nil {
		return nil, err
	}
	if part == nil || part.turn == nil || part == l {
		return l, nil
	}
	part.place, part.whole = place, l
	l.places.add(part)
	l.show(nil)
	return part, nil
}

// at returns the ledger of a place that is open; nil if there is none.
func (p *places) at(place string) *Ledger {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.known {
		if part.place == place {
			return part
		}
	}
	return nil
}

// add adds a ledger that is open, and wakes those that wait for another one.
func (p *places) add(part *Ledger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = append(p.known, part)
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
	defer l.places.mu.Unlock()
	if l.places.grown == nil {
		l.places.grown = make(chan struct{})
	}
	return append([]*Ledger{l}, l.places.known...), l.places.grown
}

// eachPart calls f for the ledger and for those of other places, and joins the errors.
func (l *Ledger) eachPart(f func(part *Ledger) error) error {
	var errs []error
	parts, _ := l.parts()
	for _, part := range parts {
		errs = append(errs, f(part))
	}
	return errors.Join(errs...)
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

// placed gives a change the place of the ledger that keeps it.
func (l *Ledger) placed(c *Change) *Change {
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
