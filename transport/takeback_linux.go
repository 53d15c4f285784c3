package transport

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxPipe is above the largest size that a pipe has unless its owner enlarges it.
const maxPipe = 1 << 20

// keepReadable opens the reading end of a pipe a second time. The new handle
// does not share its mode with the child's, so reading from it never waits, not
// even if the child reads the last bytes at the same moment. It returns nil if
// that is not possible, as where /proc is not mounted.
func keepReadable(end *os.File) *os.File {
	raw, err := end.SyscallConn()
	if err != nil {
		return nil
	}
	again, openErr := -1, error(nil)
	if err := raw.Control(func(fd uintptr) {
		again, openErr = unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	}); err != nil || openErr != nil {
		return nil
	}
	return os.NewFile(uintptr(again), end.Name())
}

// takeBack reads all that a pipe holds with one call, which no other reader can
// interrupt, and returns how much that was.
func takeBack(end *os.File) int64 {
	raw, err := end.SyscallConn()
	if err != nil {
		return 0
	}
	size := 0
	if err := raw.Control(func(fd uintptr) {
		size, _ = unix.Read(int(fd), make([]byte, maxPipe))
	}); err != nil {
		return 0
	}
	return int64(max(size, 0))
}
