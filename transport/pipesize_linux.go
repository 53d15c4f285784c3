package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// stdoutSize is the size of the pipe for a server's output: twice the usual, so
// that most large answers fit and server and client need not take turns. All
// pipes of a user share a limit, so it is not more.
const stdoutSize = 128 << 10

// widen enlarges a pipe, if the system allows it.
func widen(end *os.File) {
	raw, err := end.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, stdoutSize)
	})
}
