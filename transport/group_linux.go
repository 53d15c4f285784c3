package transport

import (
	"os/exec"

	"github.com/mcpbelt/mcpbelt/internal/proc"
	"golang.org/x/sys/unix"
)

// await returns when the leader has ended and what it left behind is killed.
// The group is killed, and dropped from the watchdog's list, before the leader
// is reaped: until then its id, which is the group's, cannot pass to a stranger.
func (g *group) await(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, g.process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	g.kill()
	proc.EndMarked(g.mark, orphanTimeout)
	g.watchdog.keeper.drop(g.process.Pid)
	return cmd.Wait()
}
