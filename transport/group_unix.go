//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A group is the process group of a child, which the child leads, and what else
// holds the child's mark.
type group struct {
	process  *os.Process
	watchdog *watchdog
	mark     string
}

// startGroup starts a child that the watchdog knows of, with a mark.
func startGroup(cmd *exec.Cmd, watchdog *watchdog, start func(*exec.Cmd) error) (*group, error) {
	mark := watchdog.enroll()
	cmd.Env = append(cmd.Env, mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := start(cmd); err != nil {
		return nil, err
	}
	watchdog.keeper.add(cmd.Process.Pid)
	return &group{cmd.Process, watchdog, mark}, nil
}

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }
func (g *group) release()   {}

// signal reaches the whole group. Its id cannot have passed to strangers: it
// stays taken while the leader is not reaped or another member lives, and
// without either the group is empty and nothing is signalled after await.
func (g *group) signal(s syscall.Signal) { _ = syscall.Kill(-g.process.Pid, s) }

// awaitEmpty waits until a killed group has no member left, but not longer than
// for the given time: where no process reaps orphans, they stay as zombies.
func (g *group) awaitEmpty(within time.Duration) {
	const look = time.Millisecond
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(look) {
		if syscall.Kill(-g.process.Pid, 0) != nil {
			return
		}
	}
}

func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

func systemEnvNames() []string {
	return []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
}
