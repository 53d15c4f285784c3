//go:build !linux

package proc

import (
	"os"
	"syscall"
)

// CloseInherited does nothing. On Windows a child gets its own handles only.
func CloseInherited() error { return nil }

// Vitals say how a process is. This system does not.
type Vitals struct{}

// WatchVitals returns the vitals of a process.
func WatchVitals(int) *Vitals { return &Vitals{} }

// Close does nothing.
func (v *Vitals) Close() {}

// Doomed returns false: it is not known.
func (v *Vitals) Doomed() bool { return false }

// A Watch is made on Linux only.
type Watch struct{}

// WatchReadable returns nil.
func WatchReadable(*os.File, func()) *Watch { return nil }

// Again does nothing.
func (w *Watch) Again() {}

// End does nothing.
func (w *Watch) End() {}

// ReadNow returns ErrNothing.
func ReadNow(syscall.RawConn, []byte) (n int, err error) { return 0, ErrNothing }

// OpenEnd returns nil.
func OpenEnd(int) *os.File { return nil }

// HasEnded returns false: it is not known.
func HasEnded(int) bool { return false }
