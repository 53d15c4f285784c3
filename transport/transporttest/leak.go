package transporttest

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
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
		giveUp := time.Now().Add(tooLong)
		for range time.Tick(5 * time.Millisecond) {
			left := goroutines()
			maps.DeleteFunc(left, func(id, _ string) bool { return before[id] != "" })
			if len(left) == 0 {
				return
			}
			if time.Now().After(giveUp) {
				t.Errorf("goroutines are left:\n%s", strings.Join(slices.Collect(maps.Values(left)), "\n\n"))
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
