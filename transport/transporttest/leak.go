package transporttest

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"
)

// checkLeaks fails the test if goroutines that start after it are still there
// after the test's other cleanups, however long they get to end.
func checkLeaks(t *testing.T) {
	t.Helper()
	before := goroutines()
	t.Cleanup(func() {
		deadline := time.NewTimer(tooLong)
		defer deadline.Stop()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			left := goroutines()
			for id := range before {
				delete(left, id)
			}
			if len(left) == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-deadline.C:
				for _, stack := range left {
					t.Errorf("a goroutine is left:\n%s", stack)
				}
				return
			}
		}
	})
}

// goroutines returns the stacks of all goroutines by their first word, which
// holds the id.
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	all := map[string]string{}
	for stack := range bytes.SplitSeq(buf, []byte("\n\n")) {
		id, _, _ := strings.Cut(string(stack), " [")
		all[id] = string(stack)
	}
	return all
}
