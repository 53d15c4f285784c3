// Tests of change.go: Enable, Disable, Restart, Refresh, and servers that hang meanwhile.

package host_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// Refresh of one server and of all, by many at one time, makes no tool vanish and no
// call fail.
func TestRefreshUnderLoad(t *testing.T) {
	t.Parallel()
	pipes := &pipeServers{}
	var pairs []string
	for i := range 10 {
		pairs = append(pairs, fmt.Sprint("s", i), fmt.Sprintf(`{"command": "x", "args": ["%d"], "lazy": %t}`, i, i%3 == 2))
	}
	opts := pipes.options()
	opts.StateDir = t.TempDir()
	h := newHost(t, opts, parseEntries(t, pairs...))
	assert.OK(t, h.Refresh(watchdog(t)))
	version := h.Registry().Snapshot().Version()
	look := func(s *registry.Snapshot) error {
		if n := len(s.Tools()); n != 10 || s.Version() != version {
			return fmt.Errorf("version %d, was %d: %d tools", s.Version(), version, n)
		}
		return nil
	}
	load := callLoad{callers: 32, calls: loadCalls, tool: "s2__echo", look: look}
	answers := load.during(t, h, func() {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 5 {
					err := h.Refresh(watchdog(t), fmt.Sprint("s", (w+i)%10))
					if err == nil && w == 0 {
						err = h.Refresh(watchdog(t))
					}
					assert.Is(t, err, nil)
				}
			})
		}
		wg.Wait()
	})
	assert.Equal(t, strings.Join(slices.Collect(maps.Keys(answers)), " "), "2", "answers")
	eventually(t, "the end of the old connections", func() bool { return pipes.living.Load() <= 10 })
	assert.As[*host.UnknownServerError](t, h.Refresh(watchdog(t), "s0", "none"), "Refresh of a server that is not there")
}

// Refresh sees what the server offers now, also if the server did not tell: what is known of a lazy one from an
// earlier time is not taken for its answer.
func TestRefreshReadsAnew(t *testing.T) {
	for _, entry := range []string{`{"command": "server"}`, `{"command": "server", "lazy": true}`} {
		server := newChangingServer("a", "does a")
		opts := (&pipeServers{serve: serveFuncs{"server": server.serve}}).options()
		opts.StateDir = t.TempDir()
		h := newHost(t, opts, parseEntries(t, "s", entry, "t", entry))
		until(t, h, "s", "listed", func(s host.Status) bool { return s.Tools == 1 })
		until(t, h, "t", "listed", func(s host.Status) bool { return s.Tools == 1 })
		assert.Value(h.Registry().Call(watchdog(t), "s__a", nil))(t)
		server.set("b", "does b")
		assert.OK(t, h.Refresh(watchdog(t), "s"))
		assert.Equal(t, names(h), "s__b t__a", "tools after the Refresh of one")
		assert.OK(t, h.Refresh(watchdog(t)))
		assert.Equal(t, names(h), "s__b t__b", "tools after the Refresh of all")
	}
}

// A server that is down when it is refreshed keeps what it has: its connection, if that
// lives, and its tools as long as those of any lost server stay.
func TestRefreshOfAServerThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{}
		h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x", "args": ["1"]}`))
		pipes.down.Store(true)
		err := h.Refresh(t.Context())
		assert.Contains(t, fmt.Sprint(err), "maintenance", "Refresh while new connections fail")
		assert.Contains(t, fmt.Sprint(err), `"s"`, "Refresh while new connections fail")
		assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "1", "the old connection")
		pipes.hangUp()
		synctest.Wait()
		assert.Fails(t, h.Refresh(t.Context(), "s"), "Refresh of a server that is down")
		assert.Equal(t, names(h), "s__echo", "tools within the time of grace")
		time.Sleep(2 * time.Minute)
		assert.Equal(t, names(h), "", "tools after it")
		assert.Fails(t, h.Refresh(t.Context(), "s"), "Refresh of a server that is down")
		pipes.down.Store(false)
		assert.OK(t, h.Refresh(t.Context(), "s"), "Refresh of the server when it is back")
		assert.Equal(t, names(h), "s__echo", "tools when it is back")
		_ = h.Close()
	})
}

// A server that never answers does not hold up the Refresh of the others, and Refresh
// ends with its context.
func TestRefreshWithAHungServer(t *testing.T) {
	pipes, asked := newHungServer(t)
	h := newHost(t, pipes.options(), parseEntries(t, "hung", hungEntry, "other", `{"command": "x"}`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enabled := background(func() error { return h.Enable(ctx, "hung") })
	asked(1)
	refreshing, stop := context.WithCancel(t.Context())
	refreshed := make(chan error, 1)
	before := pipes.connections("other")
	go func() { refreshed <- h.Refresh(refreshing) }()
	eventually(t, "the Refresh of the other server", func() bool { return pipes.connections("other") > before })
	assert.OK(t, h.Refresh(watchdog(t), "other"))
	stop()
	assert.Is(t, <-refreshed, context.Canceled, "Refresh")
	cancel()
	<-enabled
}

// newHungServer returns a pipes in which "hung" never answers, and what waits until it
// was asked n times.
func newHungServer(t *testing.T) (pipes *pipeServers, asked func(n int)) {
	hung := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Hang, "server/discover": mcptest.Hang})
	pipes = &pipeServers{serve: serveFuncs{"hung": hung.Serve}}
	return pipes, func(n int) {
		t.Helper()
		eventually(t, "the hung server to be asked", func() bool { return pipes.connections("hung") >= n })
	}
}

const (
	hungEntry     = `{"command": "hung", "connectTimeoutSeconds": 600, "enabled": false}`
	disabledEntry = `{"command": "x", "enabled": false}`
)

// While a person waits for a server that never answers, everything can be done to
// the others, and to it.
func TestHungServerDelaysOnlyItself(t *testing.T) {
	pipes, asked := newHungServer(t)
	h := newHost(t, pipes.options(), parseEntries(t, "hung", hungEntry, "other", disabledEntry))
	waiting, cancel := context.WithCancel(watchdog(t))
	defer cancel()
	enabled := background(func() error { return h.Enable(waiting, "hung") })
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
		assert.OK(t, step.do())
	}
	assert.Value(call(t, h, "other__echo", "{}"))(t)
	select {
	case err := <-enabled:
		t.Fatalf("Enable of the hung server returned: %v", err)
	default:
	}
	cancel()
	assert.Is(t, <-enabled, context.Canceled, "Enable of the hung server")
	assert.OK(t, h.Disable(ctx, "hung"), "Disable of the hung server")
	eventually(t, "the end of the hung server", func() bool { return pipes.living.Load() == 1 })
}

// Disable and Close do not wait for the attempt that Enable waits for, and end it.
func TestHungServerCanBeStoppedWhileItIsEnabled(t *testing.T) {
	for want, stop := range map[error]func(context.Context, *host.Host) error{
		host.ErrOvertaken: func(ctx context.Context, h *host.Host) error { return h.Disable(ctx, "hung") },
		host.ErrClosed:    func(_ context.Context, h *host.Host) error { return h.Close() },
	} {
		pipes, asked := newHungServer(t)
		h := newHost(t, pipes.options(), parseEntries(t, "hung", hungEntry))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // outlasts what is to be quick
		defer cancel()
		enabled := background(func() error { return h.Enable(ctx, "hung") })
		asked(1)
		assert.OK(t, stop(watchdog(t), h), "%v", want)
		assert.Is(t, <-enabled, want, "Enable of a server that was stopped instead")
		eventually(t, "the end of the hung server", func() bool { return pipes.living.Load() == 0 })
	}
}

// Apply returns with its context; what it began goes on, and the host can be used.
func TestApplyReturnsWithItsContext(t *testing.T) {
	pipes, asked := newHungServer(t)
	h := newHost(t, pipes.options(), parseEntries(t, "other", `{"command": "x", "args": ["0"]}`))
	ctx, cancel := context.WithCancel(watchdog(t))
	next := parseEntries(t, "other", `{"command": "x", "args": ["1"]}`, "hung", `{"command": "hung", "connectTimeoutSeconds": 600}`)
	applied := background(func() error { return assert.Err(h.Apply(ctx, next)) })
	asked(1)
	// The hung server does not delay the replacement of the other one.
	eventually(t, "the replacement of the other server", func() bool {
		text, err := call(t, h, "other__echo", "{}")
		return err == nil && text == "1"
	})
	cancel()
	assert.Is(t, <-applied, context.Canceled, "Apply")
	assert.True(t, status(t, h, "hung").Enabled, "the hung server")
	report := assert.Value(h.Apply(watchdog(t), parseEntries(t, "other", `{"command": "x", "args": ["1"]}`)))(t)
	assert.Equal(t, len(report.Kept), 1, "the next Apply")
	assert.Equal(t, len(report.Stopped), 1, "the next Apply")
	eventually(t, "the end of the hung server", func() bool { return pipes.living.Load() == 1 })
}

// An Apply that waits for a hung server does not hold up another one, which takes
// the server away.
func TestApplyDoesNotWaitForAnother(t *testing.T) {
	pipes, asked := newHungServer(t)
	h := newHost(t, pipes.options(), parseEntries(t, "other", `{"command": "x"}`))
	hung := parseEntries(t, "other", `{"command": "x"}`, "hung", `{"command": "hung", "connectTimeoutSeconds": 600}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // outlasts what is to be quick
	defer cancel()
	applied := background(func() error { return assert.Err(h.Apply(ctx, hung)) })
	asked(1)
	assert.Value(h.Apply(watchdog(t), parseEntries(t, "other", `{"command": "x"}`)))(t)
	<-applied // with whatever it has to say
	assert.Equal(t, names(h), "other__echo", "tools")
	assert.Equal(t, len(h.Servers()), 1, "tools")
	eventually(t, "the end of the hung server", func() bool { return pipes.living.Load() == 1 })
}

// TestWatchTellsTheLastChange: when nothing moves any more, what was seen last is how it
// stands.
func TestWatchTellsTheLastChange(t *testing.T) {
	type act struct {
		what string
		do   func(context.Context, *host.Host) error
	}
	call := func(ctx context.Context, h *host.Host) error {
		return assert.Err(h.Registry().Call(ctx, "s__echo", nil))
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
				return assert.Err(h.Client(ctx, session.Key{User: "berta", Server: "s"}))
			}},
			disable,
		},
	} {
		t.Run(entry, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes := &pipeServers{}
				h := newHost(t, pipes.options(), parseEntries(t, "s", entry))
				var last atomic.Pointer[host.Status]
				go func() {
					for all := range h.Watch(t.Context()) {
						last.Store(&all[0])
					}
				}()
				ctx := session.WithUser(t.Context(), "anna")
				for _, a := range acts {
					assert.OK(t, a.do(ctx, h))
					synctest.Wait()
					is, seen := status(t, h, "s"), last.Load()
					assert.Equal(t, describe(*seen), describe(is), "seen last, after %s", a.what)
				}
				assert.OK(t, h.Close())
			})
		})
	}
}
