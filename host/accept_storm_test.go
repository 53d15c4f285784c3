package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

const acceptStormServers = 12

// acceptStormConfig is a configuration of some of the servers, some of them off.
func acceptStormConfig(t *testing.T, r *rand.Rand) *config.Config {
	t.Helper()
	var pairs []string
	for i := range acceptStormServers {
		if i > 0 && r.IntN(4) == 0 {
			continue
		}
		entry := fmt.Sprintf(`{"command": "x", "args": ["%d"], "lazy": %t, "enabled": %t}`, r.IntN(3), r.IntN(3) == 0, i == 0 || r.IntN(4) > 0)
		if r.IntN(10) == 0 && i > 0 {
			entry = `{"command": "exits"}`
		}
		pairs = append(pairs, fmt.Sprint("s", i), entry)
	}
	return acceptParse(t, pairs...)
}

// acceptStorm does anything to the host, by many at one time, until each has done it
// n times, and returns what went wrong.
func acceptStorm(ctx context.Context, h *host.Host, configs []*config.Config, workers, n int) []error {
	var (
		mu     sync.Mutex
		faults []error
		wg     sync.WaitGroup
	)
	expected := func(err error) bool {
		var unknown *host.UnknownServerError
		return err == nil || errors.Is(err, host.ErrClosed) || errors.As(err, &unknown)
	}
	for w := range workers {
		r := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for range n {
				name := fmt.Sprint("s", r.IntN(acceptStormServers))
				var err error
				what := ""
				switch r.IntN(8) {
				case 0:
					what = "Enable"
					_ = h.Enable(ctx, name) // a server may fail, or be disabled meanwhile
				case 1:
					what = "Disable"
					err = h.Disable(ctx, name)
				case 2:
					what = "Restart"
					_ = h.Restart(ctx, name)
				case 3:
					what = "Apply"
					_, err = h.Apply(ctx, configs[r.IntN(len(configs))])
				case 4:
					what = "Servers"
					for _, s := range h.Servers() {
						if s.Name == "" {
							err = errors.New("a server without a name")
						}
					}
				case 5:
					what = "Watch"
					for range h.Watch(ctx) {
						break
					}
				default:
					what = "Call"
					_, failed := h.Registry().Call(ctx, name+"__echo", nil)
					if ctx.Err() != nil {
						err = failed // nothing may take so long
					}
				}
				if !expected(err) {
					mu.Lock()
					faults = append(faults, fmt.Errorf("%s %s: %w", what, name, err))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return faults
}

func acceptExits() *acceptTown {
	return &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
		"exits": func(context.Context, mcp.Transport) error { return errors.New("no licence") },
	}}
}

// Whatever is done at one time, all of it returns, and the host is sound afterwards.
func TestAcceptStorm(t *testing.T) {
	town := acceptExits()
	r := rand.New(rand.NewPCG(2, 3))
	var configs []*config.Config
	for range 6 {
		configs = append(configs, acceptStormConfig(t, r))
	}
	h := acceptNew(t, town.options(), configs[0])
	for _, err := range acceptStorm(watchdog(t), h, configs, 16, 30) {
		t.Error(err)
	}
	last := acceptParse(t, "s0", `{"command": "x", "args": ["last"]}`, "s1", `{"command": "x", "args": ["last"]}`)
	report, err := h.Apply(watchdog(t), last)
	if err != nil || len(report.Failed) > 0 {
		t.Errorf("the last Apply: %+v, %v", report, err)
	}
	assert.Equal(t, names(h), "s0__echo s1__echo", "tools")
	for _, name := range []string{"s0", "s1"} {
		if text, err := call(t, h, name+"__echo", "{}"); err != nil || text != "last" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	acceptEventually(t, "the end of all others", func() bool { return town.living.Load() == 2 })
}

// Shutdown in the middle of it leaves nothing, and everything afterwards says that
// the host is closed.
func TestAcceptShutdownInAStorm(t *testing.T) {
	for round := range 8 {
		town := acceptExits()
		r := rand.New(rand.NewPCG(4, uint64(round)))
		configs := []*config.Config{acceptStormConfig(t, r), acceptStormConfig(t, r)}
		h := acceptNew(t, town.options(), configs[0])
		stormy := make(chan []error, 1)
		go func() { stormy <- acceptStorm(watchdog(t), h, configs, 8, 20) }()
		for range round {
			_, _ = h.Apply(watchdog(t), configs[1])
		}
		end := h.Close
		if round%2 == 1 {
			end = func() error { return h.Shutdown(watchdog(t)) }
		}
		if err := end(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		assert.Equal(t, town.living.Load(), 0, "round %d: servers live", round)
		for _, err := range <-stormy {
			t.Errorf("round %d: %v", round, err)
		}
		assert.Equal(t, town.living.Load(), 0, "round %d: servers were started after the end", round)
		acceptClosed(t, h, configs[0])
	}
}

// acceptClosed checks what a closed host answers.
func acceptClosed(t *testing.T, h *host.Host, c *config.Config) {
	t.Helper()
	ctx := watchdog(t)
	_, applied := h.Apply(ctx, c)
	for what, err := range map[string]error{
		"Apply": applied, "Enable": h.Enable(ctx, "s0"), "Disable": h.Disable(ctx, "s0"), "Restart": h.Restart(ctx, "s0"),
	} {
		if !errors.Is(err, host.ErrClosed) {
			t.Errorf("%s after the end: %v", what, err)
		}
	}
	assert.Equal(t, names(h), "", "tools after the end")
	var unknown *registry.UnknownToolError
	if _, err := h.Registry().Call(ctx, "s0__echo", nil); !errors.As(err, &unknown) && !errors.Is(err, host.ErrClosed) {
		t.Errorf("a call after the end: %v", err)
	}
	for range h.Watch(ctx) { // ends
	}
	if err := h.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}
