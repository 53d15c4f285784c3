//go:build linux

package transport_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func TestCommandExitDuringACall(t *testing.T) {
	for name, c := range map[string]struct {
		steps  []string
		code   int
		signal string
	}{
		"code":   {[]string{"read", "stderr:out of tea", "exit:7"}, 7, ""},
		"zero":   {[]string{"read", "stderr:out of tea"}, 0, ""},
		"signal": {[]string{"read", "stderr:out of tea", "kill"}, -1, "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := dial(t, transporttest.Child(c.steps...))
			_, err := ask(t, l)
			var exit *transport.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("got %v, want an ExitError", err)
			}
			if exit.Code != c.code || exit.Signal != c.signal || strings.TrimSpace(exit.Stderr) != "out of tea" {
				t.Errorf("got %+v", exit)
			}
			wantOutcome(t, err, mcp.Unknown)
			_, err = ask(t, l)
			wantOutcome(t, err, mcp.NotSent)
		})
	}
}

func TestCommandExitIsAnEvent(t *testing.T) {
	l := dial(t, transporttest.Child("stderr:bye", "exit:3"))
	_, err := l.Read(bounded(t))
	var exit *transport.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("Read: got %v, want an ExitError with code 3", err)
	}
	if !errors.As(l.Info().Err, &exit) {
		t.Errorf("Err: got %v", l.Info().Err)
	}
}

func TestExitErrorKeepsTheEndOfStderr(t *testing.T) {
	l := dial(t, transporttest.Child("flood:300000", "stderr:the\x1b[31m reason", "exit:1"))
	_, err := l.Read(bounded(t))
	var exit *transport.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(strings.TrimSpace(exit.Stderr), "reason") || len(exit.Stderr) > 4<<10 {
		t.Errorf("%d bytes ending in %q", len(exit.Stderr), exit.Stderr[max(0, len(exit.Stderr)-40):])
	}
	if strings.Contains(err.Error(), "\x1b") {
		t.Error("a control character is in the text of the error")
	}
}

// What a server wrote before it exited counts.
func TestCommandAnswerBeforeExit(t *testing.T) {
	l := dial(t, transporttest.Child("read", "big:200000", "exit:1"))
	if got, err := ask(t, l); err != nil || len(got) != 200002 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// A killed server that had been quiet has not run what is written after, even
// if nobody has seen its exit yet. It has been quiet while another was started.
func TestCommandCallAfterKillIsNotSent(t *testing.T) {
	meet := func() mcp.Caller {
		l := dial(t, transporttest.Child("serve"))
		assert.Value(ask(t, l))(t)
		return l
	}
	l := meet()
	for range 10 {
		next := meet()
		assert.OK(t, syscall.Kill(pid(t, l), syscall.SIGKILL))
		_, err := ask(t, l)
		wantOutcome(t, err, mcp.NotSent)
		_ = l.Close()
		l = next
	}
}

func pid(t *testing.T, l mcp.Caller) int {
	t.Helper()
	id := l.Info().PID
	if id == 0 {
		t.Fatal("got no id of the process")
	}
	return id
}

// A call that the server has read is unknown.
func TestCommandReadCallIsUnknown(t *testing.T) {
	recipe := transporttest.Child("read", "ready", "hang")
	ready := make(chan struct{})
	recipe.Stderr = func(string) { close(ready) }
	l := dial(t, recipe)
	read := make(chan error, 1)
	go func() {
		_, err := l.Call(context.Background(), "tools/list", nil, nil)
		read <- err
	}()
	<-ready
	assert.OK(t, syscall.Kill(pid(t, l), syscall.SIGKILL))
	wantOutcome(t, <-read, mcp.Unknown)
}

func TestStartError(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	assert.OK(t, os.WriteFile(plain, []byte("text"), 0o600))
	for name, c := range map[string]struct {
		recipe transport.Command
		is     error
	}{
		"missing in PATH":   {transport.Command{Path: "no-such-program-here"}, exec.ErrNotFound},
		"missing":           {transport.Command{Path: filepath.Join(dir, "none")}, fs.ErrNotExist},
		"not executable":    {transport.Command{Path: plain}, fs.ErrPermission},
		"folder":            {transport.Command{Path: dir}, fs.ErrPermission},
		"missing directory": {transport.Command{Path: "/bin/sh", Dir: filepath.Join(dir, "none")}, fs.ErrNotExist},
	} {
		c.recipe.Args = []string{"--key=s3cret"}
		c.recipe.Env = []string{"KEY=s3cret"}
		_, err := c.recipe.Connect(t.Context())
		var start *transport.StartError
		if !errors.As(err, &start) || start.Path != c.recipe.Path || !errors.Is(err, c.is) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		wantOutcome(t, err, mcp.NotSent)
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows arguments or environment: %v", name, err)
		}
	}
	_, err := (&transport.Command{}).Connect(t.Context())
	var option *transport.OptionError
	if !errors.As(err, &option) || option.Field != "Command.Path" {
		t.Errorf("empty path: got %v", err)
	}
}
