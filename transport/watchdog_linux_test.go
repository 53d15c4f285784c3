package transport_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func watched(w *transport.Watchdog, steps ...string) *transport.Command {
	recipe := transporttest.Child(steps...)
	recipe.Watchdog = w
	return recipe
}

// One shell serves all connections, and is gone after Close.
func TestWatchdogIsShared(t *testing.T) {
	w := new(transport.Watchdog)
	if w.PID() != 0 {
		t.Error("a shell runs before the first server")
	}
	first := dial(t, watched(w, "serve"))
	shell := w.PID()
	second := dial(t, watched(w, "serve"))
	if w.PID() != shell || gone(shell) {
		t.Errorf("shell %d, then %d", shell, w.PID())
	}
	assert.Equal(t, w.Groups(), 2, "groups")
	for _, l := range []mcp.Caller{first, second} {
		if err := l.Info().Degraded; err != nil {
			t.Error(err)
		}
		closeWithin(t, l)
		if gone(shell) {
			t.Error("the shell ended with a connection")
		}
	}
	assert.Equal(t, w.Groups(), 0, "groups of servers that have ended")
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if !gone(shell) {
		t.Error("the shell lives after Close")
	}
	late := dial(t, watched(w, "serve"))
	var missing *transport.WatchdogError
	if err := late.Info().Degraded; !errors.As(err, &missing) {
		t.Errorf("a connection after Close is degraded by %v", err)
	}
}

// The server works without a watchdog, and its connection says what is missing.
func TestWatchdogDegraded(t *testing.T) {
	none := filepath.Join(t.TempDir(), "sh")
	for _, shell := range []string{none, "/bin/false"} {
		w := new(transport.Watchdog)
		w.SetShell(shell)
		l := dial(t, watched(w, "detach:hang", "serve"))
		await(t, shell+" to be found useless", func() bool { return l.Info().Degraded != nil })
		var missing *transport.WatchdogError
		if err := l.Info().Degraded; !errors.As(err, &missing) || missing.Program != shell {
			t.Errorf("degraded by %v", err)
		}
		if _, err := ask(t, l); err != nil {
			t.Error(err)
		}
		closeWithin(t, l)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Without grep the watchdog knows the groups only, and says so.
func TestWatchdogWithoutGrep(t *testing.T) {
	recipe := transporttest.Child("serve")
	t.Setenv("PATH", t.TempDir())
	l := dial(t, recipe)
	var missing *transport.WatchdogError
	if err := l.Info().Degraded; !errors.As(err, &missing) || missing.Program != "grep" {
		t.Errorf("degraded by %v", err)
	}
}

// A shell that is killed is replaced, and the server does not notice.
func TestWatchdogShellIsReplaced(t *testing.T) {
	w := new(transport.Watchdog)
	defer func() { _ = w.Close() }()
	l := dial(t, watched(w, "serve"))
	shell := w.PID()
	assert.OK(t, syscall.Kill(shell, syscall.SIGKILL))
	await(t, "another shell", func() bool { now := w.PID(); return now != 0 && now != shell })
	if err := l.Info().Degraded; err != nil {
		t.Error(err)
	}
	if _, err := ask(t, l); err != nil {
		t.Errorf("the server did not survive its watchdog: %v", err)
	}
}

// Nobody waits for a shell that stands still: when its pipe is full it is
// replaced.
func TestWatchdogFullPipe(t *testing.T) {
	w := new(transport.Watchdog)
	defer func() { _ = w.Close() }()
	l := dial(t, watched(w, "serve"))
	shell := w.PID()
	stop(t, shell)
	await(t, "a full pipe", func() bool { // it holds 64 KiB
		for range 100 {
			w.Note(1 << 30)
		}
		return gone(shell)
	})
	await(t, "another shell", func() bool { now := w.PID(); return now != 0 && now != shell })
	if err := l.Info().Degraded; err != nil {
		t.Error(err)
	}
}

// Close is bounded though the shell stands still.
func TestWatchdogStoppedShell(t *testing.T) {
	t.Parallel()
	w := new(transport.Watchdog)
	l := dial(t, watched(w, "serve"))
	shell := w.PID()
	stop(t, shell)
	closeWithin(t, l)
	if err := w.Close(); err != nil || !gone(shell) {
		t.Errorf("%v; the shell is gone: %v", err, gone(shell))
	}
}

// The signals by which terminals and users stop programs do not stop the shell.
func TestWatchdogIgnoresSignals(t *testing.T) {
	w := new(transport.Watchdog)
	defer func() { _ = w.Close() }()
	dial(t, watched(w, "serve"))
	shell := w.PID()
	await(t, "the shell to ignore signals", func() bool { return ignores(t, shell, syscall.SIGTSTP, syscall.SIGTERM) })
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGTSTP} {
		assert.OK(t, syscall.Kill(shell, s))
	}
	if processState(shell) == "T" || gone(shell) || w.PID() != shell {
		t.Errorf("shell %d in state %q, and now %d", shell, processState(shell), w.PID())
	}
}

// ignores reports whether a process ignores all of the signals.
func ignores(t *testing.T, pid int, signals ...syscall.Signal) bool {
	t.Helper()
	for _, s := range signals {
		if !strings.Contains(ignored(t, pid), "["+s.String()+"]") {
			return false
		}
	}
	return true
}

// ignored returns the names of the signals that a process ignores.
func ignored(t *testing.T, pid int) string {
	t.Helper()
	mask := uint64(statusField(t, pid, "SigIgn", 16))
	var names strings.Builder
	for n := syscall.Signal(1); n < 32; n++ {
		if mask&(1<<(n-1)) != 0 {
			names.WriteString("[" + n.String() + "]")
		}
	}
	return names.String()
}

// The program runs in whatever /bin/sh may be.
func TestWatchdogShells(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dash", "bash", "busybox", "mksh", "ksh", "zsh", "yash"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := lookPath(t, name)
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
	for _, order := range []string{"", "quit"} {
		kept, dropped := sleeper(t), sleeper(t)
		program := assert.Value(os.ReadFile("watchdog.sh"))(t)
		cmd := exec.Command("/bin/sh", "-c", string(program), "watchdog", "no mark", "", "")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("add %d\nadd %d\ndrop %d\n%s\n", dropped, kept, dropped, order))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
		if order == "" {
			await(t, "the end of the group", func() bool { return gone(kept) })
		} else if gone(kept) {
			t.Error("a group was ended after quit")
		}
		if gone(dropped) {
			t.Error("a dropped group was ended")
		}
	}
}

// sleeper starts a process in a group of its own.
func sleeper(t *testing.T) int {
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
	first := dial(t, transporttest.Child("serve"))
	lent := transport.LentWatchdog()
	shell := lent.PID()
	second := dial(t, transporttest.Child("serve"))
	if got := transport.LentWatchdog(); got != lent || got.PID() != shell {
		t.Errorf("got another watchdog for the second connection, shell %d, want shell %d", got.PID(), shell)
	}
	closeWithin(t, first)
	if gone(shell) {
		t.Error("the shell ended with the first of two connections")
	}
	closeWithin(t, second)
	if !gone(shell) {
		t.Error("the shell lives after the last connection")
	}
	if got := transport.LentWatchdog(); got != nil {
		t.Error("the watchdog is kept after the last connection")
	}
}
