// Tests of httpstream.go from inside: when a stream is opened again.

package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A stream that lasted is opened again almost at once. After streams that ended sooner, and
// attempts that failed, the waits grow, and no longer is anything read because of them.
func TestListeningWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s listening
		lives := func(d time.Duration, brings bool, asked time.Duration) (wait time.Duration, tell bool) {
			s.open(time.Now())
			s.brings = brings
			time.Sleep(d) // sleep: on the bubble's clock
			wait = s.next(asked)
			return wait, s.tell()
		}
		for n := range 60 {
			wait, tell := lives(time.Second, false, 0)
			assert.Equal(t, tell, n == 0, "stream %d of a second: lists are read", n)
			if n == 0 {
				assert.Equal(t, wait, reopenSoon, "first wait")
			} else {
				assert.True(t, wait >= defaultRetry/2 && wait <= idleRetry, "wait of half a second to five minutes after stream %d: %v", n, wait)
			}
		}
		wait, tell := lives(0, true, 0)
		assert.True(t, tell && wait <= longestRetry, "after a stream that brought a message: lists read, at most %v: %v", longestRetry, wait)
		wait, _ = lives(0, true, 2*time.Second)
		assert.Equal(t, wait, 2*time.Second, "wait that a server which brings messages asks for")
		wait, _ = lives(0, true, 1)
		assert.True(t, wait >= defaultRetry/2, "wait of half a second at least: %v", wait)
		_ = s.next(0) // a failure
		assert.True(t, !s.tell(), "nothing is missed by a failure")
		wait, tell = lives(steadyStream, false, 0)
		assert.Equal(t, wait, reopenSoon, "wait after a stream that lasted")
		assert.True(t, tell, "lists are read after a stream that lasted")
	})
}
