//go:build unix

package child

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// confine takes from the process what it does not need to run a script, and says by what.
func confine(b *Run) []string {
	setLimit(unix.RLIMIT_CORE, 0)
	setLimit(unix.RLIMIT_FSIZE, 0)
	setLimit(unix.RLIMIT_NOFILE, maxFiles)
	setLimit(unix.RLIMIT_CPU, uint64(usedCPU().Seconds())+uint64(b.CPU/1000)+2) // behind the watch
	return append([]string{"rlimits"}, confineSystem(b)...)
}

const maxFiles = 32

// setLimit lowers a limit, which stays as it is if it is lower.
func setLimit(resource int, most uint64) {
	var now unix.Rlimit
	if unix.Getrlimit(resource, &now) != nil || uint64(now.Max) < most {
		return
	}
	setBoth(&now, most)
	_ = unix.Setrlimit(resource, &now)
}

// usedCPU returns the processor time of this process; 0: it is not known.
func usedCPU() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// usedMemory returns a function that tells the resident memory: by a file that is opened
// before none can be or, where there is none, the most that it was.
func usedMemory() func() int {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return mostMemory
	}
	page := os.Getpagesize()
	return func() int {
		var line [128]byte
		n, _ := f.ReadAt(line[:], 0)
		fields := strings.Fields(string(line[:n]))
		if len(fields) < 2 {
			return 0
		}
		pages, _ := strconv.Atoi(fields[1])
		return pages * page
	}
}

func mostMemory() int {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return int(used.Maxrss) * rssUnit()
}
