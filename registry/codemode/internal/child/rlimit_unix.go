//go:build unix && !freebsd

package child

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// rssUnit returns in what the system counts resident memory.
func rssUnit() int {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1 << 10
}

func setBoth(limit *unix.Rlimit, most uint64) { limit.Cur, limit.Max = most, most }
