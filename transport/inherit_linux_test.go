package transport_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// openInheritable opens a new file as C libraries do, without close-on-exec, and
// returns its name.
func openInheritable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	fd := assert.Value(syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0o600))(t)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return path
}

// holds reports whether a process has a file open.
func holds(t *testing.T, pid int, path string) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("open files of %d: got %q, %v", pid, links, err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == path {
			return true
		}
	}
	return false
}

// A descriptor without close-on-exec reaches neither a server nor the watchdog.
func TestCommandInheritsNothing(t *testing.T) {
	path := openInheritable(t)
	if !holds(t, os.Getpid(), path) {
		t.Fatalf("got no open %s, want it open here", path)
	}
	w := new(transport.Watchdog)
	defer func() { _ = w.Close() }()
	l := dial(t, watched(w, "serve"))
	if _, err := ask(t, l); err != nil { // the server has begun
		t.Fatal(err)
	}
	if holds(t, pid(t, l), path) {
		t.Errorf("server: got %s open, want it closed", path)
	}
	closeWithin(t, l)
	if holds(t, w.PID(), path) {
		t.Errorf("watchdog: got %s open, want it closed", path)
	}
}
