package filewatch_test

import (
	"os"
	"syscall"
)

// starve leaves this process no file descriptors to open. The files that it has open
// stay so.
func starve() bool {
	next, err := os.Open(os.DevNull)
	if err != nil {
		return false
	}
	least := uint64(next.Fd())
	if err := next.Close(); err != nil {
		return false
	}
	return syscall.Getrlimit(syscall.RLIMIT_NOFILE, &starved) == nil &&
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: least, Max: starved.Max}) == nil
}

// feed gives them back.
func feed() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &starved) }

// starved is the limit as it was.
var starved syscall.Rlimit
