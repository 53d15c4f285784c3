//go:build amd64 || arm64 || riscv64 || loong64

package landlock

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deniedCalls returns the numbers of the system calls that reach what belongs to other
// processes of the user, and is not a file: the memory, message queues and semaphores
// of System V, the message queues of POSIX, and the keyrings. Landlock does not know of
// them.
func deniedCalls() []uint32 {
	return []uint32{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	}
}

// filterCalls makes the kernel refuse system calls of the calling thread, and of what
// it starts: without network also all new sockets but connected pairs, since Landlock
// knows TCP only. Programs for another kind of processor, which have other numbers
// for the same calls, are killed.
func filterCalls(network bool) error {
	filter := callFilter(runtime.GOARCH, network)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	return os.NewSyscallError("prctl(PR_SET_SECCOMP)", err)
}

// auditArch returns the number by which the kernel names this kind of processor.
func auditArch(goarch string) uint32 {
	switch goarch {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	}
	return unix.AUDIT_ARCH_LOONGARCH64
}

const (
	// dataNumber, dataArch and dataRequest are where the kernel shows a filter the
	// number of the call, the kind of processor, and the lower half of the second
	// argument, of which ioctl takes no more. All these processors put it first.
	dataNumber  = 0
	dataArch    = 4
	dataRequest = 24
	// x32Bit is set in the numbers of the x32 calls of amd64.
	x32Bit = 0x40000000
)

// callFilter returns the filter, a program for the kernel's virtual machine.
func callFilter(goarch string, network bool) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	result := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	refuse := func(errno syscall.Errno) unix.SockFilter {
		return result(unix.SECCOMP_RET_ERRNO | uint32(errno))
	}
	// when goes on after the next instruction if the test is false.
	when := func(test uint16, value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jf: 1}
	}
	unless := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: 1}
	}
	filter := []unix.SockFilter{
		load(dataArch),
		unless(auditArch(goarch)), result(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
		when(unix.BPF_JGE, x32Bit), refuse(unix.ENOSYS),
	}
	for _, call := range deniedCalls() {
		filter = append(filter, when(unix.BPF_JEQ, call), refuse(unix.EPERM))
	}
	if !network {
		filter = append(filter,
			when(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP), refuse(unix.ENOSYS), // it makes sockets, too
			when(unix.BPF_JEQ, unix.SYS_SOCKET), refuse(unix.EACCES),
		)
	}
	filter = append(filter, unless(unix.SYS_IOCTL), result(unix.SECCOMP_RET_ALLOW), load(dataRequest))
	// These type into a terminal, or paste. Landlock refuses them from Linux 6.10.
	for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX} {
		filter = append(filter, when(unix.BPF_JEQ, request), refuse(unix.EPERM))
	}
	return append(filter, result(unix.SECCOMP_RET_ALLOW))
}
