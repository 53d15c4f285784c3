package pulse

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pulse
		p.Beat()
		first := p.Heard()
		p.Abandoned(time.Minute)
		time.Sleep(59 * time.Second)
		assert.Equal(t, p.Silence(), 59*time.Second, "a silence of")
		assert.True(t, p.MayBeBusy(), "before the end of what was abandoned: busy")
		time.Sleep(time.Second)
		assert.False(t, p.MayBeBusy(), "at the end of what was abandoned: busy")
		p.BeatAt(time.Now())
		assert.True(t, p.Heard() != first, "another sign of life")
	})
}
