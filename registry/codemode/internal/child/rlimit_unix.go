//go:build unix && !freebsd

package child

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// maxrssUnit is in what the system counts resident memory.
var maxrssUnit = map[bool]int{true: 1, false: 1 << 10}[runtime.GOOS == "darwin"]

func setBoth(limit *unix.Rlimit, most uint64) { limit.Cur, limit.Max = most, most }
