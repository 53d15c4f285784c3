//go:build unix

package serve

import "syscall"

// detached returns the attributes of a process that the end of this one's terminal does not end.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
