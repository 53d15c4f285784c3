//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package child

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confineSystem bounds the memory of the process, and takes away files, sockets,
// processes and all else that needs a system call that Go's runtime does not. No file can be
// opened, so that Landlock would have nothing to add.
func confineSystem(b *Run) []string {
	if now := writable(); now > 0 {
		setLimit(unix.RLIMIT_DATA, now+uint64(b.Memory)+spareWritable)
	}
	if filterCalls() != nil {
		return nil
	}
	return []string{"seccomp"}
}

// writable returns how many bytes the process may write to, of which it need not have used
// all: unlike RLIMIT_AS, RLIMIT_DATA does not count what Go and C libraries only reserve. 0
// if that is not known.
func writable() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[5], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// filterCalls makes the kernel refuse all system calls, of all threads, but those that
// Go's runtime needs.
func filterCalls() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := callFilter(auditArch(runtime.GOARCH))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
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

// allowedCalls returns the system calls of Go's runtime, and of reading and writing what
// is open.
func allowedCalls() []uint32 {
	return []uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FCNTL,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
		unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}
}

const (
	// Where the kernel shows a filter the number of the call, the kind of processor, and the
	// lower half of the first argument.
	dataNumber = 0
	dataArch   = 4
	dataFirst  = 16
	// x32Bit is set in the numbers of the x32 calls of amd64.
	x32Bit = 0x40000000
)

// callFilter returns the filter, a program for the kernel's virtual machine. Beside the
// allowed calls it lets pass signals to this process, and what makes a thread of it.
func callFilter(arch uint32) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	result := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	// when goes on after the next instruction if the test is false.
	when := func(test uint16, value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jf: 1}
	}
	unless := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: 1}
	}
	refuse := uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	filter := []unix.SockFilter{
		load(dataArch),
		unless(arch), result(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
		when(unix.BPF_JGE, x32Bit), result(refuse),
	}
	for _, call := range allowedCalls() {
		filter = append(filter, when(unix.BPF_JEQ, call), result(unix.SECCOMP_RET_ALLOW))
	}
	signal := []unix.SockFilter{
		load(dataFirst),
		when(unix.BPF_JEQ, uint32(unix.Getpid())), result(unix.SECCOMP_RET_ALLOW),
		result(refuse),
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_TGKILL, Jf: uint8(len(signal))})
	return append(append(filter, signal...),
		unless(unix.SYS_CLONE), result(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
		load(dataFirst),
		when(unix.BPF_JSET, unix.CLONE_THREAD), result(unix.SECCOMP_RET_ALLOW),
		result(refuse),
	)
}
