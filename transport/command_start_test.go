package transport_test

import (
	"errors"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// A server is started by the hook, and cleared up after when its process is gone.
func TestCommandStartAndEnded(t *testing.T) {
	recipe := transporttest.Child("serve")
	var process *exec.Cmd
	recipe.Start = func(cmd *exec.Cmd) error {
		process = cmd
		return cmd.Start()
	}
	var ended, early atomic.Int32
	recipe.Ended = func() {
		ended.Add(1)
		if process.ProcessState == nil {
			early.Add(1)
		}
	}
	l := dial(t, recipe)
	if process == nil || process.Process == nil {
		t.Fatal("the process was not started by the hook")
	}
	assert.Value(ask(t, l))(t)
	if ended.Load() != 0 {
		t.Error("cleared up while the server runs")
	}
	closeWithin(t, l)
	if ended.Load() != 1 || early.Load() != 0 {
		t.Errorf("after Close: cleared up %d times, %d of them before the end", ended.Load(), early.Load())
	}
}

// What ends by itself is cleared up after, too, before anybody closes it.
func TestCommandEndedByItself(t *testing.T) {
	recipe := transporttest.Child("exit:3")
	ended := make(chan struct{})
	recipe.Ended = func() { close(ended) }
	dial(t, recipe)
	select {
	case <-ended:
	case <-bounded(t).Done():
		t.Error("nobody cleared up")
	}
}

func TestCommandStartFails(t *testing.T) {
	recipe := transporttest.Child("serve")
	recipe.Start = func(*exec.Cmd) error { return syscall.EPERM }
	recipe.Ended = func() { t.Error("cleared up after what was never started") }
	_, err := recipe.Connect(t.Context())
	var start *transport.StartError
	if !errors.As(err, &start) || !errors.Is(err, syscall.EPERM) {
		t.Errorf("got %v, want a StartError with the hook's", err)
	}
}
