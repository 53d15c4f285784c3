package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A frailTown lends a town's transports until they are out of order.
type frailTown struct {
	acceptTown
	broken atomic.Bool // no transport is made
	down   atomic.Bool // no connection is made
}

var errFrail = errors.New("out of order")

func (town *frailTown) options() *host.Options {
	return &host.Options{StateDir: host.NoState, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		if town.broken.Load() {
			return nil, errFrail
		}
		t, err := town.transport(key, e)
		return &frailTransport{town, t}, err
	}}
}

type frailTransport struct {
	town  *frailTown
	inner mcp.Transport
}

func (t *frailTransport) Connect(ctx context.Context) (mcp.Conn, error) {
	if t.town.down.Load() {
		return nil, errFrail
	}
	return t.inner.Connect(ctx)
}

// TestToolsOutlastAFailedPredecessor: a server is lost, then its changed entry does not
// work either, then it is started after all. What was to become of the lost one's tools
// is no matter of the one that runs.
func TestToolsOutlastAFailedPredecessor(t *testing.T) {
	for name, start := range map[string]func(context.Context, *host.Host) error{
		"Enable":  func(ctx context.Context, h *host.Host) error { return h.Enable(ctx, "s") },
		"Restart": func(ctx context.Context, h *host.Host) error { return h.Restart(ctx, "s") },
		"Apply": func(ctx context.Context, h *host.Host) error {
			_, err := h.Apply(ctx, acceptParse(t, "s", `{"command": "x", "args": ["3"]}`))
			return err
		},
		"Disable": func(ctx context.Context, h *host.Host) error { return h.Disable(ctx, "s") },
		"Apply of a disabled one": func(ctx context.Context, h *host.Host) error {
			_, err := h.Apply(ctx, acceptParse(t, "s", `{"command": "x", "args": ["3"], "enabled": false}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				town := &frailTown{}
				h := host.New(town.options())
				defer func() { _ = h.Close() }()
				assert.Value(h.Apply(t.Context(), acceptParse(t, "s", `{"command": "x", "args": ["1"]}`)))(t)
				town.down.Store(true)
				_ = h.Restart(t.Context(), "s")
				town.broken.Store(true)
				report, err := h.Apply(t.Context(), acceptParse(t, "s", `{"command": "x", "args": ["2"]}`))
				if err != nil || !errors.Is(report.Failed["s"], errFrail) {
					t.Fatalf("Apply: %+v, %v", report, err)
				}
				if got := names(h); got != "s__echo" {
					t.Fatalf("tools %q, want those of the lost server for a time", got)
				}
				town.broken.Store(false)
				town.down.Store(false)
				assert.OK(t, start(t.Context(), h))
				want := "s__echo"
				if !status(t, h, "s").Enabled {
					want = ""
				}
				for _, wait := range []time.Duration{0, 2 * time.Minute} {
					time.Sleep(wait)
					synctest.Wait()
					assert.Equal(t, names(h), want, "after %s: tools", wait)
				}
			})
		})
	}
}

// TestToolsOfAServerThatNeverComesBackVanish: they are not handed down for ever.
func TestToolsOfAServerThatNeverComesBackVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		town := &frailTown{}
		h := host.New(town.options())
		defer func() { _ = h.Close() }()
		assert.Value(h.Apply(t.Context(), acceptParse(t, "s", `{"command": "x"}`)))(t)
		town.down.Store(true)
		_ = h.Restart(t.Context(), "s")
		town.broken.Store(true)
		assert.Value(h.Apply(t.Context(), acceptParse(t, "s", `{"command": "x", "args": ["2"]}`)))(t)
		if err := h.Enable(t.Context(), "s"); !errors.Is(err, errFrail) {
			t.Errorf("Enable: %v", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, names(h), "", "tools")
	})
}

// TestRefreshReadsALazyServerAnew: a lazy server that runs is asked, and what is known
// of it from an earlier time is not taken for its answer.
func TestRefreshReadsALazyServerAnew(t *testing.T) {
	var text atomic.Value
	text.Store("1")
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
		"x": func(ctx context.Context, tr mcp.Transport) error {
			return acceptEchoOf("echo"+text.Load().(string)).Run(ctx, tr)
		},
	}}
	h := acceptNew(t, &host.Options{Transport: town.transport, StateDir: t.TempDir()}, acceptParse(t, "s", `{"command": "x", "lazy": true}`))
	until(t, h, "s", "listed", func(s host.Status) bool { return s.Tools == 1 })
	assert.Value(h.Registry().Call(watchdog(t), "s__echo1", nil))(t)
	text.Store("2") // it says nothing of it
	assert.OK(t, h.Refresh(watchdog(t), "s"))
	assert.Equal(t, names(h), "s__echo2", "tools after Refresh")
	if _, err := h.Registry().Call(watchdog(t), "s__echo2", json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}

// acceptEchoOf returns a server with one tool of that name.
func acceptEchoOf(tool string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: tool}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return acceptText(tool), nil, nil
	})
	return s
}

// TestRestartOfALazyServerIsNotIdle: a lazy server that takes longer to connect than it
// may be idle is not stopped while it is restarted.
func TestRestartOfALazyServerIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				select {
				case <-time.After(8 * time.Second):
					return acceptEchoOf("echo").Run(ctx, tr)
				case <-ctx.Done():
					return nil
				}
			},
		}}
		h := host.New(&host.Options{Transport: town.transport, StateDir: host.NoState, IdleTimeout: 3 * time.Second})
		assert.Value(h.Apply(t.Context(), acceptParse(t, "s", `{"command": "x", "lazy": true}`)))(t)
		time.Sleep(time.Minute)
		assert.Value(h.Registry().Call(t.Context(), "s__echo", nil))(t)
		if err := h.Restart(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
