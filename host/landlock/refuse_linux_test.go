package landlock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/landlock"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What cannot be had is refused, never passed over.
func TestRefusals(t *testing.T) {
	for text, i := range map[string]config.Isolation{
		`"image"`:        {Image: "alpine"},
		`"args"`:         {Args: []string{"--memory=1g"}},
		"not absolute":   {Mounts: []config.Mount{{Path: "data"}}},
		"only a contain": {Mounts: []config.Mount{{Path: "/etc", Target: "/data"}}},
		"no such file":   {Mounts: []config.Mount{{Path: "/not/there"}}},
	} {
		c, err := landlock.New(nil).Isolate(t.Context(), entry(i), command(t))
		var refused *host.IsolationError
		if c != nil || !errors.As(err, &refused) || refused.Server != "child" || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want an IsolationError that says %s", i, err, text)
		}
	}
	_, err := landlock.New(&landlock.Options{Read: []string{"usr"}}).Isolate(t.Context(), entry(config.Isolation{}), command(t))
	assert.Contains(t, fmt.Sprint(err), "Options.Read", "a relative folder in Options")
}

// A start that fails leaves no folder behind.
func TestStartFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	mount := filepath.Join(t.TempDir(), "gone")
	assert.OK(t, os.Mkdir(mount, 0o700))
	i := config.Isolation{Mounts: []config.Mount{{Path: mount, Write: true}}}
	c := assert.Value(landlock.New(nil).Isolate(t.Context(), entry(i), command(t)))(t)
	assert.OK(t, os.Remove(mount))
	if _, err := c.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), mount) {
		t.Errorf("Connect without the mount: %v", err)
	}
	left, err := os.ReadDir(temp)
	assert.OK(t, err)
	assert.Equal(t, len(left), 0)
}

// What the caller has given to clear up is done, too.
func TestEndedIsKept(t *testing.T) {
	recipe := command(t)
	done := false
	recipe.Ended = func() { done = true }
	c := assert.Value(landlock.New(nil).Isolate(t.Context(), entry(config.Isolation{}), recipe))(t)
	assert.Equal(t, recipe.Start == nil, true, "the given command was changed")
	conn := assert.Value(c.Connect(t.Context()))(t)
	assert.OK(t, conn.Close(), "cleared up")
	assert.Equal(t, done, true, "cleared up")
}
