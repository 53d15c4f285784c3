package host_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An acceptMoment is something that goes on when the host is ended.
type acceptMoment struct {
	name string
	// begin begins it and returns when it goes on, and what waits for its end.
	begin func(t *testing.T, h *host.Host, path string) (end func())
}

func acceptGo(f func()) (end func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	return func() { <-done }
}

// acceptImpatient is a transport that kills the server named stubborn soon. All other
// servers are the host's own business.
func acceptImpatient(_ session.Key, e *config.Server) (mcp.Transport, error) {
	if e.Name != "stubborn" {
		return nil, nil
	}
	c := &transport.Command{Path: e.Command, CloseTimeout: 200 * time.Millisecond}
	for name, value := range e.Env {
		c.Env = append(c.Env, name+"="+value.Reveal())
	}
	return c, nil
}

func acceptMoments() []acceptMoment {
	awaitStage := func(t *testing.T, h *host.Host, name string, stages ...host.Stage) {
		t.Helper()
		acceptEventually(t, "the moment", func() bool {
			for _, s := range h.Servers() {
				for _, stage := range stages {
					if s.Name == name && s.Stage == stage {
						return true
					}
				}
			}
			return false
		})
	}
	return []acceptMoment{
		{"nothing", func(*testing.T, *host.Host, string) func() { return func() {} }},
		{"Apply", func(t *testing.T, h *host.Host, _ string) func() {
			c := acceptParse(t, "stubborn", acceptChild(t, "silent", "1"), "s", acceptChild(t, "s", "2"))
			end := acceptGo(func() { _, _ = h.Apply(watchdog(t), c) })
			awaitStage(t, h, "stubborn", host.StageStarting)
			return end
		}},
		{"replacement", func(t *testing.T, h *host.Host, _ string) func() {
			c := acceptParse(t, "s", acceptChild(t, "mute", "1"))
			before := len(acceptChildren(t))
			end := acceptGo(func() { _, _ = h.Apply(watchdog(t), c) })
			acceptEventually(t, "the new process", func() bool { return len(acceptChildren(t)) > before })
			return end
		}},
		{"Enable", func(t *testing.T, h *host.Host, _ string) func() {
			c := acceptParse(t, "silent", acceptChild(t, "mute", "1", `"enabled": false`), "s", acceptChild(t, "s", "0"))
			assert.Value(h.Apply(watchdog(t), c))(t)
			end := acceptGo(func() { _ = h.Enable(watchdog(t), "silent") })
			awaitStage(t, h, "silent", host.StageStarting)
			return end
		}},
		{"Restart", func(t *testing.T, h *host.Host, _ string) func() {
			return acceptGo(func() { _ = h.Restart(watchdog(t), "s") })
		}},
		{"Refresh", func(t *testing.T, h *host.Host, _ string) func() {
			return acceptGo(func() { _ = h.Refresh(watchdog(t)) })
		}},
		{"lazy start", func(t *testing.T, h *host.Host, _ string) func() {
			c := acceptParse(t, "lazy", acceptChild(t, "mute", "1", `"lazy": true`))
			assert.Value(h.Apply(watchdog(t), c))(t)
			awaitStage(t, h, "lazy", host.StageStarting)
			return func() {}
		}},
		{"death", func(t *testing.T, h *host.Host, _ string) func() {
			kill(t, status(t, h, "s").State.PID)
			return func() {}
		}},
		{"retirement", func(t *testing.T, h *host.Host, _ string) func() {
			assert.Value(h.Apply(watchdog(t), acceptParse(t)))(t)
			return func() {}
		}},
	}
}

// Whatever goes on, Close and Shutdown return, and no process, file descriptor or tool is
// left; goleak looks for goroutines.
func TestAcceptEndAtAnyMoment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	for _, how := range []string{"Close", "Shutdown"} {
		for _, m := range acceptMoments() {
			t.Run(how+" during "+m.name, func(t *testing.T) {
				temp := t.TempDir()
				t.Setenv("TMPDIR", temp)
				before := acceptChildren(t)
				path := write(t, "s", acceptChild(t, "s", "0"))
				h, err := host.Open(watchdog(t), path, patient(&host.Options{StateDir: t.TempDir(), Transport: acceptImpatient}))
				assert.OK(t, err)
				end := m.begin(t, h, path)
				if how == "Close" {
					err = h.Close()
				} else {
					err = h.Shutdown(watchdog(t))
				}
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if now := acceptChildren(t); len(now) > len(before) {
					t.Errorf("processes %v, before %v", now, before)
				}
				end()
				if now := acceptChildren(t); len(now) > len(before) {
					t.Errorf("processes %v later, before %v", now, before)
				}
				assert.Equal(t, names(h), "", "tools")
				if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
					t.Errorf("files are left: %v, %v", left, err)
				}
				acceptEnded(t, h)
			})
		}
	}
}

// acceptEnded checks that a closed host says so, whatever is asked.
func acceptEnded(t *testing.T, h *host.Host) {
	t.Helper()
	ctx := watchdog(t)
	_, applied := h.Apply(ctx, acceptParse(t))
	for what, err := range map[string]error{
		"Apply": applied, "Enable": h.Enable(ctx, "s"), "Disable": h.Disable(ctx, "s"), "Restart": h.Restart(ctx, "s"),
		"Refresh": h.Refresh(ctx, "s"),
	} {
		if !errors.Is(err, host.ErrClosed) {
			t.Errorf("%s after the end: %v", what, err)
		}
	}
}

// Refresh of all servers of a closed host says that it is closed.
func TestAcceptRefreshOfAllAfterTheEnd(t *testing.T) {
	h := host.New(&host.Options{StateDir: host.NoState})
	assert.OK(t, h.Close())
	if err := h.Refresh(watchdog(t)); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Refresh: %v", err)
	}
}

// A Shutdown whose context ends cuts off the calls under way, leaves nothing, and says
// so. A call that is cut off tells that it may have run.
func TestAcceptShutdownThatRunsOutOfTime(t *testing.T) {
	t.Parallel()
	v := &village{hold: make(chan struct{}), entered: make(chan struct{})}
	defer close(v.hold)
	h := acceptNew(t, &host.Options{Transport: v.transport, StateDir: host.NoState}, acceptParse(t, "s", `{"command": "slow"}`))
	answer := make(chan error, 1)
	go func() {
		_, err := h.Registry().Call(t.Context(), "s__slow", nil)
		answer <- err
	}()
	<-v.entered
	ctx, cancel := context.WithCancel(t.Context())
	down := make(chan error, 1)
	go func() { down <- h.Shutdown(ctx) }()
	acceptEventually(t, "the beginning of the end", func() bool { return len(h.Registry().Snapshot().Tools()) == 0 })
	// A second one waits for the same end.
	second := make(chan error, 1)
	go func() { second <- h.Close() }()
	cancel()
	if err := <-down; !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	assert.Fails(t, <-answer, "the call that was cut off was answered")
	if err := <-second; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Close during a slow Shutdown cuts it short: it does not wait for calls.
func TestAcceptCloseDuringShutdown(t *testing.T) {
	t.Parallel()
	v := &village{hold: make(chan struct{}), entered: make(chan struct{})}
	defer close(v.hold)
	h := acceptNew(t, &host.Options{Transport: v.transport, StateDir: host.NoState}, acceptParse(t, "s", `{"command": "slow"}`))
	answer := make(chan error, 1)
	go func() {
		_, err := h.Registry().Call(t.Context(), "s__slow", nil)
		answer <- err
	}()
	<-v.entered
	down := make(chan error, 1)
	go func() { down <- h.Shutdown(t.Context()) }()
	acceptEventually(t, "the beginning of the end", func() bool { return len(h.Registry().Snapshot().Tools()) == 0 })
	closed := make(chan error, 1)
	go func() { closed <- h.Close() }()
	ctx := watchdog(t)
	for range 2 {
		select {
		case err := <-closed:
			if err != nil {
				t.Errorf("Close: %v", err)
			}
			closed = nil
		case <-answer:
			answer = nil
		case <-ctx.Done():
			t.Fatal("Close waits for the calls that Shutdown waits for")
		}
	}
	<-down
}

// When the host begins to end, nothing new is begun, while calls under way go on.
func TestAcceptShutdownStopsTheIntake(t *testing.T) {
	v := &village{hold: make(chan struct{}), entered: make(chan struct{})}
	h := acceptNew(t, &host.Options{Transport: v.transport, StateDir: host.NoState}, acceptParse(t, "s", `{"command": "slow"}`))
	tool, _ := h.Registry().Snapshot().Lookup("s__slow")
	answer := make(chan error, 1)
	go func() {
		_, err := h.Registry().Call(t.Context(), "s__slow", nil)
		answer <- err
	}()
	<-v.entered
	down := make(chan error, 1)
	go func() { down <- h.Shutdown(watchdog(t)) }()
	acceptEventually(t, "the beginning of the end", func() bool { return len(h.Registry().Snapshot().Tools()) == 0 })
	acceptEnded(t, h)
	if _, err := h.Registry().Call(watchdog(t), "s__slow", nil); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a new call: %v", err)
	}
	if _, err := tool.Call(watchdog(t), nil); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a new call of a tool that was looked up before: %v", err)
	}
	close(v.hold)
	if err := <-answer; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
