//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A world is a folder in which tests run mcpbelt as processes of their own.
type world struct {
	t            testing.TB
	program, dir string
	env          []string
}

// newWorld returns a world with the servers of a config file of the user. SERVER in it
// stands for what an entry of the test server begins with, FLAGS for the variable with its
// flags, and DIR for the folder of the world.
func newWorld(t testing.TB, servers string) *world {
	program := assert.Value(os.Executable())(t)
	w := &world{t: t, program: program, dir: t.TempDir()}
	home := filepath.Join(w.dir, "home")
	state := filepath.Join(w.dir, "s")
	w.env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_STATE_HOME="+state)
	servers = strings.ReplaceAll(servers, "SERVER", `"command": "`+filepath.ToSlash(program)+`", "env"`)
	servers = strings.ReplaceAll(servers, "DIR", filepath.ToSlash(w.dir))
	w.write("home/.config/mcpbelt/mcp.json", `{"mcpServers": {`+strings.ReplaceAll(servers, "FLAGS", serverMode)+`}}`)
	return w
}

// write writes a file of the world.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	assert.OK(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.OK(w.t, os.WriteFile(path, []byte(text), 0o600))
}

// inProcess returns the environment for commands that run in this process.
func (w *world) inProcess() *cli.Env {
	lookup := func(name string) (string, bool) {
		for _, v := range slices.Backward(w.env) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
	return &cli.Env{Stdin: strings.NewReader(""), Lookup: lookup, Dir: w.dir, StateDir: filepath.Join(w.dir, "s", "mcpbelt"), Now: time.Now}
}

// command returns a command line of mcpbelt.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.program)
	cmd.Args = append([]string{"mcpbelt"}, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// run runs a command line that must succeed, and returns its output.
func (w *world) run(args ...string) string {
	w.t.Helper()
	var stderr strings.Builder
	cmd := w.command(args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	assert.OK(w.t, err, "mcpbelt %s: %s%s", strings.Join(args, " "), out, &stderr)
	return string(out)
}

// A running is a command that goes on.
type running struct {
	*exec.Cmd
	t     testing.TB
	lines *bufio.Scanner
}

// start starts a command line whose standard output is read line by line. It is killed
// with the test.
func (w *world) start(args ...string) *running {
	w.t.Helper()
	cmd := w.command(args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	assert.OK(w.t, err)
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &running{cmd, w.t, bufio.NewScanner(out)}
}

// await reads lines until one contains a text, and returns it.
func (r *running) await(text string) string {
	r.t.Helper()
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), text) {
			return r.lines.Text()
		}
	}
	r.t.Fatalf("got no line with %q before the end of the output", text)
	return ""
}

// end sends a signal, and returns the exit of the command.
func (r *running) end(s syscall.Signal) int {
	r.t.Helper()
	assert.OK(r.t, r.Process.Signal(s))
	for r.lines.Scan() {
	}
	_ = r.Wait()
	return r.ProcessState.ExitCode()
}

// awaitFile returns when a file of the world has a line that begins with a word, with the
// rest of that line.
func (w *world) awaitFile(name, word string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		data, _ := os.ReadFile(filepath.Join(w.dir, name))
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word+" "); ok {
				return rest
			}
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("got no line %q in %s: %s", word, name, data)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// awaitGone returns when there is no process of that id.
func awaitGone(t testing.TB, pid string) {
	t.Helper()
	var id int
	assert.Value(fmt.Sscan(pid, &id))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for syscall.Kill(id, 0) == nil {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d is still there", id)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// The first Ctrl-C cancels a call at its server, and says so by the exit.
func TestCallIsCancelled(t *testing.T) {
	w := newWorld(t, `"lab": {SERVER: {"FLAGS": "-features -mark DIR/mark"}}`)
	call := w.start("call", "lab", "hang", "--yes")
	pid := w.awaitFile("mark", "called")
	assert.Equal(t, call.end(syscall.SIGINT), 130, "the exit")
	w.awaitFile("mark", "cancelled")
	awaitGone(t, pid)
}

// No server outlives a command that was killed.
func TestKilledCallLeavesNoProcess(t *testing.T) {
	//report: Command | github/github-mcp-server#2323, github/copilot-cli#4461, modelcontextprotocol/typescript-sdk#547, docker/mcp-gateway#483 | a client is killed in the middle of a call, and the servers that it started live on | they end with it
	w := newWorld(t, `"lab": {SERVER: {"FLAGS": "-features -mark DIR/mark"}}`)
	call := w.start("call", "lab", "hang", "--yes")
	pid := w.awaitFile("mark", "called")
	call.end(syscall.SIGKILL)
	awaitGone(t, pid)
}

// What follows a resource writes a line for each change.
func TestResourcesWatch(t *testing.T) {
	w := newWorld(t, `"lab": {SERVER: {"FLAGS": "-features -news DIR/news.txt"}}`)
	w.write("news.txt", "first")
	watch := w.start("resources", "lab", "--watch", "docs://news")
	watch.await("following docs://news")
	w.write("news.txt", "second")
	watch.await("changed docs://news")
	assert.Equal(t, watch.end(syscall.SIGTERM), 143, "the exit")
}

// Serve over standard input ends when its parent is gone, though its input stays open, and leaves no server.
func TestServeEndsWithItsParent(t *testing.T) {
	//report: Gateway | DeusData/codebase-memory-mcp#406, hangwin/mcp-chrome#304, a-bonus/google-docs-mcp#112, openags/paper-search-mcp#114 | the program that has started a server is gone, and the pipe does not end since another process holds it | serve --stdio sees that it has another parent within a second, and ends with its servers
	w := newWorld(t, `"lab": {SERVER: {"FLAGS": "-features -mark DIR/mark"}}`)
	w.run("tools", "lab")
	shell := exec.Command("sh", "-c", `exec 3<&0; "$0" serve --stdio <&3 >/dev/null & echo $! >served; wait`, w.program)
	shell.Args[2] = strings.Replace(shell.Args[2], `"$0"`, "mcpbelt", 1)
	assert.OK(t, os.Symlink(w.program, filepath.Join(w.dir, "mcpbelt")))
	shell.Dir, shell.Env = w.dir, append(w.env, "PATH="+w.dir+":"+os.Getenv("PATH"))
	in := assert.Value(shell.StdinPipe())(t)
	defer in.Close()
	assert.OK(t, shell.Start())
	for _, m := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lab__hang","arguments":{}}}`} {
		assert.Value(io.WriteString(in, m+"\n"))(t)
	}
	server := w.awaitFile("mark", "called")
	served := strings.TrimSpace(string(assert.Value(os.ReadFile(filepath.Join(w.dir, "served")))(t)))
	assert.OK(t, shell.Process.Kill())
	_ = shell.Wait()
	awaitGone(t, served)
	awaitGone(t, server)
}
