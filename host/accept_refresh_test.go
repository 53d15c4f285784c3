package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Refresh of one server and of all, by many at one time, makes no tool vanish and no
// call fail.
func TestAcceptRefreshUnderLoad(t *testing.T) {
	town := &acceptTown{}
	var pairs []string
	for i := range 10 {
		pairs = append(pairs, fmt.Sprint("s", i), fmt.Sprintf(`{"command": "x", "args": ["%d"], "lazy": %t}`, i, i%3 == 2))
	}
	opts := town.options()
	opts.StateDir = t.TempDir()
	h := acceptNew(t, opts, acceptParse(t, pairs...))
	assert.OK(t, h.Refresh(watchdog(t)))
	version := h.Registry().Snapshot().Version()
	look := func(s *registry.Snapshot) error {
		if n := len(s.Tools()); n != 10 || s.Version() != version {
			return fmt.Errorf("version %d, was %d: %d tools", s.Version(), version, n)
		}
		return nil
	}
	load := acceptLoad{callers: 32, calls: 500, tool: "s2__echo", look: look}
	answers := load.during(t, h, func() {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 5 {
					err := h.Refresh(watchdog(t), fmt.Sprint("s", (w+i)%10))
					if err == nil && w == 0 {
						err = h.Refresh(watchdog(t))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
	if len(answers) != 1 || answers["2"] == 0 {
		t.Errorf("answers: %v", answers)
	}
	acceptEventually(t, "the end of the old connections", func() bool { return town.living.Load() <= 10 })
	if err := h.Refresh(watchdog(t), "s0", "none"); !errors.As(err, new(*host.UnknownServerError)) {
		t.Errorf("Refresh of a server that is not there: %v", err)
	}
}

// With processes: each Refresh is a new one, and the old one is gone afterwards.
func TestAcceptRefreshOfAProcessUnderLoad(t *testing.T) {
	h := acceptNew(t, &host.Options{StateDir: host.NoState}, acceptParse(t, "s", acceptChild(t, "s", "1")))
	pids := []int{status(t, h, "s").State.PID}
	load := acceptLoad{callers: 16, calls: 200, tool: "s__echo", args: `{"text":""}`}
	load.during(t, h, func() {
		for range 5 {
			if err := h.Refresh(watchdog(t), "s"); err != nil {
				t.Error(err)
			}
			pids = append(pids, status(t, h, "s").State.PID)
		}
	})
	for _, pid := range pids[:len(pids)-1] {
		acceptGone(t, pid)
	}
}

// Refresh sees what the server offers now, also if the server did not tell.
func TestAcceptRefreshReadsAnew(t *testing.T) {
	shop := &acceptShop{}
	shop.set("a", "does a")
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{"shop": shop.serve}}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "shop"}`, "t", `{"command": "shop"}`))
	shop.set("b", "does b")
	assert.OK(t, h.Refresh(watchdog(t), "s"))
	assert.Equal(t, names(h), "s__b t__a", "tools after the Refresh of one")
	assert.OK(t, h.Refresh(watchdog(t)))
	assert.Equal(t, names(h), "s__b t__b", "tools after the Refresh of all")
}

// A server that is down when it is refreshed keeps what it has: its connection, if that
// lives, and its tools as long as those of any lost server stay.
func TestAcceptRefreshOfAServerThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		hangUp := make(chan struct{})
		town := &acceptTown{}
		town.houses = map[string]func(context.Context, mcp.Transport) error{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				if down.Load() {
					return errors.New("down for maintenance")
				}
				served := make(chan error, 1)
				go func() { served <- acceptEcho("s", "1").Run(ctx, tr) }()
				select {
				case err := <-served:
					return err
				case <-hangUp:
					return errors.New("hung up")
				}
			},
		}
		h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "x"}`, "t", `{"command": "y", "args": ["t"]}`))
		down.Store(true)
		err := h.Refresh(t.Context())
		if err == nil || !strings.Contains(err.Error(), "maintenance") || !strings.Contains(err.Error(), `"s"`) || strings.Contains(err.Error(), `"t"`) {
			t.Errorf("Refresh while new connections fail: %v", err)
		}
		if text, err := acceptAnswer(h.Registry().Call(t.Context(), "s__echo", nil)); err != nil || text != "1" {
			t.Errorf("the old connection: %q, %v", text, err)
		}
		close(hangUp)
		synctest.Wait()
		assert.Fails(t, h.Refresh(t.Context(), "s"), "Refresh of a server that is down is said to be good")
		assert.Equal(t, names(h), "s__echo t__echo", "tools within the time of grace")
		time.Sleep(2 * time.Minute)
		assert.Equal(t, names(h), "t__echo", "tools after it")
		assert.Fails(t, h.Refresh(t.Context(), "s"), "Refresh of a server that is down is said to be good")
		down.Store(false)
		hangUp = make(chan struct{})
		if err := h.Refresh(t.Context(), "s"); err != nil {
			t.Errorf("Refresh of the server when it is back: %v", err)
		}
		assert.Equal(t, names(h), "s__echo t__echo", "tools when it is back")
		_ = h.Close()
	})
}

// A server that never answers does not hold up the Refresh of the others, and Refresh
// ends with its context.
func TestAcceptRefreshWithAHungServer(t *testing.T) {
	town, asked := acceptHung(t)
	h := acceptNew(t, town.options(), acceptParse(t, "hung", acceptHungEntry, "other", `{"command": "x"}`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enabled := make(chan error, 1)
	go func() { enabled <- h.Enable(ctx, "hung") }()
	asked(1)
	refreshing, stop := context.WithCancel(t.Context())
	refreshed := make(chan error, 1)
	before := town.connections("other")
	go func() { refreshed <- h.Refresh(refreshing) }()
	acceptEventually(t, "the Refresh of the other server", func() bool { return town.connections("other") > before })
	if err := h.Refresh(watchdog(t), "other"); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-refreshed; !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh: %v", err)
	}
	cancel()
	<-enabled
}
