//go:build amd64 || arm64 || riscv64 || loong64

package landlock

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denySockets makes the kernel refuse the calling thread, and what it starts, all new
// sockets but connected pairs. Landlock knows TCP only. Programs for another kind of
// processor, which would have other numbers for the same calls, are killed.
func denySockets() error {
	filter := socketFilter(runtime.GOARCH)
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
	// dataNumber and dataArch are where the kernel shows a filter the number of the
	// call and the kind of processor.
	dataNumber = 0
	dataArch   = 4
	// x32Bit is set in the numbers of the x32 calls of amd64.
	x32Bit = 0x40000000
)

// socketFilter returns the filter, a program for the kernel's virtual machine.
func socketFilter(goarch string) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	// jump goes on after skip instructions if the test is true.
	jump := func(test uint16, value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jt: skip}
	}
	result := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	return []unix.SockFilter{
		load(dataArch),
		jump(unix.BPF_JEQ, auditArch(goarch), 1),
		result(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
		jump(unix.BPF_JGE, x32Bit, 3),
		jump(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 2), // it makes sockets, too
		jump(unix.BPF_JEQ, unix.SYS_SOCKET, 2),
		result(unix.SECCOMP_RET_ALLOW),
		result(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		result(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)),
	}
}
