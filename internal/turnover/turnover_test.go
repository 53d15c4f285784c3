package turnover

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pass gives places to so many keys one after the other; each takes that of the one
// which came so many places before it.
func pass(t *Turnover[int], keys, places, rounds int) {
	for i := range keys * rounds {
		if i >= places {
			t.Lost((i - places) % keys)
		}
		t.Got(i % keys)
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		name                 string
		keys, places, rounds int
		want                 int
	}{
		{"as many keys as places", 4, 8, 10, 0},
		{"each key once", 100, 8, 1, 0},
		{"one key too many", 9, 8, 10, 9},
		{"many keys", 100, 8, 3, 100},
		{"more than are remembered", 2 * mostGone, 8, 2, mostGone + 8},
	} {
		synctest.Test(t, func(t *testing.T) {
			var turnover Turnover[int]
			if c.keys > c.places {
				pass(&turnover, c.keys, c.places, c.rounds)
			}
			assert.Equal(t, turnover.Wanted(c.places, c.places), c.want, "%s: places", c.name)
			if got := turnover.gone.Len(); got > mostGone {
				t.Errorf("%s: got %d keys remembered, want at most %d", c.name, got, mostGone)
			}
		})
	}
}

func TestWantedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turnover Turnover[int]
		pass(&turnover, 20, 4, 5)
		time.Sleep(span + 1)
		turnover.Got(1)
		if got, want := turnover.Wanted(4, 4), 5; got != want {
			t.Errorf("got %d places in the next minute, want %d: one more than there are", got, want)
		}
		time.Sleep(span)
		assert.Equal(t, turnover.Wanted(4, 4), 0, "places when all is quiet")
	})
}
