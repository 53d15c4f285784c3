// Package turnover finds out whether a pool has too few places for those who use it.
package turnover

import (
	"time"

	"github.com/mcpbelt/mcpbelt/internal/lru"
)

const (
	// span is how long a key that lost its place is expected back.
	span = time.Minute
	// mostGone bounds how many of them are remembered.
	mostGone = 1 << 14
)

// A Turnover counts the keys that get a place again soon after they lost it to another
// one. The zero Turnover is empty. It is not safe for concurrent use.
type Turnover[K comparable] struct {
	gone    lru.Map[K, time.Time] // which keys lost a place, and when
	since   time.Time             // when the present span began
	returns [2]int                // in the present span, and in the one before
}

// Lost notes that a key lost its place to another one.
func (t *Turnover[K]) Lost(key K) {
	now := time.Now()
	t.gone.Delete(key)
	t.gone.Put(key, now)
	t.forget(now)
}

// Got notes that a key got a place.
func (t *Turnover[K]) Got(key K) {
	now := time.Now()
	t.forget(now)
	if _, back := t.gone.Peek(key); back {
		t.gone.Delete(key)
		t.returns[0]++
	}
}

// Wanted returns how many places all keys of the last minute would have taken, of which
// some have one now, if in a minute as many came back as there are places, or more keys
// lost theirs than are remembered; else 0.
func (t *Turnover[K]) Wanted(places, taken int) int {
	t.forget(time.Now())
	if max(t.returns[0], t.returns[1]) < places && t.gone.Len() < mostGone {
		return 0
	}
	return max(taken+t.gone.Len(), places+1)
}

// forget drops what is too long ago, or too much.
func (t *Turnover[K]) forget(now time.Time) {
	for key, at := range t.gone.Oldest() {
		if now.Sub(at) <= span && t.gone.Len() <= mostGone {
			break
		}
		t.gone.Delete(key)
	}
	switch ago := now.Sub(t.since); {
	case ago >= 2*span:
		t.since, t.returns = now, [2]int{}
	case ago >= span:
		t.since, t.returns = now, [2]int{0, t.returns[0]}
	}
}
