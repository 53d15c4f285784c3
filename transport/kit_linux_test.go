package transport_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// await polls until ok, or fails the test.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx := bounded(t); !ok(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, tooLong)
		}
	}
}

// awaitEnd polls until a process has ended.
func awaitEnd(t *testing.T, what string, pid int) {
	t.Helper()
	await(t, "the end of "+what, func() bool { return gone(pid) })
}

// processState returns the letter of /proc/PID/stat, or "" if there is no such
// process.
func processState(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	state, _, _ := strings.Cut(string(rest), " ")
	return state
}

func gone(pid int) bool {
	state := processState(pid)
	return state == "" || state == "Z" || state == "X"
}

// stop stops a process with SIGSTOP and waits until it stands still.
func stop(t *testing.T, pid int) {
	t.Helper()
	assert.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
	await(t, "SIGSTOP", func() bool { return processState(pid) == "T" })
}

// pid returns the process id of a connection's server.
func pid(t *testing.T, l mcp.Caller) int {
	t.Helper()
	id := l.Info().PID
	if id == 0 {
		t.Fatal("got no id of the process")
	}
	return id
}

// lines are what a child writes to stderr.
type lines chan string

func watch(c *transport.Command) lines {
	l := make(lines, 1000)
	c.Stderr = func(line string) { l <- line }
	return l
}

// await waits until a line begins with prefix, and returns what follows.
func (l lines) await(t *testing.T, prefix string) string {
	t.Helper()
	for {
		if rest, ok := strings.CutPrefix(receive(t, l, "a line on stderr: "+prefix), prefix); ok {
			return rest
		}
	}
}

// awaitPID waits for the id of a process that the child has started.
func (l lines) awaitPID(t *testing.T) int {
	t.Helper()
	pid := assert.Value(strconv.Atoi(l.await(t, "pid ")))(t)
	t.Cleanup(func() {
		if !gone(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

// dialWatched connects, and collects what the child writes to stderr.
func dialWatched(t *testing.T, recipe *transport.Command) (mcp.Caller, lines) {
	t.Helper()
	out := watch(recipe)
	return dial(t, recipe), out
}
