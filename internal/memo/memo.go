// Package memo remembers what was made of a value that never changes.
package memo

import "sync/atomic"

// most is how many results a [Cell] keeps.
const most = 8

// A Cell holds what was made of one value, by how it was made: at most 8 results, of
// which the oldest goes first. The nil Cell remembers nothing, the zero Cell is empty.
// It is safe for concurrent use; reading never waits and allocates nothing.
type Cell struct {
	newest atomic.Pointer[result]
}

// A result is never changed.
type result struct {
	key, value any
	older      *result
}

// Get returns the result of a key, which is comparable; nil if there is none.
func (c *Cell) Get(key any) any {
	if c == nil {
		return nil
	}
	for r := c.newest.Load(); r != nil; r = r.older {
		if r.key == key {
			return r.value
		}
	}
	return nil
}

// Put keeps the result of a key, which is comparable.
func (c *Cell) Put(key, value any) {
	for c != nil {
		before := c.newest.Load()
		if c.newest.CompareAndSwap(before, &result{key, value, before.without(key, most-1)}) {
			return
		}
	}
}

// without returns r and those older than it but the one of a key, at most n.
func (r *result) without(key any, n int) *result {
	switch {
	case r == nil || n == 0:
		return nil
	case r.key == key:
		return r.older.without(key, n)
	}
	return &result{r.key, r.value, r.older.without(key, n-1)}
}
