package transport_test

import (
	"os"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// Servers take no threads of this process while they run.
func TestCommandTakesNoThread(t *testing.T) {
	const servers = 40
	watchdog := new(transport.Watchdog)
	t.Cleanup(func() { _ = watchdog.Close() })
	before := threads(t)
	for range servers {
		command := transporttest.Child("read", "hang")
		command.Watchdog = watchdog
		dial(t, command)
	}
	if more := threads(t) - before; more > servers/2 {
		t.Errorf("got %d more threads with %d servers, want at most %d", more, servers, servers/2)
	}
}

func threads(t *testing.T) int {
	t.Helper()
	list := assert.Value(os.ReadDir("/proc/self/task"))(t)
	return len(list)
}
