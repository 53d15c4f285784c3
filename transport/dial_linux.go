package transport

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged makes a socket fail when the other machine has not
// acknowledged what was sent to it for as long as deadPeer. A machine whose
// server is busy acknowledges; one that is gone does not.
func boundUnacknowledged(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		// Without it the sockets work all the same.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
	})
}
