package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// watchdogs returns the ids of this process's children that are watchdogs.
func watchdogs(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("the system does not tell who the children of a process are")
	}
	var found []string
	for _, path := range lists {
		data, _ := os.ReadFile(path) // a thread may have ended
		for _, pid := range strings.Fields(string(data)) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if bytes.Contains(line, []byte("\x00mcpbelt-watchdog\x00")) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// One watchdog serves all servers of a host, from the first to Close.
func TestOneWatchdog(t *testing.T) {
	h := assert.Value(host.Open(watchdog(t), write(t, "one", child(t, "echo"), "two", child(t, "echo")), patient(nil)))(t)
	all := watchdogs(t)
	if len(all) != 1 {
		t.Errorf("watchdogs %v, want one", all)
	}
	if err := h.Disable(watchdog(t), "one"); err != nil {
		t.Error(err)
	}
	if now := watchdogs(t); strings.Join(now, " ") != strings.Join(all, " ") {
		t.Errorf("watchdogs %v, before %v", now, all)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if now := watchdogs(t); len(now) > 0 {
		t.Errorf("watchdogs %v after Close", now)
	}
}
