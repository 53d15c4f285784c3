//go:build unix

package loginpath

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// tooLong is more than a shell takes on a busy machine.
const tooLong = 2 * time.Minute

// setShell makes a program the user's login shell.
func setShell(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shell")
	assert.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("SHELL", path)
	t.Setenv("PATH", "/usr/bin:/bin:.:/desktop")
}

func TestRead(t *testing.T) {
	setShell(t, `echo "Welcome PATH=/evil"; PATH="/opt/nvm/bin:/usr/bin"; export PATH; shift 3; eval "$@"`)
	assert.Equal(t, assert.Value(read(t.Context(), tooLong))(t), "/opt/nvm/bin:/usr/bin:/bin:/desktop")
}

// A shell that is of no use leaves the PATH as it is.
func TestReadOfAnUnusableShell(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	for name, script := range map[string]string{"fails": "exit 3", "says nothing": "exit 0", "hangs": "echo > " + begun + "; exec /bin/sleep 600"} {
		setShell(t, script)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // ends with the shell that hangs, or with the context
			for ctx.Err() == nil {
				<-time.After(time.Millisecond)
				if _, err := os.Stat(begun); err == nil {
					cancel()
				}
			}
		}()
		got, err := read(ctx, tooLong)
		cancel()
		assert.Fails(t, err, name)
		assert.Equal(t, got, os.Getenv("PATH"), name)
	}
}

func TestReadAfterTheEndOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := Read(ctx)
	assert.Is(t, err, context.Canceled)
	assert.Equal(t, got, os.Getenv("PATH"))
}
