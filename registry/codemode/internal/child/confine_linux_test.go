package child

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// attempt confines this process, and then tries to leave the sandbox.
func attempt() {
	parent := os.Getppid() // which it cannot ask for later
	fmt.Println(confine(&Run{CPU: 10_000, Memory: 64 << 20}))
	say("read a file", assert.Err(os.Open("/etc/passwd")))
	say("list a folder", assert.Err(os.ReadDir("/proc")))
	say("write a file", os.WriteFile("/tmp/mcpbelt-escape", nil, 0o600))
	say("reach the network", ignore(assert.Err(net.DialTimeout("tcp", "127.0.0.1:1", time.Second)), syscall.ECONNREFUSED))
	say("make a socket", assert.Err(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)))
	say("start a program", exec.Command("/bin/true").Run())
	_, _, errno := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	say("fork", ignore(errno, 0))
	say("signal the parent", syscall.Kill(parent, 0))
	say("signal a thread of it", unix.Tgkill(parent, parent, 0))
	say("take 4 GiB", assert.Err(unix.Mmap(-1, 0, 4<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)))
	say("raise a limit", unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1000, Max: 1000}))
	// What Go needs is still there.
	var all sync.WaitGroup
	all.Add(20)
	for range 20 {
		go func() {
			runtime.LockOSThread()
			_ = make([]byte, 1<<20)
			all.Done()
			all.Wait()
		}()
	}
	all.Wait()
	fmt.Println("goroutines run")
}

// ignore returns nil for an error that shows that the attempt succeeded.
func ignore(err error, good syscall.Errno) error {
	if err == nil || strings.Contains(err.Error(), good.Error()) {
		return nil
	}
	return err
}

// Nothing that a script could do, had it taken over its process, reaches the world.
func TestConfined(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{attempts + "=1"}
	out, err := cmd.Output() // what -cover warns of is not in it
	assert.OK(t, err, "%s", out)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if got, want := lines[0], "[rlimits seccomp]"; got != want {
		t.Skipf("got the confinement %s of this system, want %s", got, want)
	}
	assert.Equal(t, len(lines), 13)
	for _, line := range lines[1 : len(lines)-1] {
		assert.True(t, strings.HasSuffix(line, ": false"), "%q ends with %q", line, ": false")
	}
	assert.Equal(t, lines[len(lines)-1], "goroutines run")
}
