//go:build unix && !linux

package transport

import "os/exec"

// await returns when the leader has ended and the rest of its group is killed.
func (g *group) await(cmd *exec.Cmd) error {
	err := cmd.Wait()
	g.kill()
	return err
}

// leaderKilled returns false: this system does not tell before the exit.
func (g *group) leaderKilled() bool { return false }
