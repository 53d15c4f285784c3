package transport

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// await returns when the leader has ended and the rest of its group is killed.
// The group is killed before the leader is reaped: until then its id, which is
// the group's, cannot pass to a stranger.
func (g *group) await(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, g.process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	g.kill()
	return cmd.Wait()
}

// leaderKilled reports whether the leader has ended, or has a SIGKILL that it
// has not died of yet.
func (g *group) leaderKilled() bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(g.process.Pid) + "/status")
	if err != nil {
		return os.IsNotExist(err)
	}
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t"))
		switch string(name) {
		case "State":
			if len(value) > 0 && (value[0] == 'Z' || value[0] == 'X') {
				return true
			}
		case "SigPnd", "ShdPnd":
			pending, err := strconv.ParseUint(string(value), 16, 64)
			if err == nil && pending&(1<<(unix.SIGKILL-1)) != 0 {
				return true
			}
		}
	}
	return false
}
