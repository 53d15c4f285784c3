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
		if !p.MayBeBusy() {
			t.Error("before the end of what was abandoned: got not busy, want busy")
		}
		time.Sleep(time.Second)
		if p.MayBeBusy() {
			t.Error("at the end of what was abandoned: got busy, want not")
		}
		if p.BeatAt(time.Now()); p.Heard() == first {
			t.Error("got the same sign of life twice, want another")
		}
	})
}
