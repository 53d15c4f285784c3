package memo_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/memo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCellKeepsTheNewest(t *testing.T) {
	var c memo.Cell
	if got := c.Get(1); got != nil {
		t.Errorf("got %v of the empty cell, want nil", got)
	}
	for key := range 10 {
		c.Put(key, key*2)
	}
	c.Put(5, "again")
	for key, want := range []any{nil, nil, 4, 6, 8, "again", 12, 14, 16, 18} {
		if got := c.Get(key); got != want {
			t.Errorf("got %v for %d, want %v", got, key, want)
		}
	}
}

func TestNilCellRemembersNothing(t *testing.T) {
	var c *memo.Cell
	c.Put(1, 2)
	if got := c.Get(1); got != nil {
		t.Errorf("got %v, want nil", got)
	}
}

func TestCellInParallel(t *testing.T) {
	var c memo.Cell
	var all sync.WaitGroup
	for key := range 8 {
		all.Go(func() {
			for range 100 {
				c.Put(key, key)
				if got := c.Get(key); got != key {
					t.Errorf("got %v, want %d", got, key)
				}
			}
		})
	}
	all.Wait()
}
