package backoff

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFullStaysInItsRange(t *testing.T) {
	const floor, base, ceiling = 10 * time.Millisecond, 500 * time.Millisecond, 60 * time.Second
	for attempt, top := range []time.Duration{500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000} {
		top *= time.Millisecond
		longest := time.Duration(0)
		for range 2000 {
			d := Full(attempt, floor, base, ceiling)
			if d < floor || d > top {
				t.Fatalf("attempt %d: %v is not in [%v, %v]", attempt, d, floor, top)
			}
			longest = max(longest, d)
		}
		assert.True(t, longest >= top/2, "attempt %d: the longest of 2000 waits is %v of at most %v", attempt, longest, top)
	}
	assert.True(t, Full(1_000_000, 0, base, ceiling) <= ceiling, "after many attempts")
}
