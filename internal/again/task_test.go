package again_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The function runs once for all that wakes it while it runs, and not after End.
func TestTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		leave := make(chan struct{})
		task := again.New(func() { runs++; <-leave })
		step := func(name string, do func(), want int) {
			t.Helper()
			do()
			synctest.Wait()
			assert.Equal(t, runs, want, "%s: runs", name)
		}
		step("made", func() {}, 0)
		step("woken", task.Wake, 1)
		step("woken while it runs", func() { task.Wake(); task.Wake() }, 1)
		step("after it", func() { leave <- struct{}{} }, 2)
		step("nothing more", func() { leave <- struct{}{} }, 2)
		step("woken later", task.Wake, 3)
		task.Wake()
		ended := make(chan struct{})
		step("ending", func() { go func() { defer close(ended); task.End() }() }, 3)
		step("ended", func() { leave <- struct{}{}; <-ended }, 3)
		step("woken after the end", task.Wake, 3)
	})
}

func TestTaskInParallel(t *testing.T) {
	var changes, seen, running atomic.Int64
	task := again.New(func() {
		assert.Equal(t, running.Add(1), 1, "runs at the same time")
		seen.Store(changes.Load())
		running.Add(-1)
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1_000 {
				changes.Add(1)
				task.Wake()
			}
		})
	}
	all.Wait()
	for seen.Load() != 8_000 { // which the last run sees
		runtime.Gosched()
	}
	task.End()
}
