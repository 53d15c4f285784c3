package stall_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

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
		if len(over) > 0 {
			t.Errorf("got the end of a wait that was stopped, after %v", over)
		}
		begin = time.Now()
		w.Start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(over) != 1 || over[0] != 30*time.Second {
			t.Errorf("got the end after %v, want once after 30s", over)
		}
	})
}
