//go:build unix && !(linux && (amd64 || arm64 || riscv64 || loong64))

package child

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// confineSystem keeps the process from starting others, where a thread is none.
func confineSystem(*Run) []string {
	if runtime.GOOS != "linux" {
		setLimit(unix.RLIMIT_NPROC, 0)
	}
	return nil
}
