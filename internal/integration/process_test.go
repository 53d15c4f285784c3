//go:build integration && linux

package integration

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		pid := assert.Value(strconv.Atoi(filepath.Base(filepath.Dir(path))))(t)
		pids = append(pids, pid)
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
	pids := m.pids(t, words...)
	if len(pids) != 1 {
		t.Fatalf("processes %v of %q, want one", pids, words)
	}
	return pids[0]
}

// kill9 kills a process and waits until it has let go of its files.
func kill9(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill -9 %d: %v", pid, err)
	}
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
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/0", pid), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("standard input of %d: %v", pid, err)
	}
	defer unix.Close(fd)
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		t.Fatalf("standard input of %d: %v", pid, err)
	}
	return n
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
