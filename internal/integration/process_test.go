// Tests of processes: servers that are killed, and what is left of those that were started.

//go:build integration && linux

package integration

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A mark is an environment variable that a process and all its descendants
// carry, however they detach themselves.
type mark string

func newMark() mark { return mark("INTEGRATION_MARK=" + rand.Text()) }

// put returns e with the mark in its environment.
func (m mark) put(e entry) entry {
	env := make(map[string]string)
	for k, v := range e.Env {
		env[k] = v
	}
	k, v, _ := strings.Cut(string(m), "=")
	env[k] = v
	e.Env = env
	return e
}

// pids returns the running processes that carry the mark and whose command
// line contains all of words.
func (m mark) pids(t *testing.T, words ...string) []int {
	t.Helper()
	environs := assert.Value(filepath.Glob("/proc/[0-9]*/environ"))(t)
	var pids []int
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append(env, 0), []byte(string(m)+"\x00")) {
			continue // ended meanwhile, or not ours
		}
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || !containsAll(string(cmdline), words) {
			continue
		}
		pids = append(pids, assert.Value(strconv.Atoi(filepath.Base(filepath.Dir(path))))(t))
	}
	return pids
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// pid returns the only running process with the mark and the words.
func (m mark) pid(t *testing.T, words ...string) int {
	t.Helper()
	return assert.Only(t, m.pids(t, words...))
}

// kill9 kills a process and waits until it has let go of its files.
func kill9(t *testing.T, pid int) {
	t.Helper()
	assert.OK(t, syscall.Kill(pid, syscall.SIGKILL), "kill -9 %d", pid)
	eventually(t, "the killed process to end", func() bool {
		state := procState(pid)
		return state == "" || state == "Z"
	})
}

// procState returns the state letter of a process, or "" if there is none.
func procState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// unread returns how many bytes wait in the pipe that is the process's
// standard input.
func unread(t *testing.T, pid int) int {
	t.Helper()
	fd := assert.Value(unix.Open(fmt.Sprintf("/proc/%d/fd/0", pid), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	return assert.Value(unix.IoctlGetInt(fd, unix.TIOCINQ))(t)
}

// zombies returns our children that ended and were not waited for.
func zombies(t *testing.T) []int {
	t.Helper()
	lists := assert.Value(filepath.Glob("/proc/self/task/*/children"))(t)
	var found []int
	for _, path := range lists {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the thread ended
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil && procState(pid) == "Z" {
				found = append(found, pid)
			}
		}
	}
	return found
}

// openFiles returns what our file descriptors refer to, by number.
func openFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := assert.Value(os.Open("/proc/self/fd"))(t)
	defer dir.Close()
	names := assert.Value(dir.Readdirnames(-1))(t)
	files := make(map[string]string)
	for _, n := range names {
		if n != strconv.Itoa(int(dir.Fd())) {
			files[n], _ = os.Readlink("/proc/self/fd/" + n)
		}
	}
	return files
}

// wantUnknown checks the error of a call whose server died.
func wantUnknown(t *testing.T, err error, server, tool string) {
	t.Helper()
	unknown := assert.As[*mcp.OutcomeUnknownError](t, err)
	assert.Equal(t, [3]string{unknown.Server, unknown.Tool, unknown.Method}, [3]string{server, tool, "tools/call"}, "what the error names")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown)
	assert.False(t, mcp.SafeToRetry(err), "safe to retry")
}

func TestKilledChildIsReplaced(t *testing.T) {
	m := newMark()
	h := open(t, map[string]entry{"every": m.put(stdio(t, "everything", "stdio"))}, nil)
	for range 3 {
		before := m.pid(t, "server-everything")
		call(t, h, "every__echo", `{"message":"before"}`)
		kill9(t, before)
		assert.Equal(t, text(call(t, h, "every__echo", `{"message":"after"}`)), "Echo: after", "after the kill")
		assert.False(t, m.pid(t, "server-everything") == before, "the process that was killed answers")
	}
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 13, "tools after the kills")
}

// A server behind a URL that is started again has forgotten the session.
func TestKilledListenerIsMetAgain(t *testing.T) {
	for _, tt := range []struct{ name, mode, kind string }{
		{"http", "streamableHttp", "http"},
		{"sse", "sse", "sse"},
		{"auto to sse", "sse", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := listen(t, tt.mode)
			h := open(t, map[string]entry{"every": {Type: tt.kind, URL: srv.url()}}, nil)
			for range 2 {
				call(t, h, "every__echo", `{"message":"before"}`)
				srv.kill()
				srv.start(t)
				assert.Equal(t, text(call(t, h, "every__echo", `{"message":"after"}`)), "Echo: after", "after the kill")
			}
			assert.Equal(t, len(h.Registry().Snapshot().Tools()), 13, "tools after the kills")
		})
	}
}

// A call that has begun when its server dies is not repeated, even though the
// server calls the tool read-only: nobody said that it is to be believed.
func TestKilledDuringCall(t *testing.T) {
	m := newMark()
	tests := []struct {
		name  string
		setup func(t *testing.T) (e entry, kill, start func())
	}{
		{"stdio", func(t *testing.T) (entry, func(), func()) {
			kill := func() { kill9(t, m.pid(t, "server-everything")) }
			return m.put(stdio(t, "everything", "stdio")), kill, func() {}
		}},
		{"http", func(t *testing.T) (entry, func(), func()) {
			srv := listen(t, "streamableHttp")
			return entry{Type: "http", URL: srv.url()}, srv.kill, func() { srv.start(t) }
		}},
		{"sse", func(t *testing.T) (entry, func(), func()) {
			srv := listen(t, "sse")
			return entry{Type: "sse", URL: srv.url()}, srv.kill, func() { srv.start(t) }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, kill, start := tt.setup(t)
			h := open(t, map[string]entry{"every": e}, nil)
			var seen []float64
			opts := &mcp.RequestOptions{Progress: func(p *mcp.ProgressParams) {
				seen = append(seen, p.Progress)
				if p.Progress == 2 {
					kill()
					start()
				}
			}}
			const tool = "trigger-long-running-operation"
			_, err := client(t, h, "every").CallTool(ctxFor(t), tool, json.RawMessage(`{"duration":2,"steps":20}`), opts)
			wantUnknown(t, err, "every", tool)
			// What the server had written before it was killed may still come, and no more.
			assert.True(t, len(seen) < 20, "progress to the end: %v", seen)
			for i, step := range seen {
				assert.Equal(t, step, float64(i+1), "progress")
			}
			assert.Equal(t, text(call(t, h, "every__echo", `{"message":"after"}`)), "Echo: after", "after the kill")
		})
	}
}

// The server dies after the call has taken effect and before it has answered.
// The client cannot know; repeating the call would make it take effect twice.
func TestEffectIsNotRepeated(t *testing.T) {
	dir := t.TempDir()
	e := stdio(t, "memory")
	crash, err := filepath.Abs("testdata/crash.cjs")
	assert.OK(t, err)
	e.Args = append([]string{"--require", crash}, e.Args...)
	e.Env = map[string]string{
		"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl"),
		"CRASH_LOG":        filepath.Join(dir, "writes"),
	}
	h := open(t, map[string]entry{"memory": e}, nil)
	_, err = h.Registry().Call(ctxFor(t), "memory__create_entities",
		json.RawMessage(`{"entities":[{"name":"Once","entityType":"deed","observations":[]}]}`))
	wantUnknown(t, err, "memory", "create_entities")
	assert.Equal(t, strings.Count(text(call(t, h, "memory__read_graph", `{}`)), "Once"), 1, "the graph after the call")
	assert.Equal(t, strings.Count(string(assert.Value(os.ReadFile(filepath.Join(dir, "writes")))(t)), "\n"), 1, "the memory was written by")
}

// The request lies in the pipe of a server that is stopped, when the server is killed.
// It cannot be known that it was not read, so the call is not sent to the next process.
func TestUnreadCallIsUnknown(t *testing.T) {
	m := newMark()
	e := m.put(stdio(t, "memory"))
	e.Env["MEMORY_FILE_PATH"] = filepath.Join(t.TempDir(), "memory.jsonl")
	h := open(t, map[string]entry{"memory": e}, nil)

	pid := m.pid(t, "server-memory")
	assert.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, "the server to stop", func() bool { return procState(pid) == "T" })
	done := make(chan error)
	go func() {
		_, err := h.Registry().Call(ctxFor(t), "memory__create_entities",
			json.RawMessage(`{"entities":[{"name":"Once","entityType":"deed","observations":[]}]}`))
		done <- err
	}()
	eventually(t, "the request to be sent", func() bool { return unread(t, pid) > 0 })
	kill9(t, pid)
	wantUnknown(t, <-done, "memory", "create_entities")
	assert.Lacks(t, text(call(t, h, "memory__read_graph", `{}`)), "Once", "the graph")
	assert.False(t, m.pid(t, "server-memory") == pid, "the process that was killed is alive")
}

// After Close nothing is left of what the host started: no process, however
// deep, and no open file. goleak watches the goroutines.
func TestNothingIsLeft(t *testing.T) {
	// The collector would close forgotten files.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	http, sse := listen(t, "streamableHttp"), listen(t, "sse")
	m := newMark()
	memory := m.put(stdio(t, "memory"))
	memory.Env["MEMORY_FILE_PATH"] = filepath.Join(t.TempDir(), "memory.jsonl")
	// The server is the child of our child, as with npx, and has company that
	// holds its output open and does not care that its input ends, some of it
	// in a session of its own.
	memory.Args = []string{"-c", `sleep 1000 & setsid sleep 1000 & "$0" "$@"; echo "the server ended" >&2`, memory.Command, memory.Args[0]}
	memory.Command = "/bin/sh"
	servers := map[string]entry{
		"every":  m.put(stdio(t, "everything", "stdio")),
		"memory": memory,
		"http":   {Type: "http", URL: http.url()},
		"sse":    {Type: "sse", URL: sse.url()},
		"auto":   {URL: sse.url()},
	}
	var before map[string]string
	// The first round opens what the Go runtime keeps for good.
	for range 2 {
		before = openFiles(t)
		h := open(t, servers, nil)
		for server := range servers {
			if server != "memory" {
				call(t, h, server+"__echo", `{"message":"hello"}`)
			}
		}
		call(t, h, "memory__read_graph", `{}`)
		m.pid(t, "server-everything")
		n := len(m.pids(t, "server-memory")) + len(m.pids(t, "sleep\x001000"))
		assert.True(t, n >= 4, "%d processes of the memory server are as wanted, the shell and its children", n)
		assert.Equal(t, h.Close(), nil, "Close")
		assert.Equal(t, fmt.Sprint(m.pids(t), zombies(t)), "[] []", "processes and zombies that are left")
	}
	after := openFiles(t)
	for n, file := range after {
		if before[n] != file && !strings.HasPrefix(file, "anon_inode:") {
			t.Errorf("open file %s: %s", n, file)
		}
	}
	assert.True(t, len(after) <= len(before), "there are not more open files than before, %v: %v", before, after)
}

// A process that is killed cannot clean up. Its servers end all the same, and so
// does what they started that does not care.
func TestServersEndWithTheirHost(t *testing.T) {
	m := newMark()
	every := m.put(stdio(t, "everything", "stdio"))
	wrapped := every
	wrapped.Command, wrapped.Args = "/bin/sh", []string{"-c", `trap "" TERM; sleep 1000 & setsid sleep 1000 & "$0" "$@"; :`, every.Command, every.Args[0], "stdio"}
	servers := map[string]entry{"every": every, "wrapped": wrapped}

	const role = "INTEGRATION_ROLE=host"
	if os.Getenv("INTEGRATION_ROLE") == "host" {
		fmt.Printf("mark %s %d\n", m, len(open(t, servers, nil).Registry().Snapshot().Tools()))
		<-t.Context().Done() // killed before that
		return
	}
	self := exec.Command(os.Args[0], "-test.run=^TestServersEndWithTheirHost$")
	self.Env = append(os.Environ(), role)
	self.Stderr = os.Stderr
	out := assert.Value(self.StdoutPipe())(t)
	assert.OK(t, self.Start())
	lines := bufio.NewScanner(out)
	var theirs mark
	tools := 0
	for theirs == "" && lines.Scan() {
		_, _ = fmt.Sscanf(lines.Text(), "mark %s %d", &theirs, &tools)
	}
	before := len(theirs.pids(t, "server-everything")) + len(theirs.pids(t, "sleep\x001000"))
	kill9(t, self.Process.Pid)
	_ = self.Wait() // "signal: killed"
	assert.Equal(t, fmt.Sprint(theirs != "", tools, before >= 5), "true 26 true", "the mark, the tools and the processes of the host")
	eventually(t, "the servers of the killed host to end", func() bool { return len(theirs.pids(t)) == 0 })
}
