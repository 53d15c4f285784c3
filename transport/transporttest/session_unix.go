//go:build unix

package transporttest

import "syscall"

func inSession(own bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: own} }
