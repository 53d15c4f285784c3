// Tests of httpstream.go from inside: when a stream is opened again.

package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A stream that breaks is opened again at once, but not more often than each second.
func TestReopening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var again reopening
		assert.Equal(t, again.delay(0), reopenSoon, "first")
		assert.True(t, again.delay(0) >= defaultRetry/2, "at once after it: a longer delay")
		time.Sleep(defaultRetry)
		assert.True(t, again.delay(1) >= defaultRetry/2, "after an attempt that failed: a longer delay")
		assert.Equal(t, again.delay(0), reopenSoon, "a second later")
	})
}
