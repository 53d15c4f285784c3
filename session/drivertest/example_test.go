package drivertest_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/session/driver"
	"github.com/mcpbelt/mcpbelt/session/drivertest"
)

func ExampleRun() {
	// In a test of your driver:
	_ = func(t *testing.T) {
		drivertest.Run(t, func(t testing.TB) driver.Store {
			store := driver.NewMemory()
			t.Cleanup(func() { _ = store.Close() })
			return store
		}, nil)
	}
}
