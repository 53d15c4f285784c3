// Package memo remembers what was made of a value that never changes.
package memo

import (
	"slices"
	"sync/atomic"
)

// most is how many results a [Cell] keeps.
const most = 8

// A Cell holds what was made of one value, by how it was made: at most 8 results, of
// which the oldest goes first. The nil Cell remembers nothing, the zero Cell is empty.
// It is safe for concurrent use; reading never waits and allocates nothing.
type Cell struct {
	results atomic.Pointer[[]result] // never changed
}

type result struct{ key, value any }

// Get returns the result of a key, which is comparable; nil if there is none.
func (c *Cell) Get(key any) any {
	if c == nil {
		return nil
	}
	if results := c.results.Load(); results != nil {
		for _, r := range *results {
			if r.key == key {
				return r.value
			}
		}
	}
	return nil
}

// Put keeps the result of a key, which is comparable.
func (c *Cell) Put(key, value any) {
	for c != nil {
		before := c.results.Load()
		var kept []result
		if before != nil {
			kept = slices.DeleteFunc(slices.Clone(*before), func(r result) bool { return r.key == key })
		}
		kept = append(kept, result{key, value})
		kept = slices.Clone(kept[max(0, len(kept)-most):])
		if c.results.CompareAndSwap(before, &kept) {
			return
		}
	}
}
