//go:build !linux

package transport

import (
	"os"
	"syscall"
)

// widen does nothing: here the size of a pipe cannot be chosen.
func widen(*os.File) {}

// boundUnacknowledged does nothing: this system has its own bound.
func boundUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }
