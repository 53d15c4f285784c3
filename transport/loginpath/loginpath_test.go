//go:build unix

package loginpath_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport/loginpath"
)

// shell makes a program the user's login shell.
func shell(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shell")
	assert.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("SHELL", path)
	t.Setenv("PATH", "/usr/bin:/bin:.:/desktop")
}

func TestRead(t *testing.T) {
	shell(t, `echo "Welcome PATH=/evil"; PATH="/opt/nvm/bin:/usr/bin"; export PATH; shift 3; eval "$@"`)
	got := assert.Value(loginpath.Read(t.Context()))(t)
	assert.Equal(t, got, "/opt/nvm/bin:/usr/bin:/bin:/desktop")
}

// A shell that is of no use leaves the PATH as it is.
func TestReadOfAnUnusableShell(t *testing.T) {
	for name, script := range map[string]string{"fails": "exit 3", "says nothing": "exit 0"} {
		shell(t, script)
		if got, err := loginpath.Read(t.Context()); err == nil || got != os.Getenv("PATH") {
			t.Errorf("%s: got %s and %v, want the present PATH and an error", name, got, err)
		}
	}
	shell(t, "exec /bin/sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := loginpath.Read(ctx); err == nil || !strings.HasSuffix(got, "/desktop") {
		t.Errorf("hangs: got %s and %v, want the present PATH and an error", got, err)
	}
}
