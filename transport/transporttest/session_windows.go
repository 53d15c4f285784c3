package transporttest

import "syscall"

func inSession(bool) *syscall.SysProcAttr { return nil }
