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
		if got := again.delay(0); got < defaultRetry/2 {
			t.Errorf("at once after it: got %v, want at least %v", got, defaultRetry/2)
		}
		time.Sleep(defaultRetry) // sleep: on a fake clock
		if got := again.delay(1); got < defaultRetry/2 {
			t.Errorf("after an attempt that failed: got %v, want at least %v", got, defaultRetry/2)
		}
		assert.Equal(t, again.delay(0), reopenSoon, "a second later")
	})
}
