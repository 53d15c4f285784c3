//go:build unix

package transport

import (
	"cmp"
	_ "embed" // holds the shell's program
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/proc"
)

const (
	// restartTime is how long a shell that was started again must live for the
	// watchdog to work. If it ends sooner the next would, too.
	restartTime = time.Second
	// quitTimeout bounds the wait for a shell that was asked to quit. Only a stopped
	// one takes longer than moments.
	quitTimeout = time.Second
)

//go:embed watchdog.sh
var watchdogProgram string

var errWatchdogEnded = errors.New("it was started twice and ended at once")

// A keeper runs the shell of a watchdog. It owns one goroutine, which attends
// the shell.
type keeper struct {
	shell string // its path; empty means /bin/sh

	starting sync.Mutex // held while a shell is started
	wg       sync.WaitGroup

	mu      sync.Mutex // guards the following; nothing slow happens under it
	groups  map[int]bool
	running *shell // nil if none runs
	err     error  // what does not work
	final   bool   // no shell is started any more
}

// A shell is one process of /bin/sh.
type shell struct {
	cmd     *exec.Cmd
	input   *os.File
	raw     syscall.RawConn // of input
	started time.Time
	again   bool // it replaces one that ended
}

// start sees to it that a shell runs, if that is possible.
func (k *keeper) start(mark string) {
	k.starting.Lock()
	defer k.starting.Unlock()
	k.mu.Lock()
	settled := k.running != nil || k.final
	k.mu.Unlock()
	if !settled {
		k.run(mark, false)
	}
}

func (k *keeper) path() string { return cmp.Or(k.shell, "/bin/sh") }

// run starts a shell and sends it the groups there are. The caller holds
// k.starting.
func (k *keeper) run(mark string, again bool) {
	s, lack, err := startShell(k.path(), mark)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.err = watchdogError(k.path(), err)
		return
	}
	k.err = lack
	s.again = again
	k.running = s
	for group := range k.groups {
		s.tell("add", group)
	}
	k.wg.Go(func() { k.attend(s, mark) })
}

// startShell returns, beside the shell, what it lacks to do all of its work.
func startShell(path, mark string) (s *shell, lack, err error) {
	grep, sleep := "", ":"
	if runtime.GOOS == "linux" {
		grep, err = exec.LookPath("grep")
		if err != nil {
			grep, lack = "", watchdogError("grep", err)
		}
		if found, err := exec.LookPath("sleep"); err == nil {
			sleep = found
		}
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = theirs.Close() }()
	s = &shell{
		cmd:     exec.Command(path, "-c", watchdogProgram, "mcpbelt-watchdog", mark, grep, sleep),
		input:   ours,
		started: time.Now(),
	}
	s.cmd.Dir = "/"
	s.cmd.Env = []string{"LC_ALL=C"}
	s.cmd.Stdin = theirs
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.raw, err = ours.SyscallConn()
	if err == nil {
		err = proc.CloseInherited()
	}
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		_ = ours.Close()
		return nil, nil, err
	}
	return s, lack, nil
}

// attend waits for the end of a shell, and starts another unless the watchdog
// is closed. The pipe is closed only after that end, or the shell would take us
// for dead.
func (k *keeper) attend(s *shell, mark string) {
	_ = s.cmd.Wait()
	_ = s.input.Close()
	k.starting.Lock()
	defer k.starting.Unlock()
	k.mu.Lock()
	k.running = nil
	if s.again && !k.final && time.Since(s.started) < restartTime {
		k.final, k.err = true, watchdogError(k.path(), errWatchdogEnded)
	}
	final := k.final
	k.mu.Unlock()
	if !final {
		k.run(mark, true)
	}
}

// tell writes a line to the shell and never waits: a shell that is so far
// behind that the pipe is full is killed, and replaced by attend.
func (s *shell) tell(verb string, group int) {
	line := fmt.Appendf(nil, "%s %d\n", verb, group)
	told := false
	err := s.raw.Write(func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), line) // a short line is written whole or not at all
		told = err == nil && n == len(line)
		return true
	})
	if err != nil || !told {
		_ = s.cmd.Process.Kill()
	}
}

// add says that there is a group to end.
func (k *keeper) add(group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.groups == nil {
		k.groups = map[int]bool{}
	}
	k.groups[group] = true
	if k.running != nil {
		k.running.tell("add", group)
	}
}

// drop says that a group has ended. When it returns no shell will kill the
// group, not even one that has not read of it yet, since it reads all that is
// in its pipe before it acts.
func (k *keeper) drop(group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.groups[group] {
		return
	}
	delete(k.groups, group)
	if k.running != nil {
		k.running.tell("drop", group)
	}
}

// degraded returns what does not work, or nil.
func (k *keeper) degraded() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

func (k *keeper) close() {
	k.starting.Lock()
	k.mu.Lock()
	k.final = true
	s := k.running
	if s != nil {
		s.tell("quit", 0)
	}
	k.mu.Unlock()
	k.starting.Unlock()
	if s != nil {
		timer := time.AfterFunc(quitTimeout, func() { _ = s.cmd.Process.Kill() })
		defer timer.Stop()
	}
	k.wg.Wait()
}
