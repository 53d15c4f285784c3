// Tests of watchdog.go and watchdog_unix.go: hosts that are killed.

package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

const (
	hostRole  = "WATCHDOG_TEST_HOST"  // makes the test program a host
	hostShell = "WATCHDOG_TEST_SHELL" // the shell of its watchdog
	hostTag   = "WATCHDOG_TEST_TAG"   // marks all that it starts, by our own means
)

// runHost makes this process a host that starts servers as its role says, writes
// a line about each with the process id of its watchdog, and waits for the end of its
// input. For each line there it tells that id, too.
func runHost() {
	role := os.Getenv(hostRole)
	if role == "" {
		return
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	w := new(transport.Watchdog)
	w.SetShell(os.Getenv(hostShell))
	var servers []io.Closer
	for range map[string]int{"family": 1, "crowd": 3}[role] {
		recipe := transporttest.Child("ignoreterm", "spawn:hang", "detach:hang", "daemon:hang", "ready", "hang")
		recipe.Env = append(recipe.Env, hostTag+"="+os.Getenv(hostTag))
		recipe.CloseTimeout = 20 * time.Millisecond
		recipe.SetWatchdog(w)
		recipe.Stderr = func(line string) { fmt.Println(line) }
		conn, err := recipe.Connect(context.Background())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("started", w.PID())
		servers = append(servers, conn)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("shell", w.PID())
	}
	for _, s := range servers {
		_ = s.Close()
	}
	_ = w.Close()
	os.Exit(0)
}

// A testHost is a host in a process of its own.
type testHost struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	tag   string
	lines chan string
}

func startHost(t *testing.T, role string, env ...string) *testHost {
	t.Helper()
	h := &testHost{t: t, cmd: exec.Command(os.Args[0]), tag: rand.Text(), lines: make(chan string, 100)}
	h.cmd.Env = append(os.Environ(), hostRole+"="+role, hostTag+"="+h.tag, "GORACE=atexit_sleep_ms=0")
	h.cmd.Env = append(h.cmd.Env, env...)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.stdin = assert.Value(h.cmd.StdinPipe())(t)
	stdout := assert.Value(h.cmd.StdoutPipe())(t)
	assert.OK(t, h.cmd.Start())
	go func() {
		defer close(h.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			h.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		h.kill()
		for pid := range h.family() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // left by a failed test
		}
	})
	return h
}

// await waits for a line of the host that begins with a word, and returns what
// follows.
func (h *testHost) await(word string) string {
	h.t.Helper()
	for {
		line := receive(h.t, h.lines, "a line of the host: "+word)
		if line == "" {
			h.t.Fatalf("got the end of the host, want a line %q", word)
		}
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest)
		}
	}
}

// kill ends the host by SIGKILL, and returns when it is reaped.
func (h *testHost) kill() {
	_ = h.cmd.Process.Kill()
	for range h.lines {
		continue // to its end, which Wait must not come before
	}
	_ = h.cmd.Wait()
}

// family returns the processes that the host's servers are and started, by id,
// with the time when each began.
func (h *testHost) family() map[int]string {
	h.t.Helper()
	found := map[int]string{}
	for _, path := range assert.Value(filepath.Glob("/proc/[0-9]*/environ"))(h.t) {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(hostTag+"="+h.tag+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if pid != h.cmd.Process.Pid {
			found[pid] = began(pid)
		}
	}
	return found
}

// shell returns the process id of the host's watchdog, which knows of all servers
// then, or 0.
func (h *testHost) shell() int {
	h.t.Helper()
	assert.Value(io.WriteString(h.stdin, "shell\n"))(h.t)
	return assert.Value(strconv.Atoi(h.await("shell ")))(h.t)
}

// wantEmpty waits until the host has left no process.
func (h *testHost) wantEmpty() {
	h.t.Helper()
	await(h.t, "the servers of the killed host to end", func() bool { return len(h.family()) == 0 })
}

// began returns the time when a process began, by which it differs from a later
// one with its id, or "" if there is none.
func began(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// cycles is how often a host is killed: 200 times if MCPBELT_SOAK is set.
func cycles() int {
	if os.Getenv("MCPBELT_SOAK") != "" {
		return 200
	}
	return assert.Cases(1, 5)
}

// wantFamily checks how many processes the host's servers are and started.
func (h *testHost) wantFamily(want int) {
	h.t.Helper()
	assert.Equal(h.t, len(h.family()), want, "processes of the host")
}

// A host that is killed leaves none of its servers, nor what they started: a
// child in the group, one in a session of its own, and a daemon. Another host
// next to it is not touched.
func TestWatchdogHostKilled(t *testing.T) {
	//report: Processes | abhigyanpatwari/GitNexus#2209, a-bonus/google-docs-mcp#112, ooples/token-optimizer-mcp#177 | servers outlive a client that was killed, and pile up | a watchdog ends the group of each when its host is gone, however it went
	t.Parallel()
	other := startHost(t, "family")
	other.await("ready")
	neighbours := other.family()
	for range cycles() {
		h := startHost(t, "family")
		h.await("ready")
		h.wantFamily(4)
		shell := h.shell()
		start := began(shell)
		assert.True(t, start != "", "has a watchdog")
		h.kill()
		h.wantEmpty()
		await(t, "the watchdog's end", func() bool { return began(shell) != start })
	}
	assert.Equal(t, len(neighbours), 4, "processes of the other host")
	for pid, start := range neighbours {
		assert.Equal(t, began(pid), start, "process %d of the other host: start", pid)
	}
	shell := other.shell()
	_ = other.stdin.Close() // it ends as it should
	for range other.lines {
		continue
	}
	other.wantFamily(0)
	assert.True(t, gone(shell), "the watchdog of a host that was closed: gone")
}

// A host is killed while its servers start, at another moment each time.
func TestWatchdogHostKilledWhileStarting(t *testing.T) {
	for i := range cycles() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			h := startHost(t, "crowd")
			for range i % 3 {
				h.await("started ")
			}
			shell := assert.Value(strconv.Atoi(h.await("started ")))(t)
			start := began(shell)
			h.kill()
			h.wantEmpty()
			await(t, "the watchdog's end", func() bool { return began(shell) != start })
			h.wantEmpty() // what was between fork and exec before has come to light
		})
	}
}

// The shell that replaces a killed one knows the servers there are. These hosts
// have no grep, so that it cannot find them by other means, and what left the
// group stays.
func TestWatchdogHostKilledAfterItsShell(t *testing.T) {
	t.Parallel()
	h := startHost(t, "family", "PATH="+t.TempDir())
	h.await("ready")
	first := h.shell()
	assert.OK(t, syscall.Kill(first, syscall.SIGKILL))
	await(t, "another shell", func() bool { now := h.shell(); return now != 0 && now != first })
	h.wantFamily(4)
	h.kill()
	await(t, "the server and its child to end", func() bool { return len(h.family()) <= 2 })
	for pid := range h.family() {
		assert.Equal(t, assert.Value(syscall.Getpgid(pid))(t), pid, "group of a process that is left")
	}
}

// Signals to the host's group, such as the terminal's, do not reach the watchdog,
// not even SIGKILL.
func TestWatchdogOutlivesTheTerminal(t *testing.T) {
	t.Parallel()
	h := startHost(t, "family")
	h.await("ready")
	shell := h.shell()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		assert.OK(t, syscall.Kill(-h.cmd.Process.Pid, s))
	}
	assert.False(t, gone(shell), "the watchdog: gone")
	assert.Equal(t, h.shell(), shell, "watchdog")
	assert.OK(t, syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL))
	h.kill()
	h.wantEmpty()
}
