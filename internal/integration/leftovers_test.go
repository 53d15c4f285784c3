//go:build integration && linux

package integration

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
		if n := len(m.pids(t, "server-memory")) + len(m.pids(t, "sleep\x001000")); n < 4 {
			t.Errorf("%d processes of the memory server, want the shell and its children", n)
		}
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if pids := m.pids(t); len(pids) > 0 {
			t.Errorf("processes %v are left", pids)
		}
		if pids := zombies(t); len(pids) > 0 {
			t.Errorf("zombies %v are left", pids)
		}
	}
	after := openFiles(t)
	for n, file := range after {
		if before[n] != file && !strings.HasPrefix(file, "anon_inode:") {
			t.Errorf("open file %s: %s", n, file)
		}
	}
	if len(after) > len(before) {
		t.Errorf("%d open files before, %d after\nbefore: %v\nafter: %v", len(before), len(after), before, after)
	}
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
		h := open(t, servers, nil)
		fmt.Printf("mark %s %d\n", m, len(h.Registry().Snapshot().Tools()))
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
	if theirs == "" || tools != 26 || before < 5 {
		t.Fatalf("the host had %d tools and %d processes", tools, before)
	}
	eventually(t, "the servers of the killed host to end", func() bool { return len(theirs.pids(t)) == 0 })
}
