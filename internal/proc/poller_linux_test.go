package proc

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A watch reports once, and once more for each call of Again: text, then the end.
func TestWatchReadable(t *testing.T) {
	r, w, err := os.Pipe()
	assert.OK(t, err)
	defer func() { _ = r.Close() }()
	raw := assert.Value(r.SyscallConn())(t)
	ready := make(chan struct{})
	watch := WatchReadable(r, func() { ready <- struct{}{} })
	defer watch.End()
	b := make([]byte, 8)
	assert.Is(t, assert.Err(ReadNow(raw, b)), ErrNothing)
	_ = assert.Value(w.WriteString("text"))(t)
	<-ready
	assert.Equal(t, string(b[:assert.Value(ReadNow(raw, b))(t)]), "text")
	watch.Again()
	assert.OK(t, w.Close())
	<-ready
	assert.Equal(t, assert.Err(ReadNow(raw, b)), io.EOF)
}

// A process that has ended is so before it is waited for.
func TestHasEnded(t *testing.T) {
	cmd := exec.Command("cat")
	in := assert.Value(cmd.StdinPipe())(t)
	assert.OK(t, cmd.Start())
	end := OpenEnd(cmd.Process.Pid)
	defer func() { _ = end.Close() }()
	ready := make(chan struct{})
	watch := WatchReadable(end, func() { close(ready) })
	defer watch.End()
	assert.False(t, HasEnded(cmd.Process.Pid), "it runs, and has ended")
	assert.OK(t, in.Close())
	<-ready
	assert.True(t, HasEnded(cmd.Process.Pid), "it has ended")
	assert.OK(t, cmd.Wait())
	assert.Equal(t, OpenEnd(-1), nil, "of no process")
}
