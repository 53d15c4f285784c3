package memo_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/memo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCellKeepsTheNewest(t *testing.T) {
	var c memo.Cell
	assert.Equal(t, c.Get(1), nil)
	for key := range 10 {
		c.Put(key, key*2)
	}
	c.Put(5, "again")
	for key, want := range []any{nil, nil, 4, 6, 8, "again", 12, 14, 16, 18} {
		assert.Equal(t, c.Get(key), want, "%d", key)
	}
}

func TestNilCellRemembersNothing(t *testing.T) {
	var c *memo.Cell
	c.Put(1, 2)
	assert.Equal(t, c.Get(1), nil)
}

func TestCellInParallel(t *testing.T) {
	var c memo.Cell
	var all sync.WaitGroup
	for key := range 8 {
		all.Go(func() {
			for range 100 {
				c.Put(key, key)
				assert.Equal[any](t, c.Get(key), key)
			}
		})
	}
	all.Wait()
}
