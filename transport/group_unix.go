//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
)

// A group is the process group of a child, which the child leads.
type group struct {
	process *os.Process
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd.Process}, nil
}

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }
func (g *group) release()   {}

// signal reaches the whole group. Its id cannot have passed to strangers: it
// stays taken while the leader is not reaped or another member lives, and
// without either the group is empty and nothing is signalled after await.
func (g *group) signal(s syscall.Signal) { _ = syscall.Kill(-g.process.Pid, s) }

func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

func baseEnvNames() []string {
	return []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
}
