package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// acceptHung returns a town in which "hung" never answers, and what waits until it
// was asked n times.
func acceptHung(t *testing.T) (town *acceptTown, asked func(n int)) {
	deaf := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Hang, "server/discover": mcptest.Hang})
	town = &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{"hung": deaf.Serve}}
	return town, func(n int) {
		t.Helper()
		acceptEventually(t, "the hung server to be asked", func() bool { return town.connections("hung") >= n })
	}
}

const (
	acceptHungEntry = `{"command": "hung", "connectTimeoutSeconds": 600, "enabled": false}`
	acceptIdleEntry = `{"command": "x", "enabled": false}`
)

// While somebody waits for a server that never answers, everything can be done to
// the others, and to it.
func TestAcceptHungServerDelaysOnlyItself(t *testing.T) {
	town, asked := acceptHung(t)
	h := acceptNew(t, town.options(), acceptParse(t, "hung", acceptHungEntry, "other", acceptIdleEntry))
	waiting, cancel := context.WithCancel(watchdog(t))
	defer cancel()
	enabled := make(chan error, 1)
	go func() { enabled <- h.Enable(waiting, "hung") }()
	asked(1)
	ctx := watchdog(t)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"Enable", func() error { return h.Enable(ctx, "other") }},
		{"Restart", func() error { return h.Restart(ctx, "other") }},
		{"Disable", func() error { return h.Disable(ctx, "other") }},
		{"Enable again", func() error { return h.Enable(ctx, "other") }},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if _, err := call(t, h, "other__echo", "{}"); err != nil {
		t.Error(err)
	}
	select {
	case err := <-enabled:
		t.Fatalf("Enable of the hung server returned: %v", err)
	default:
	}
	cancel()
	if err := <-enabled; !errors.Is(err, context.Canceled) {
		t.Errorf("Enable of the hung server: %v", err)
	}
	if err := h.Disable(ctx, "hung"); err != nil {
		t.Errorf("Disable of the hung server: %v", err)
	}
	acceptEventually(t, "the end of the hung server", func() bool { return town.living.Load() == 1 })
}

// Disable does not wait for the attempt that Enable waits for, and ends it.
func TestAcceptHungServerCanBeDisabledWhileItIsEnabled(t *testing.T) {
	town, asked := acceptHung(t)
	h := acceptNew(t, town.options(), acceptParse(t, "hung", acceptHungEntry))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // outlasts what is to be quick
	defer cancel()
	enabled := make(chan error, 1)
	go func() { enabled <- h.Enable(ctx, "hung") }()
	asked(1)
	if err := h.Disable(watchdog(t), "hung"); err != nil {
		t.Fatalf("Disable: %v", err)
	}
	assert.Fails(t, <-enabled, "Enable says that a server is ready that was disabled instead")
	if s := status(t, h, "hung"); s.Enabled {
		t.Errorf("in the end: %+v", s)
	}
	acceptEventually(t, "the end of the hung server", func() bool { return town.living.Load() == 0 })
}

// Apply returns with its context; what it began goes on, and the host can be used.
func TestAcceptApplyReturnsWithItsContext(t *testing.T) {
	town, asked := acceptHung(t)
	h := acceptNew(t, town.options(), acceptParse(t, "other", `{"command": "x", "args": ["0"]}`))
	ctx, cancel := context.WithCancel(watchdog(t))
	applied := make(chan error, 1)
	next := acceptParse(t, "other", `{"command": "x", "args": ["1"]}`, "hung", `{"command": "hung", "connectTimeoutSeconds": 600}`)
	go func() {
		_, err := h.Apply(ctx, next)
		applied <- err
	}()
	asked(1)
	// The hung server does not delay the replacement of the other one.
	acceptEventually(t, "the replacement of the other server", func() bool {
		text, err := call(t, h, "other__echo", "{}")
		return err == nil && text == "1"
	})
	cancel()
	if err := <-applied; !errors.Is(err, context.Canceled) {
		t.Errorf("Apply: %v", err)
	}
	if s := status(t, h, "hung"); !s.Enabled {
		t.Errorf("the hung server: %+v", s)
	}
	report, err := h.Apply(watchdog(t), acceptParse(t, "other", `{"command": "x", "args": ["1"]}`))
	if err != nil || len(report.Kept) != 1 || len(report.Stopped) != 1 {
		t.Errorf("the next Apply: %+v, %v", report, err)
	}
	acceptEventually(t, "the end of the hung server", func() bool { return town.living.Load() == 1 })
}

// An Apply that waits for a hung server does not hold up another one, which takes
// the server away.
func TestAcceptApplyDoesNotWaitForAnother(t *testing.T) {
	town, asked := acceptHung(t)
	h := acceptNew(t, town.options(), acceptParse(t, "other", `{"command": "x"}`))
	applied := make(chan error, 1)
	hung := acceptParse(t, "other", `{"command": "x"}`, "hung", `{"command": "hung", "connectTimeoutSeconds": 600}`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // outlasts what is to be quick
	defer cancel()
	go func() {
		_, err := h.Apply(ctx, hung)
		applied <- err
	}()
	asked(1)
	if _, err := h.Apply(watchdog(t), acceptParse(t, "other", `{"command": "x"}`)); err != nil {
		t.Fatalf("the second Apply: %v", err)
	}
	<-applied // with whatever it has to say
	if got := names(h); got != "other__echo" || len(h.Servers()) != 1 {
		t.Errorf("tools %s, servers %+v", got, h.Servers())
	}
	acceptEventually(t, "the end of the hung server", func() bool { return town.living.Load() == 1 })
}

// Close ends what waits for a server that never answers.
func TestAcceptCloseEndsWhatWaits(t *testing.T) {
	town, asked := acceptHung(t)
	h := host.New(town.options())
	assert.Value(h.Apply(watchdog(t), acceptParse(t, "hung", acceptHungEntry)))(t)
	enabled := make(chan error, 1)
	go func() { enabled <- h.Enable(watchdog(t), "hung") }()
	asked(1)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-enabled; !errors.Is(err, host.ErrClosed) {
		t.Errorf("Enable: %v, want that the host is closed", err)
	}
	assert.Equal(t, town.living.Load(), 0, "servers live after Close")
}
