package filestore

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/session/driver"
	"github.com/mcpbelt/mcpbelt/session/drivertest"
)

func openTest(t testing.TB, dir string) *folder {
	t.Helper()
	f, err := openFolder(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestDriver(t *testing.T) {
	drivertest.Run(t,
		func(t testing.TB) driver.Store { return openTest(t, t.TempDir()) },
		&drivertest.Options{Reopen: func(t testing.TB, s driver.Store) driver.Store { return openTest(t, s.(*folder).dir) }})
}
