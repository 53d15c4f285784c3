package host_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// TestWatchTellsTheLastChange: when nothing moves any more, what was seen last is how it
// stands.
func TestWatchTellsTheLastChange(t *testing.T) {
	type act struct {
		what string
		do   func(context.Context, *host.Host) error
	}
	call := func(ctx context.Context, h *host.Host) error {
		_, err := h.Registry().Call(ctx, "s__echo", nil)
		return err
	}
	idle := func(ctx context.Context, _ *host.Host) error { // on the clock of the bubble
		timer := time.NewTimer(20 * time.Minute)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	enable := act{"Enable", func(ctx context.Context, h *host.Host) error { return h.Enable(ctx, "s") }}
	disable := act{"Disable", func(ctx context.Context, h *host.Host) error { return h.Disable(ctx, "s") }}
	restart := act{"Restart", func(ctx context.Context, h *host.Host) error { return h.Restart(ctx, "s") }}
	refresh := act{"Refresh", func(ctx context.Context, h *host.Host) error { return h.Refresh(ctx) }}
	for entry, acts := range map[string][]act{
		`{"command": "x"}`:               {disable, enable, restart, refresh, {"call", call}},
		`{"command": "x", "lazy": true}`: {{"idle", idle}, {"call", call}, refresh, {"idle", idle}, disable, enable},
		`{"command": "x", "identity": "user"}`: {
			{"Discover", func(ctx context.Context, h *host.Host) error { return h.Discover(ctx, session.Key{Server: "s"}) }},
			restart, {"call", call}, {"idle", idle}, {"call", call},
			{"Client", func(ctx context.Context, h *host.Host) error {
				_, err := h.Client(ctx, session.Key{User: "berta", Server: "s"})
				return err
			}},
			disable,
		},
	} {
		t.Run(entry, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				town := &acceptTown{}
				h := host.New(town.options())
				assert.Value(h.Apply(t.Context(), acceptParse(t, "s", entry)))(t)
				var last atomic.Pointer[host.Status]
				go func() {
					for all := range h.Watch(t.Context()) {
						last.Store(&all[0])
					}
				}()
				ctx := session.WithUser(t.Context(), "anna")
				for _, a := range acts {
					if err := a.do(ctx, h); err != nil {
						t.Errorf("%s: %v", a.what, err)
					}
					synctest.Wait()
					is, seen := status(t, h, "s"), last.Load()
					if seen.Stage != is.Stage || seen.Tools != is.Tools || seen.Users != is.Users || seen.Enabled != is.Enabled || !errors.Is(seen.Err, is.Err) {
						t.Errorf("after %s: seen last %+v\nis %+v", a.what, *seen, is)
					}
				}
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
