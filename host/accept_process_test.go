package host_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// acceptChildren returns the ids of this program's child processes that have not
// ended.
func acceptChildren(t testing.TB) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	tasks := assert.Value(filepath.Glob("/proc/self/task/*/children"))(t)
	var pids []int
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && alive(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// acceptProcess returns what makes transports for all servers but the named one, which
// is a process.
func acceptProcess(in func(session.Key, *config.Server) (mcp.Transport, error), name string) func(session.Key, *config.Server) (mcp.Transport, error) {
	return func(key session.Key, e *config.Server) (mcp.Transport, error) {
		if e.Name == name {
			return nil, nil
		}
		return in(key, e)
	}
}
