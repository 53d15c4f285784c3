package proc

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// CloseInherited sees to it that the processes started from now on get none of the
// descriptors that this process has open, but those that are given to them. Go opens
// all its files so, but C libraries do not always, and what this process has inherited
// itself is open, too.
func CloseInherited() error {
	if unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return closeListed() // before Linux 5.11, or in a sandbox
}

// closeListed does what CloseInherited does, by the list of descriptors in /proc.
func closeListed() error {
	const list = "/proc/self/fd"
	open, err := os.ReadDir(list)
	if err != nil {
		return fmt.Errorf("descriptors that it must not inherit cannot be found: %w", err)
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
