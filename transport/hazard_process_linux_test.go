package transport_test

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// What a server started in its own process group ends with it.
func TestCommandLeavesNoGrandchild(t *testing.T) {
	t.Parallel()
	recipe := transporttest.Child("spawn:hang", "serve")
	out := watch(recipe)
	client := dial(t, recipe)
	grandchild := out.awaitPID(t)
	closeWithin(t, client)
	await(t, "the grandchild's end", func() bool { return gone(grandchild) })

	tr := bareCommand(recipe)
	stderr, write, err := os.Pipe()
	assert.OK(t, err)
	defer func() { _ = stderr.Close() }()
	tr.Command.Stderr = write
	conn, err := tr.Connect(bounded(t))
	_ = write.Close()
	assert.OK(t, err)
	line, _ := bufio.NewReader(stderr).ReadString('\n')
	grandchild = assert.Value(strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid "))))(t)
	_ = conn.Close()
	if gone(grandchild) {
		mended(t, "transport/group_unix.go")
	} else if err := syscall.Kill(grandchild, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// While a server that is deaf to all wishes to end is being closed, the calls
// under way are over, and new ones are refused at once.
func TestCommandCallsWhileClosing(t *testing.T) {
	recipe := transporttest.Child(slices.Concat(probed(), greeted(), []string{"deaf", "read", "ready", "hang"})...)
	recipe.CloseTimeout = 2 * watchdog
	out := watch(recipe)
	client := mcp.NewClient("server", recipe, nil)
	assert.OK(t, client.Ready(bounded(t)))
	process := client.State().PID
	failed := make(chan error, 1)
	go func() {
		_, err := client.CallTool(context.Background(), "x", nil, nil)
		failed <- err
	}()
	out.await(t, "ready")
	closed := make(chan struct{})
	go func() { _ = client.Close(); close(closed) }()
	select {
	case err := <-failed:
		wantOutcome(t, err, mcp.Unknown)
	case <-bounded(t).Done():
		t.Error("the call under way outlasts Close")
	}
	_, err := client.CallTool(context.Background(), "x", nil, nil)
	wantOutcome(t, err, mcp.NotSent)
	select {
	case <-closed:
		t.Error("the server is gone already")
	default:
	}
	if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-closed
}
