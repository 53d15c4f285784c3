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
)

// await polls until ok, or fails the test.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	ctx := bounded(t)
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, watchdog)
		}
	}
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
