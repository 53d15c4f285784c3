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

	lock "github.com/landlock-lsm/go-landlock/landlock/syscall"
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
	readRights  = lock.AccessFSExecute | lock.AccessFSReadFile | lock.AccessFSReadDir
	fileRights  = lock.AccessFSExecute | lock.AccessFSReadFile | lock.AccessFSWriteFile | lock.AccessFSTruncate
	writeRights = readRights | fileRights | lock.AccessFSRemoveDir | lock.AccessFSRemoveFile | lock.AccessFSMakeDir |
		lock.AccessFSMakeReg | lock.AccessFSMakeSock | lock.AccessFSMakeFifo | lock.AccessFSMakeSym | lock.AccessFSRefer
	deviceRights = lock.AccessFSReadFile | lock.AccessFSWriteFile | lock.AccessFSTruncate
)

// handledRights are those that are taken away but where they are granted.
func handledRights(abi int) uint64 {
	handled := uint64(writeRights | lock.AccessFSMakeChar | lock.AccessFSMakeBlock)
	if abi >= abiDevices {
		handled |= lock.AccessFSIoctlDev
	}
	return handled
}

// possible returns why the kernel cannot confine as wished.
func possible(*wish) error {
	abi, err := lock.LandlockGetABIVersion()
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
func startConfined(cmd *exec.Cmd, w *wish) error {
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
func descend(cmd *exec.Cmd, w *wish, rules int, done chan<- error) {
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
func confineThread(w *wish, rules int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", err)
	}
	if err := lock.LandlockRestrictSelf(rules, 0); err != nil {
		return os.NewSyscallError("landlock_restrict_self", err)
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
func newRuleset(cmd *exec.Cmd, w *wish) (int, error) {
	if err := possible(w); err != nil {
		return -1, err
	}
	abi, err := lock.LandlockGetABIVersion()
	if err != nil {
		return -1, os.NewSyscallError("landlock_create_ruleset", err)
	}
	attr := lock.RulesetAttr{HandledAccessFS: handledRights(abi)}
	if !w.network && abi >= abiTCP {
		attr.HandledAccessNet = lock.AccessNetBindTCP | lock.AccessNetConnectTCP
	}
	if abi >= abiScope {
		attr.Scoped = lock.ScopeAbstractUnixSocket | lock.ScopeSignal
	}
	rules, err := lock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return -1, os.NewSyscallError("landlock_create_ruleset", err)
	}
	if err := addRules(rules, cmd, w); err != nil {
		_ = unix.Close(rules)
		return -1, err
	}
	return rules, nil
}

func addRules(rules int, cmd *exec.Cmd, w *wish) error {
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
	err = lock.LandlockAddPathBeneathRule(rules, &lock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
	if err != nil {
		return &fs.PathError{Op: "landlock_add_rule", Path: path, Err: err}
	}
	return nil
}
