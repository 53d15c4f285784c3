package keylock

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
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
	if want := [3]int{2000, 2000, 2000}; counts != want {
		t.Errorf("counted %v, want %v", counts, want)
	}
	if len(set.locks) != 0 {
		t.Errorf("%d locks remain", len(set.locks))
	}
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set Set
		unlock, err := set.Lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := set.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second lock: %v, want the end of its context", err)
		}
		if _, err := set.Lock(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a free lock after the end: %v", err)
		}
		unlock()
		if len(set.locks) != 0 {
			t.Errorf("%d locks remain", len(set.locks))
		}
		again, err := set.Lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}
