//go:build unix

package loginpath

import (
	"os/exec"
	"syscall"
)

// detach runs a command in a session of its own, so that an interactive shell does not
// take the terminal, and ends it with all that it has started there.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
