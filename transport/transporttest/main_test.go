package transporttest_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// tooLong bounds waits that a correct transport never has, on a busy machine neither.
const tooLong = 2 * time.Minute

func TestMain(m *testing.M) {
	beVictim()
	transporttest.RunChild()
	// Parallel tests wait for processes, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
