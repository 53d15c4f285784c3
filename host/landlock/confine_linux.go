//go:build amd64 || arm64 || riscv64 || loong64

package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The versions of the kernel's interface that bring what we need.
const (
	abiTruncate = 3 // before it, files outside could be emptied
	abiTCP      = 4
	abiDevices  = 5
	abiScope    = 6
)

// Rights to files and folders.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | deviceRights
	writeRights = readRights | fileRights | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// handledRights are those that are taken away but where they are granted.
func handledRights(abi int) uint64 {
	handled := uint64(writeRights | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
	if abi >= abiDevices {
		handled |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return handled
}

// version returns the version of the kernel's interface.
func version() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// possible returns why the kernel cannot confine as wished.
func possible(*confinement) error {
	abi, err := version()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the Landlock of this kernel is switched off: start it with \"landlock\" in lsm=: %w", err)
	case err != nil:
		return fmt.Errorf("this kernel has no Landlock: it needs Linux 6.2 or later: %w", err)
	case abi < abiTruncate:
		return fmt.Errorf("the Landlock of this kernel has version %d and would let files be emptied: it needs version %d, of Linux 6.2", abi, abiTruncate)
	}
	return nil
}

// startConfined starts a process, in a session without terminal, from a thread that is
// confined, and ends then.
func startConfined(cmd *exec.Cmd, w *confinement) error {
	rules, err := newRuleset(cmd, w)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(rules) }()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	// The leader of a session leads a process group, too.
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false
	done := make(chan error, 1)
	go descend(cmd, w, rules, done)
	return <-done
}

// descend confines its thread, and starts the process from it. The thread is never
// given back, and ends with the goroutine.
func descend(cmd *exec.Cmd, w *confinement, rules int, done chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread of a program cannot end. While it is held here, another
		// goroutine gets another thread.
		again := make(chan error, 1)
		go descend(cmd, w, rules, again)
		done <- <-again
		runtime.UnlockOSThread()
		return
	}
	err := confineThread(w, rules)
	if err == nil {
		err = cmd.Start()
	}
	done <- err
}

// confineThread confines the calling thread and what it starts.
func confineThread(w *confinement, rules int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return filterCalls(w.network)
}

// dropCapabilities takes from the calling thread what a server that runs as root
// could do beside files. Since it gets no new privileges it stays so.
func dropCapabilities() error {
	var none [2]unix.CapUserData // version 3 has 64 bits
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}

// newRuleset makes a ruleset of what is wished.
func newRuleset(cmd *exec.Cmd, w *confinement) (int, error) {
	abi, err := version()
	if err != nil {
		return -1, os.NewSyscallError("landlock_create_ruleset", err)
	}
	if abi < abiTruncate {
		return -1, possible(w)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledRights(abi)}
	if !w.network && abi >= abiTCP {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	rules := int(fd) // the kernel closes it in processes that are started
	if err := addRules(rules, cmd, w); err != nil {
		_ = unix.Close(rules)
		return -1, err
	}
	return rules, nil
}

func addRules(rules int, cmd *exec.Cmd, w *confinement) error {
	for _, path := range w.read {
		if err := grant(rules, path, readRights); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// These hold nothing.
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if err := grant(rules, path, deviceRights); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	program := cmd.Path
	if !filepath.IsAbs(program) && cmd.Dir != "" {
		program = cmd.Dir + "/" + program // not Join: a link in front of .. leads elsewhere
	}
	for _, path := range append(w.see, program) {
		if err := grant(rules, path, readRights); err != nil {
			return err
		}
	}
	for _, path := range w.write {
		if err := grant(rules, path, writeRights); err != nil {
			return err
		}
	}
	return nil
}

// grant adds rights to a folder and all in it, or such of them as a file can have.
func grant(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return &fs.PathError{Op: "landlock_add_rule", Path: path, Err: errno}
	}
	return nil
}
