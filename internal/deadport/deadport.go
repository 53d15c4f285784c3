// Package deadport has ports at which nobody listens, for tests. One that was only let go
// of may be somebody else's in a moment.
package deadport

import (
	"net"
	"testing"
)

// URL returns the URL of a port of this machine at which nobody listens, and nobody can
// until the test is over: a connection goes out from it.
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
