package stall_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/stall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Over is called once, 30 seconds after Start, unless Stop was called before.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over []time.Duration
		begin := time.Now()
		w := stall.Watch{Over: func() { over = append(over, time.Since(begin)) }}
		w.Start()
		time.Sleep(29 * time.Second)
		w.Start() // goes on
		w.Stop()
		time.Sleep(time.Minute)
		assert.Equal(t, len(over), 0, "ends of a wait that was stopped")
		begin = time.Now()
		w.Start()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, fmt.Sprint(over), "[30s]", "ends")
	})
}
