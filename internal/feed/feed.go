// Package feed tells which of many named things have changed, by comparing two lists of them.
package feed

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Changes yields the empty name, which stands for all names, and then each name whose revision
// differs from one list to the next, or that has come or gone. List is called once before
// the first yield, so that nothing changes unseen in between, and again whenever wait has
// returned nil. A nil map means that there is no list now: the next one is compared with the last
// that was. Changes ends with the first error of list or wait, which it yields. It has
// no goroutine.
func Changes[R comparable](ctx context.Context, list func(context.Context) (map[string]R, error), wait func(context.Context) error) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var known map[string]R
		for {
			now, err := list(ctx)
			if err == nil && now != nil {
				if !tell(known, now, yield) {
					return
				}
				known = now
			}
			if err == nil {
				err = wait(ctx)
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

// tell yields how two lists differ, and reports whether the loop goes on.
func tell[R comparable](known, now map[string]R, yield func(string, error) bool) bool {
	if known == nil {
		return yield("", nil)
	}
	for name, at := range now {
		if was, ok := known[name]; (!ok || was != at) && !yield(name, nil) {
			return false
		}
	}
	for name := range known {
		if _, ok := now[name]; !ok && !yield(name, nil) {
			return false
		}
	}
	return true
}

// Sleep returns nil after a time, or ctx's error if that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Bell wakes all that wait for it. The zero value is ready for use, and must not be copied.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

// Rung returns a channel that is closed when the bell is rung next.
func (b *Bell) Rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// Ring wakes all that wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
