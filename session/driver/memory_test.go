package driver_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/session/driver"
	"github.com/mcpbelt/mcpbelt/session/drivertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A memory can be open only once; the same one twice is as good as two of them.
func TestMemory(t *testing.T) {
	drivertest.Run(t, func(t testing.TB) driver.Store { return driver.NewMemory() }, nil)
}
