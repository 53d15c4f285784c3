//go:build linux

package transport_test

import (
	"encoding/json"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// lines collects what a child writes to stderr.
type lines struct {
	mu   sync.Mutex
	all  []string
	more chan struct{}
}

func watch(c *transport.Command) *lines {
	l := &lines{more: make(chan struct{}, 1)}
	c.Stderr = func(line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, line)
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
	return l
}

// await returns what follows prefix on the first line that begins with it.
func (l *lines) await(t *testing.T, prefix string) string {
	t.Helper()
	for ctx := bounded(t); ; {
		l.mu.Lock()
		for _, line := range l.all {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				l.mu.Unlock()
				return rest
			}
		}
		l.mu.Unlock()
		select {
		case <-l.more:
		case <-ctx.Done():
			t.Fatalf("no line %q on stderr", prefix)
		}
	}
}

func (l *lines) awaitPID(t *testing.T) int {
	t.Helper()
	pid := assert.Value(strconv.Atoi(l.await(t, "pid ")))(t)
	t.Cleanup(func() {
		if !gone(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

// The server ignores all requests to stop.
func TestCommandCloseKills(t *testing.T) {
	recipe := transporttest.Child("deaf", "ready", "hang")
	recipe.CloseTimeout = 20 * time.Millisecond
	out := watch(recipe)
	l := dial(t, recipe)
	out.await(t, "ready")
	closeWithin(t, l)
	if !gone(pid(t, l)) {
		t.Error("the server lives")
	}
}

// The server ignores the end of its stdin but not SIGTERM.
func TestCommandCloseTerminates(t *testing.T) {
	t.Parallel()
	recipe := transporttest.Child("term")
	recipe.CloseTimeout = 4 * time.Second // half of it for the server to terminate
	out := watch(recipe)
	l := dial(t, recipe)
	out.await(t, "ready")
	closeWithin(t, l)
	out.await(t, "terminated")
	if !gone(pid(t, l)) {
		t.Error("the server lives")
	}
}

func TestCommandCloseLetsTheServerFinish(t *testing.T) {
	for _, limit := range []time.Duration{2 * watchdog, -1} { // half of it for the server to finish
		recipe := transporttest.Child("serve", "stderr:finished")
		recipe.CloseTimeout = limit
		out := watch(recipe)
		l := dial(t, recipe)
		assert.Value(ask(t, l))(t)
		closeWithin(t, l)
		out.await(t, "finished")
	}
}

func TestCommandGroupDiesWithClose(t *testing.T) {
	t.Parallel()
	recipe := transporttest.Child("spawn:hang", "serve")
	out := watch(recipe)
	l := dial(t, recipe)
	grandchild := out.awaitPID(t)
	closeWithin(t, l)
	await(t, "the grandchild's end", func() bool { return gone(grandchild) })
}

// What is in the group dies although it has cleared its environment.
func TestCommandGroupDiesWithoutMark(t *testing.T) {
	t.Parallel()
	recipe := &transport.Command{Path: "/bin/sh", Args: []string{"-c", `env -i /bin/sh -c 'echo pid $$ >&2; sleep 600; :' & wait`}}
	out := watch(recipe)
	l := dial(t, recipe)
	cleared := out.awaitPID(t)
	assert.OK(t, syscall.Kill(pid(t, l), syscall.SIGKILL))
	closeWithin(t, l)
	await(t, "the end of the process without mark", func() bool { return gone(cleared) })
}

func TestCommandGroupDiesWithTheServer(t *testing.T) {
	t.Parallel()
	recipe := transporttest.Child("spawn:hang", "ready", "serve")
	out := watch(recipe)
	l := dial(t, recipe)
	grandchild := out.awaitPID(t)
	out.await(t, "ready")
	assert.OK(t, syscall.Kill(pid(t, l), syscall.SIGKILL))
	await(t, "the grandchild's end", func() bool { return gone(grandchild) })
	if _, err := l.Read(bounded(t)); err == nil {
		t.Error("the connection lives")
	}
}

// A process that left the group dies with the server all the same.
func TestCommandDetachedProcessDies(t *testing.T) {
	for _, step := range []string{"detach:hang", "daemon:hang"} {
		recipe := transporttest.Child(step, "ready", "serve")
		out := watch(recipe)
		l := dial(t, recipe)
		detached := out.awaitPID(t)
		out.await(t, "ready")
		closeWithin(t, l)
		if !gone(detached) {
			t.Errorf("%s: it lives after Close", step)
		}
		l = dial(t, transporttest.Child(step, "exit:5"))
		_, err := l.Read(bounded(t))
		var exit *transport.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("%s: got %v, want the exit", step, err)
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(exit.Stderr, "pid "), "\n")
		detached = assert.Value(strconv.Atoi(text))(t)
		if !gone(detached) {
			t.Errorf("%s: it lives after the server's end", step)
		}
	}
}

// A process that left the group and cleared its environment survives, as
// documented, and must not keep the connection of the dead server alive by
// holding its stdout.
func TestCommandDetachedProcessHoldsStdout(t *testing.T) {
	recipe := transporttest.Child("escape:hang", "read", "exit:5")
	out := watch(recipe)
	l := dial(t, recipe)
	escaped := out.awaitPID(t)
	if _, err := ask(t, l); err == nil || !strings.Contains(err.Error(), "code 5") {
		t.Errorf("got %v, want the exit", err)
	}
	closeWithin(t, l)
	if gone(escaped) {
		t.Error("it did not escape: say so in the comment of Command")
	}
}

// A server that closes its stdout is gone for us though its process lives.
func TestCommandServerClosesStdout(t *testing.T) {
	t.Parallel()
	recipe := transporttest.Child("read", "close", "deaf", "hang")
	recipe.CloseTimeout = 20 * time.Millisecond
	l := dial(t, recipe)
	if _, err := ask(t, l); err == nil {
		t.Error("an answer out of nowhere")
	}
	closeWithin(t, l)
	if !gone(pid(t, l)) {
		t.Error("the server lives")
	}
}

func TestCommandEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("TERM", "() { evil; }")
	t.Setenv("HOME", "/nowhere")
	recipe := transporttest.Child("read", "env", "serve")
	recipe.Env = append(recipe.Env, "GIVEN=yes", "HOME=/given")
	raw := assert.Value(ask(t, dial(t, recipe)))(t)
	var env []string
	assert.OK(t, json.Unmarshal([]byte(raw), &env))
	allowed := map[string]bool{
		"HOME": true, "LOGNAME": true, "PATH": true, "SHELL": true, "USER": true,
		"GIVEN": true, "TRANSPORTTEST_CHILD": true, "GORACE": true, "MCPBELT_PROCESS": true,
	}
	seen := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if !allowed[name] && !slices.Contains(transport.BaseEnvNames(), name) {
			t.Errorf("the child sees %s", name)
		}
		if _, twice := seen[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		seen[name] = value
	}
	if seen["GIVEN"] != "yes" || seen["HOME"] != "/given" || seen["PATH"] != os.Getenv("PATH") {
		t.Errorf("got %q", env)
	}
}

// The child has its three pipes and no other end of them, nor any of another child.
func TestCommandOpenFiles(t *testing.T) {
	first := dial(t, transporttest.Child("serve"))
	second := dial(t, transporttest.Child("read", "fds", "serve"))
	foreign := map[string]bool{}
	for _, l := range []mcp.Caller{first, second} {
		for _, fd := range []string{"0", "1", "2"} {
			name, err := os.Readlink("/proc/" + strconv.Itoa(pid(t, l)) + "/fd/" + fd)
			if err != nil || !strings.HasPrefix(name, "pipe:") {
				t.Fatalf("%q, %v", name, err)
			}
			foreign[name] = true
		}
	}
	if len(foreign) != 6 {
		t.Fatalf("pipes are shared: %v", foreign)
	}
	raw := assert.Value(ask(t, second))(t)
	var files []string
	assert.OK(t, json.Unmarshal([]byte(raw), &files))
	if len(files) < 3 {
		t.Errorf("got %q", files)
	}
	for _, f := range files {
		number, name, _ := strings.Cut(f, " ")
		if own := number == "0" || number == "1" || number == "2"; !own && foreign[name] {
			t.Errorf("the child has %s open", f)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries := assert.Value(os.ReadDir("/proc/self/fd"))(t)
	return len(entries)
}

func TestCommandLeavesNothing(t *testing.T) {
	// The garbage collector closes forgotten files, and would hide them here.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	once := func() {
		l := dial(t, transporttest.Child("serve"))
		if _, err := ask(t, l); err != nil {
			t.Error(err)
		}
		closeWithin(t, l)
		if !gone(pid(t, l)) {
			t.Error("the process is left")
		}
		l = dial(t, transporttest.Child("exit:1"))
		_, _ = l.Read(bounded(t))
		closeWithin(t, l)
		_, _ = (&transport.Command{Path: "/no/such/program"}).Connect(t.Context())
	}
	once() // opens what the runtime keeps
	before := openFiles(t)
	for range 5 {
		once()
	}
	await(t, "files to be closed", func() bool { return openFiles(t) <= before })
}
