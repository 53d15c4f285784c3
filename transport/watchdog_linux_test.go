// Tests of watchdog.go, watchdog_unix.go and watchdog_windows.go: the shell, and what connections say of it.

package transport_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func watched(w *transport.Watchdog, steps ...string) *transport.Command {
	recipe := child(steps...)
	recipe.SetWatchdog(w)
	return recipe
}

// dialWatchdog returns a watchdog, its shell, and a connection to a server that it watches.
func dialWatchdog(t *testing.T) (w *transport.Watchdog, shell int, l mcp.Caller) {
	t.Helper()
	w = new(transport.Watchdog)
	t.Cleanup(func() { _ = w.Close() })
	l = dial(t, watched(w, "serve"))
	return w, w.PID(), l
}

// One shell serves all connections, and is gone after Close.
func TestWatchdogIsShared(t *testing.T) {
	assert.Equal(t, new(transport.Watchdog).PID(), 0, "shell before the first server")
	w, shell, first := dialWatchdog(t)
	second := dial(t, watched(w, "serve"))
	assert.Equal(t, w.PID(), shell, "shell of the second server")
	assert.Equal(t, w.Groups(), 2, "groups")
	for _, l := range []mcp.Caller{first, second} {
		assert.OK(t, l.Info().Degraded)
		closeWithin(t, l)
		assert.False(t, gone(shell), "the shell after the end of a connection: gone")
	}
	assert.Equal(t, w.Groups(), 0, "groups of servers that have ended")
	for range 2 {
		assert.OK(t, w.Close())
	}
	assert.True(t, gone(shell), "the shell after Close: gone")
}

// wantDegraded expects that a connection says which program is missing.
func wantDegraded(t *testing.T, l mcp.Caller, program string) {
	t.Helper()
	assert.Contains(t, l.Info().Degraded.Error(), "cannot use "+program+": ", "Degraded")
}

// The server works without a watchdog, and its connection says what is missing.
func TestWatchdogDegraded(t *testing.T) {
	for _, shell := range []string{filepath.Join(t.TempDir(), "sh"), "/bin/false"} {
		w := new(transport.Watchdog)
		w.SetShell(shell)
		l := dial(t, watched(w, "detach:hang", "serve"))
		await(t, shell+" to be found useless", func() bool { return l.Info().Degraded != nil })
		wantDegraded(t, l, shell)
		wantResult(t, l, "{}")
		closeWithin(t, l)
		assert.OK(t, w.Close())
	}
}

// Without grep the watchdog knows the groups only, and says so.
func TestWatchdogWithoutGrep(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	wantDegraded(t, dial(t, child("serve")), "grep")
}

// awaitAnother waits for another shell than the one that there was.
func awaitAnother(t *testing.T, w *transport.Watchdog, shell int) {
	t.Helper()
	await(t, "another shell", func() bool { now := w.PID(); return now != 0 && now != shell })
}

// A shell that is killed is replaced, and the server does not notice.
func TestWatchdogShellIsReplaced(t *testing.T) {
	w, shell, l := dialWatchdog(t)
	assert.OK(t, syscall.Kill(shell, syscall.SIGKILL))
	awaitAnother(t, w, shell)
	assert.OK(t, l.Info().Degraded)
	wantResult(t, l, "{}")
}

// A shell that stands still is not waited for: when its pipe is full it is
// replaced.
func TestWatchdogFullPipe(t *testing.T) {
	w, shell, l := dialWatchdog(t)
	stop(t, shell)
	await(t, "a full pipe", func() bool { // it holds 64 KiB
		for range 100 {
			w.Note(1 << 30)
		}
		return gone(shell)
	})
	awaitAnother(t, w, shell)
	assert.OK(t, l.Info().Degraded)
}

// Close is bounded though the shell stands still.
func TestWatchdogStoppedShell(t *testing.T) {
	t.Parallel()
	w, shell, l := dialWatchdog(t)
	stop(t, shell)
	closeWithin(t, l)
	closeWithin(t, w)
	assert.True(t, gone(shell), "the shell: gone")
}

// The signals by which terminals and users stop programs do not stop the shell.
func TestWatchdogIgnoresSignals(t *testing.T) {
	w, shell, _ := dialWatchdog(t)
	ignored := func(s syscall.Signal) bool {
		_, mask, _ := strings.Cut(string(assert.Value(os.ReadFile(fmt.Sprintf("/proc/%d/status", shell)))(t)), "\nSigIgn:\t")
		mask, _, _ = strings.Cut(mask, "\n")
		return assert.Value(strconv.ParseUint(mask, 16, 64))(t)&(1<<(s-1)) != 0
	}
	await(t, "the shell to ignore signals", func() bool { return ignored(syscall.SIGTSTP) && ignored(syscall.SIGTERM) })
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGTSTP} {
		assert.OK(t, syscall.Kill(shell, s))
	}
	assert.False(t, processState(shell) == "T" || gone(shell), "the shell was stopped")
	assert.Equal(t, w.PID(), shell, "shell")
}

// The program runs in whatever /bin/sh may be.
func TestWatchdogShells(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dash", "bash", "busybox", "mksh", "ksh", "zsh", "yash"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skip(err)
			}
			shell := filepath.Join(t.TempDir(), "sh") // some go by their name
			assert.OK(t, os.Symlink(path, shell))
			h := startHost(t, "family", hostShell+"="+shell)
			h.await("ready")
			h.kill()
			h.wantEmpty()
		})
	}
}

// The program ends the groups that it was told of, not those that were dropped,
// and none if it is told to quit.
func TestWatchdogProgram(t *testing.T) {
	program := string(assert.Value(os.ReadFile("watchdog.sh"))(t))
	for _, order := range []string{"", "quit"} {
		kept, dropped := startSleep(t), startSleep(t)
		cmd := exec.Command("/bin/sh", "-c", program, "watchdog", "no mark", "", "")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("add %d\nadd %d\ndrop %d\n%s\n", dropped, kept, dropped, order))
		assert.Equal(t, string(assert.Value(cmd.CombinedOutput())(t)), "", "output")
		if order == "" {
			awaitEnd(t, "the group", kept)
		} else {
			assert.False(t, gone(kept), "a group after quit: gone")
		}
		assert.False(t, gone(dropped), "a group that was dropped: gone")
	}
}

// startSleep starts a process in a group of its own.
func startSleep(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// Connections that were given no watchdog have one together, which ends with the last.
func TestWatchdogIsLent(t *testing.T) {
	first := dial(t, child("serve"))
	lent := transport.LentWatchdog()
	shell := lent.PID()
	second := dial(t, child("serve"))
	assert.Equal(t, transport.LentWatchdog(), lent, "watchdog of the second connection")
	closeWithin(t, first)
	assert.False(t, gone(shell), "the shell after the first of two connections: gone")
	closeWithin(t, second)
	assert.True(t, gone(shell), "the shell after the last connection: gone")
	assert.Equal(t, transport.LentWatchdog(), nil, "watchdog after the last connection")
}
