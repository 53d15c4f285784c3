// Package deadport has ports without a listener, for tests. A port that was merely
// closed may get another listener in a moment.
package deadport

import (
	"net"
	"testing"
)

// URL returns the URL of a port of this machine that has no listener, and can have none
// until the test is over, since a connection goes out from it.
func URL(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return "http://" + c.LocalAddr().String()
}
