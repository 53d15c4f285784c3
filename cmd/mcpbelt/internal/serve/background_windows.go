package serve

import "syscall"

// detached returns the attributes of a process that the end of this one's console does not end.
func detached() *syscall.SysProcAttr {
	const detachedProcess = 0x8 // it has no console
	return &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}
