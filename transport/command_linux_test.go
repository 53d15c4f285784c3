// Tests of command.go, env.go, stderr.go, pipes.go, pipesize_linux.go, group_linux.go, group_unix.go, group_otherunix.go and group_windows.go: the end of processes, and what they get and leave.

package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// soon is a CloseTimeout for servers that do not end by themselves.
const soon = 20 * time.Millisecond

// The server ignores all requests to stop.
func TestCommandCloseKills(t *testing.T) {
	//report: Processes | CommandCodeAI/command-code#515 | a server does not end when its input does | it is told to, and killed after the grace time; closing is bounded
	recipe := child("ignoreterm", "ready", "hang")
	recipe.CloseTimeout = soon
	l, out := dialWatched(t, recipe)
	out.await(t, "ready")
	closeWithin(t, l)
	awaitEnd(t, "the server", pid(t, l))
}

// The server ignores the end of its stdin but not SIGTERM.
func TestCommandCloseTerminates(t *testing.T) {
	recipe := child("term")
	recipe.CloseTimeout = 2 * tooLong // half of it for the server to terminate
	recipe.SetWaits(time.Millisecond, tooLong, tooLong)
	l, out := dialWatched(t, recipe)
	out.await(t, "ready")
	closeWithin(t, l)
	out.await(t, "terminated")
	awaitEnd(t, "the server", pid(t, l))
}

func TestCommandCloseLetsTheServerFinish(t *testing.T) {
	for _, limit := range []time.Duration{2 * tooLong, -1} { // half of it for the server to finish
		recipe := child("serve", "stderr:finished")
		recipe.CloseTimeout = limit
		l, out := dialWatched(t, recipe)
		wantResult(t, l, "{}")
		closeWithin(t, l)
		out.await(t, "finished")
	}
}

// What is in the group of a server ends when that is closed or dies, although it has
// cleared its environment.
func TestCommandGroupDiesWithClose(t *testing.T) {
	t.Parallel()
	l, out := dialWatched(t, child("spawn:hang", "serve"))
	grandchild := out.awaitPID(t)
	closeWithin(t, l)
	awaitEnd(t, "the grandchild", grandchild)
}

func TestCommandGroupDiesWithoutMark(t *testing.T) {
	t.Parallel()
	l, out := dialWatched(t, &transport.Command{Path: "/bin/sh", Args: []string{"-c", `env -i /bin/sh -c 'echo pid $$ >&2; sleep 600; :' & wait`}})
	cleared := out.awaitPID(t)
	assert.OK(t, syscall.Kill(pid(t, l), syscall.SIGKILL))
	awaitEnd(t, "the process without mark", cleared)
	assert.Fails(t, assert.Err(l.Read(bounded(t))), "Read")
}

// A bare client of the SDK leaves the process behind.
func TestCommandLeavesNoGrandchild(t *testing.T) {
	//report: Processes | samanhappy/mcphub#920, ihor-sokoliuk/mcp-searxng#60, zoharbabin/google-researcher-mcp#108 | npx and uvx start the server as a child of a child, and pass no signal on | the whole group ends with the connection
	t.Parallel()
	tr := bareCommand(child("spawn:hang", "serve"))
	stderr, write, err := os.Pipe()
	assert.OK(t, err)
	defer func() { _ = stderr.Close() }()
	tr.Command.Stderr = write
	conn, err := tr.Connect(bounded(t))
	_ = write.Close()
	assert.OK(t, err)
	line, _ := bufio.NewReader(stderr).ReadString('\n')
	grandchild := assert.Value(strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid "))))(t)
	_ = conn.Close()
	if gone(grandchild) {
		mended(t, "transport/group_unix.go")
	}
	_ = syscall.Kill(grandchild, syscall.SIGKILL)
}

// A process that left the group dies with the server all the same.
func TestCommandDetachedProcessDies(t *testing.T) {
	for _, step := range []string{"detach:hang", "daemon:hang"} {
		l, out := dialWatched(t, child(step, "ready", "serve"))
		detached := out.awaitPID(t)
		out.await(t, "ready")
		closeWithin(t, l)
		awaitEnd(t, step+" after Close", detached)
		l = dial(t, child(step, "exit:5"))
		text, _, _ := strings.Cut(strings.TrimPrefix(assert.As[*transport.ExitError](t, assert.Err(l.Read(bounded(t))), step).Stderr, "pid "), "\n")
		awaitEnd(t, step+" after the server", assert.Value(strconv.Atoi(text))(t))
	}
}

// A process that left the group and cleared its environment survives, as
// documented, and must not keep the connection of the dead server alive by
// holding its stdout.
func TestCommandDetachedProcessHoldsStdout(t *testing.T) {
	recipe := child("escape:hang", "read", "exit:5")
	recipe.SetWaits(0, tooLong, time.Millisecond)
	l, out := dialWatched(t, recipe)
	escaped := out.awaitPID(t)
	assert.Equal(t, assert.As[*transport.ExitError](t, assert.Err(ask(t, l))).Code, 5, "exit code")
	closeWithin(t, l)
	assert.False(t, gone(escaped), "it did not escape (say so in the comment of Command)")
}

// A server that closes its stdout is gone for us though its process lives.
func TestCommandServerClosesStdout(t *testing.T) {
	recipe := child("read", "close", "ignoreterm", "hang")
	recipe.CloseTimeout = soon
	recipe.SetWaits(0, time.Millisecond, 0)
	l := dial(t, recipe)
	wantFailure(t, l, mcp.Unknown)
	closeWithin(t, l)
	awaitEnd(t, "the server", pid(t, l))
}

// While a server that ignores all requests to stop is being closed, the calls
// under way are over, and new ones are refused at once.
func TestCommandCallsWhileClosing(t *testing.T) {
	recipe := child(slices.Concat(probed(), greeted(), []string{"ignoreterm", "read", "ready", "hang"})...)
	recipe.CloseTimeout = 2 * tooLong
	out := watch(recipe)
	client := newClient(t, recipe, mcp.ClientOptions{})
	assert.OK(t, client.Ready(bounded(t)))
	process := client.State().PID
	failed := make(chan error, 1)
	go func() {
		_, err := client.CallTool(context.Background(), "x", nil, nil)
		failed <- err
	}()
	out.await(t, "ready")
	closed := make(chan struct{})
	go func() { _ = client.Close(); close(closed) }()
	wantOutcome(t, receive(t, failed, "the end of the call"), mcp.Unknown)
	wantOutcome(t, assert.Err(client.CallTool(context.Background(), "x", nil, nil)), mcp.NotSent)
	select {
	case <-closed:
		t.Error("got a server that has ended, want one that lives")
	default:
	}
	assert.OK(t, syscall.Kill(process, syscall.SIGKILL))
	<-closed
}

func TestCommandExitDuringACall(t *testing.T) {
	for _, test := range []struct {
		end    []string
		code   int
		signal string
	}{{[]string{"exit:7"}, 7, ""}, {nil, 0, ""}, {[]string{"kill"}, -1, "killed"}} {
		l := dial(t, child(append([]string{"read", "stderr:out of tea"}, test.end...)...))
		exit := assert.As[*transport.ExitError](t, wantFailure(t, l, mcp.Unknown))
		assert.Equal(t, exit.Code, test.code, "code")
		assert.Equal(t, exit.Signal, test.signal, "signal")
		assert.Equal(t, strings.TrimSpace(exit.Stderr), "out of tea", "stderr")
		wantFailure(t, l, mcp.NotSent)
	}
}

func TestCommandExitIsAnEvent(t *testing.T) {
	//report: Processes | modelcontextprotocol/csharp-sdk#1332, mark3labs/mcp-go#498, can1357/oh-my-pi#12476, modelcontextprotocol/typescript-sdk#1049 | a program ends right after its start | the error has its exit code and its last lines on standard error, at once
	l := dial(t, child("flood:300000", "stderr:the\x1b[31m reason", "exit:3"))
	_, err := l.Read(bounded(t))
	exit := assert.As[*transport.ExitError](t, err)
	assert.As[*transport.ExitError](t, l.Info().Err)
	assert.Equal(t, exit.Code, 3, "code")
	tail := strings.TrimSpace(exit.Stderr[max(0, len(exit.Stderr)-40):])
	assert.True(t, strings.HasSuffix(tail, "reason") && len(exit.Stderr) <= 4<<10, "the end of stderr: %d bytes with %q", len(exit.Stderr), tail)
	assert.Lacks(t, err.Error(), "\x1b", "text of the error")
}

// What a server wrote before it exited counts.
func TestCommandAnswerBeforeExit(t *testing.T) {
	assert.Equal(t, len(assert.Value(ask(t, dial(t, child("read", "big:200000", "exit:1"))))(t)), 200002, "bytes")
}

// A killed server that had been quiet has not run what is written after, even
// if its exit is not known yet. It has been quiet while another was started.
func TestCommandCallAfterKillIsNotSent(t *testing.T) {
	meet := func() mcp.Caller {
		l := dial(t, child("serve"))
		wantResult(t, l, "{}")
		return l
	}
	l := meet()
	for range assert.Cases(3, 10) {
		next := meet()
		assert.OK(t, syscall.Kill(pid(t, l), syscall.SIGKILL))
		wantFailure(t, l, mcp.NotSent)
		_ = l.Close()
		l = next
	}
}

func TestStartError(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	assert.OK(t, os.WriteFile(plain, []byte("text"), 0o600))
	for name, c := range map[string]struct {
		recipe transport.Command
		is     error
	}{
		"missing in PATH":   {transport.Command{Path: "no-such-program-here"}, exec.ErrNotFound},
		"missing":           {transport.Command{Path: filepath.Join(dir, "none")}, fs.ErrNotExist},
		"not executable":    {transport.Command{Path: plain}, fs.ErrPermission},
		"folder":            {transport.Command{Path: dir}, fs.ErrPermission},
		"missing directory": {transport.Command{Path: "/bin/sh", Dir: filepath.Join(dir, "none")}, fs.ErrNotExist},
	} {
		c.recipe.Args, c.recipe.Env = []string{"--key=s3cret"}, []string{"KEY=s3cret"}
		_, err := c.recipe.Connect(t.Context())
		assert.Equal(t, assert.As[*transport.StartError](t, err, name).Path, c.recipe.Path, name)
		assert.Is(t, err, c.is, name)
		wantOutcome(t, err, mcp.NotSent)
		assert.Lacks(t, err.Error(), "s3cret", name)
		assert.Equal(t, strings.Count(err.Error(), c.recipe.Path), 1, "%s: times that %v names the program", name, err)
	}
	assert.Contains(t, assert.As[*transport.OptionError](t, assert.Err((&transport.Command{}).Connect(t.Context()))).Error(), "Command.Path")
}

// environment returns the variables that a child gets.
func environment(t *testing.T, variables ...string) map[string]string {
	t.Helper()
	recipe := child("read", "env", "serve")
	recipe.Env = append(recipe.Env, variables...)
	var env []string
	assert.OK(t, json.Unmarshal([]byte(assert.Value(ask(t, dial(t, recipe)))(t)), &env))
	seen := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		_, twice := seen[name]
		assert.False(t, twice, "%s came twice", name)
		seen[name] = value
	}
	return seen
}

func TestCommandEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("TERM", "() { evil; }")
	t.Setenv("HOME", "/nowhere")
	env := environment(t, "GIVEN=yes", "HOME=/given")
	own := []string{"HOME", "LOGNAME", "PATH", "SHELL", "USER", "GIVEN", "TRANSPORTTEST_CHILD", "GORACE", "MCPBELT_PROCESS"}
	for name := range env {
		assert.True(t, slices.Contains(own, name) || slices.Contains(transport.BaseEnvNames(), name), "the variable %s is for the child", name)
	}
	for name, want := range map[string]string{"GIVEN": "yes", "HOME": "/given", "PATH": os.Getenv("PATH")} {
		assert.Equal(t, env[name], want, name)
	}
}

// A proxy that is given to a server is not outdone by one of this process in other
// letters.
func TestCommandProxy(t *testing.T) {
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy"} {
		t.Setenv(name, "http://ours.example")
	}
	env := environment(t, "HTTP_PROXY=http://given.example")
	_, other := env["http_proxy"]
	assert.False(t, other, "http_proxy: set")
	assert.Equal(t, env["HTTP_PROXY"], "http://given.example")
	assert.Equal(t, env["https_proxy"], "http://ours.example")
}

// The child has its three pipes and no other end of them, nor any of another child.
func TestCommandOpenFiles(t *testing.T) {
	first, second := dial(t, child("serve")), dial(t, child("read", "fds", "serve"))
	foreign := map[string]bool{}
	for _, l := range []mcp.Caller{first, second} {
		for _, fd := range []string{"0", "1", "2"} {
			name := assert.Value(os.Readlink("/proc/" + strconv.Itoa(pid(t, l)) + "/fd/" + fd))(t)
			assert.Contains(t, name, "pipe:", "file "+fd)
			foreign[name] = true
		}
	}
	assert.Equal(t, len(foreign), 6, "different pipes of two children")
	var files []string
	assert.OK(t, json.Unmarshal([]byte(assert.Value(ask(t, second))(t)), &files))
	for _, f := range files {
		number, name, _ := strings.Cut(f, " ")
		assert.False(t, !slices.Contains([]string{"0", "1", "2"}, number) && foreign[name], "the child has %s open", f)
	}
}

// holds reports whether a process has a file open.
func holds(t *testing.T, pid int, path string) bool {
	t.Helper()
	links := assert.Value(filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*"))(t)
	assert.True(t, len(links) > 0, "files of %d: seen", pid)
	return slices.ContainsFunc(links, func(link string) bool {
		to, err := os.Readlink(link)
		return err == nil && to == path
	})
}

// A descriptor without close-on-exec, as C libraries open them, reaches neither a server
// nor the watchdog.
func TestCommandInheritsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	fd := assert.Value(syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0o600))(t)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	assert.True(t, holds(t, os.Getpid(), path), "here: open")
	w := new(transport.Watchdog)
	defer func() { _ = w.Close() }()
	l := dial(t, watched(w, "serve"))
	wantResult(t, l, "{}") // the server has begun
	assert.False(t, holds(t, pid(t, l), path), "server: open")
	closeWithin(t, l)
	assert.False(t, holds(t, w.PID(), path), "watchdog: open")
}

func entries(t *testing.T, folder string) int {
	t.Helper()
	return len(assert.Value(os.ReadDir(folder))(t))
}

func TestCommandLeavesNothing(t *testing.T) {
	// The garbage collector closes forgotten files, and would hide them here.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	once := func() {
		l := dial(t, child("serve"))
		wantResult(t, l, "{}")
		closeWithin(t, l)
		assert.True(t, gone(pid(t, l)), "the process: gone")
		l = dial(t, child("exit:1"))
		_, _ = l.Read(bounded(t))
		closeWithin(t, l)
		_, _ = (&transport.Command{Path: "/no/such/program"}).Connect(t.Context())
	}
	once() // opens what the runtime keeps
	before := entries(t, "/proc/self/fd")
	for range 2 {
		once()
	}
	await(t, "files to be closed", func() bool { return entries(t, "/proc/self/fd") <= before })
}

// Servers take no threads of this process while they run.
func TestCommandTakesNoThread(t *testing.T) {
	servers := assert.Cases(20, 40)
	watchdog := new(transport.Watchdog)
	t.Cleanup(func() { _ = watchdog.Close() })
	before := entries(t, "/proc/self/task")
	for range servers {
		dial(t, watched(watchdog, "read", "hang"))
	}
	more := entries(t, "/proc/self/task") - before
	assert.True(t, more <= servers/2, "%d more threads with %d servers, at most %d", more, servers, servers/2)
}
