package keylock

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneAtATime(t *testing.T) {
	var set Set
	var counts [3]int // each guarded by the lock of its number
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			n := i % len(counts)
			for range 100 {
				unlock, err := set.Lock(context.Background(), strconv.Itoa(n))
				if err != nil {
					t.Error(err)
					return
				}
				counts[n]++
				unlock()
				unlock() // does nothing
			}
		})
	}
	wg.Wait()
	assert.Equal(t, counts, [3]int{2000, 2000, 2000}, "counted")
	assert.Equal(t, len(set.locks), 0, "locks remain")
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set Set
		unlock := assert.Value(set.Lock(t.Context(), "a"))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		assert.Is(t, assert.Err(set.Lock(ctx, "a")), context.DeadlineExceeded)
		assert.Is(t, assert.Err(set.Lock(ctx, "b")), context.DeadlineExceeded, "a free lock after the end")
		unlock()
		assert.Equal(t, len(set.locks), 0, "locks remain")
		assert.Value(set.Lock(t.Context(), "a"))(t)()
	})
}
