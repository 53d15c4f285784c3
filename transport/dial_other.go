//go:build !linux

package transport

import "syscall"

// boundUnacknowledged does nothing: this system has its own bound.
func boundUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }
