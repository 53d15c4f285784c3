//go:build unix && !linux

package transport

import "os/exec"

// await returns when the leader has ended and the rest of its group is killed.
func (g *group) await(cmd *exec.Cmd) error {
	err := cmd.Wait()
	g.kill()
	g.watchdog.keeper.drop(g.process.Pid)
	return err
}
