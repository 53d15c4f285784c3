package transport

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// await returns when the leader has ended and what it left behind is killed.
// The group is killed, and dropped from the watchdog's list, before the leader
// is reaped: until then its id, which is the group's, cannot pass to a stranger.
func (g *group) await(cmd *exec.Cmd) error {
	if !awaitPolled(g.process.Pid) {
		for unix.Waitid(unix.P_PID, g.process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}
	g.kill()
	endMarked(g.mark, orphanTimeout)
	g.watchdog.keeper.drop(g.process.Pid)
	return cmd.Wait()
}

// awaitPolled returns true when a child has ended, or false if the system cannot tell
// the poller of the runtime. To wait in waitid takes a thread for each child.
func awaitPolled(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = f.Close() }()
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(uintptr) bool { return hasEnded(pid) }) == nil
}

// hasEnded reports whether a child, which is not reaped yet, has ended.
func hasEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}
