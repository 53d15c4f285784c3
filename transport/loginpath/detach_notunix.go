//go:build !unix

package loginpath

import "os/exec"

func detach(*exec.Cmd) {}
