package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// acceptWarm runs the lazy servers of a config file once, so that their catalogues are
// known from an earlier time.
func acceptWarm(t *testing.T, path string, opts *host.Options) {
	t.Helper()
	h := assert.Value(host.Open(watchdog(t), path, patient(opts)))(t)
	if err := h.Refresh(watchdog(t)); err != nil {
		t.Errorf("the first Refresh: %v", err)
	}
	for _, s := range h.Servers() {
		if s.Tools == 0 {
			t.Errorf("after the first Refresh: %+v", s)
		}
	}
	assert.OK(t, h.Shutdown(watchdog(t)))
}

func acceptStages(h *host.Host) map[host.Stage]int {
	count := map[host.Stage]int{}
	for _, s := range h.Servers() {
		count[s.Stage]++
	}
	return count
}

// acceptTogether makes n calls of a tool at one time.
func acceptTogether(t *testing.T, h *host.Host, tool string, n int) map[string]int {
	t.Helper()
	var (
		mu      sync.Mutex
		answers = map[string]int{}
		wg      sync.WaitGroup
	)
	begin := make(chan struct{})
	for range n {
		wg.Go(func() {
			<-begin
			text, err := acceptAnswer(h.Registry().Call(watchdog(t), tool, []byte(`{"text":""}`)))
			if err != nil {
				t.Errorf("%s: %v", tool, err)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[text]++
		})
	}
	close(begin)
	wg.Wait()
	return answers
}

// All tools of 50 lazy servers are there when Open returns, and none of the servers
// is; the first of many calls at one time starts one, once.
func TestAcceptLazyServersAreListedAndNotStarted(t *testing.T) {
	const servers = 50
	var entries []string
	for i := range servers {
		entries = append(entries, fmt.Sprintf("s%02d", i), fmt.Sprintf(`{"command": "x", "args": ["%d"], "lazy": true}`, i))
	}
	path := write(t, entries...)
	town := &acceptTown{}
	opts := &host.Options{Transport: town.transport, StateDir: t.TempDir()}
	acceptWarm(t, path, opts)
	if n := town.living.Load(); n != 0 {
		t.Fatalf("%d servers live after Shutdown", n)
	}
	town.started.Store(0)

	h := open(t, path, opts)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), servers, "tools are listed")
	for _, tool := range h.Registry().Snapshot().Tools() {
		var sent mcp.Tool
		if err := json.Unmarshal(tool.Definition().Raw, &sent); err != nil || sent.Name != tool.Definition().Origin.Tool {
			t.Errorf("got the raw definition %s (%v), want that of the server", tool.Definition().Raw, err)
		}
	}
	assert.Equal(t, town.started.Load(), 0, "servers were started by Open")
	if got := acceptStages(h); got[host.StageCached] != servers {
		t.Errorf("stages: %v", got)
	}
	if answers := acceptTogether(t, h, "s07__echo", 50); answers["7"] != 50 {
		t.Errorf("answers: %v", answers)
	}
	assert.Equal(t, town.started.Load(), 1, "50 calls of one server started")
	if got := acceptStages(h); got[host.StageCached] != servers-1 || got[host.StageReady] != 1 {
		t.Errorf("stages: %v", got)
	}
}

// acceptOwn returns the child processes that are this program.
func acceptOwn(t *testing.T) []int {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	return slices.DeleteFunc(acceptChildren(t), func(pid int) bool {
		exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		return err != nil || exe != program
	})
}

// The same with real processes, which are counted.
func TestAcceptLazyProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	const servers = 5
	var entries []string
	for i := range servers {
		entries = append(entries, fmt.Sprint("s", i), acceptChild(t, "s", strconv.Itoa(i), `"lazy": true`))
	}
	path := write(t, entries...)
	opts := &host.Options{StateDir: t.TempDir()}
	acceptWarm(t, path, opts)
	if pids := acceptOwn(t); len(pids) > 0 {
		t.Fatalf("processes after Shutdown: %v", pids)
	}
	h := open(t, path, opts)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), servers, "tools are listed")
	if pids := acceptOwn(t); len(pids) > 0 {
		t.Errorf("Open started %v", pids)
	}
	answers := acceptTogether(t, h, "s3__echo", 50)
	pids := acceptOwn(t)
	if len(answers) != 1 || len(pids) != 1 || answers[fmt.Sprint(" ", pids[0])] != 50 {
		t.Errorf("answers %v of processes %v", answers, pids)
	}
}

// acceptLazyFile is a config file with one lazy server that works, and stops after
// the default time.
func acceptLazyFile(t *testing.T, more ...string) string {
	return write(t, "s", `{"command": "x", "args": ["1"], "lazy": true`+strings.Join(append([]string{""}, more...), ", ")+"}")
}

// A lazy server stops when nobody has used it for some time, not before, its tools
// stay, and the next call starts it again.
func TestAcceptIdleStop(t *testing.T) {
	for name, test := range map[string]struct {
		idle  time.Duration
		entry []string
		want  time.Duration
	}{
		"default":  {0, nil, 10 * time.Minute},
		"option":   {time.Minute, nil, time.Minute},
		"entry":    {time.Minute, []string{`"idleTimeoutSeconds": 300`}, 5 * time.Minute},
		"for ever": {-1, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := acceptLazyFile(t, test.entry...)
			state := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				town := &acceptTown{}
				opts := &host.Options{Transport: town.transport, StateDir: state, IdleTimeout: test.idle}
				acceptWarm(t, path, opts)
				town.started.Store(0)
				h := open(t, path, opts)
				use := func() {
					t.Helper()
					if text, err := acceptAnswer(h.Registry().Call(t.Context(), "s__echo", nil)); err != nil || text != "1" {
						t.Errorf("%q, %v", text, err)
					}
				}
				want := func(what string, stage host.Stage, living int64) {
					t.Helper()
					synctest.Wait()
					if s := status(t, h, "s"); s.Stage != stage || town.living.Load() != living || s.Tools != 1 || s.Err != nil {
						t.Errorf("%s: %+v, %d live", what, s, town.living.Load())
					}
					assert.Equal(t, names(h), "s__echo", "%s: tools", what)
				}
				want("after Open", host.StageCached, 0)
				if test.want == 0 {
					use()
					time.Sleep(2 * time.Hour)
					want("after a long time", host.StageReady, 1)
					_ = h.Close()
					return
				}
				for range 3 {
					use()
					time.Sleep(test.want - time.Second)
					want("in use now and then", host.StageReady, 1)
				}
				time.Sleep(10 * time.Second) // a process may take its time to end
				want("unused", host.StageCached, 0)
				time.Sleep(2 * time.Hour)
				want("long after", host.StageCached, 0)
				use()
				want("used again", host.StageReady, 1)
				assert.Equal(t, town.started.Load(), 2, "servers were started")
				_ = h.Close()
			})
		})
	}
}

// A call is use as long as it takes, and a client that somebody holds is used by his
// calls.
func TestAcceptLongCallIsNotIdle(t *testing.T) {
	path, state := acceptLazyFile(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				s := sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)
				sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
					time.Sleep(5 * time.Minute)
					return acceptText("late"), nil, nil
				})
				return s.Run(ctx, tr)
			},
		}}
		opts := &host.Options{Transport: town.transport, StateDir: state, IdleTimeout: time.Minute}
		opts.Client.IdleTimeout = time.Hour
		acceptWarm(t, path, opts)
		town.started.Store(0)
		h := open(t, path, opts)
		text, err := acceptAnswer(h.Registry().Call(t.Context(), "s__echo", nil))
		if err != nil || text != "late" {
			t.Errorf("%q, %v", text, err)
		}
		assert.Equal(t, town.started.Load(), 1, "servers were started")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := status(t, h, "s"); s.Stage != host.StageCached || town.living.Load() != 0 {
			t.Errorf("afterwards: %+v", s)
		}
		_ = h.Close()
	})
}

// No call fails because it comes when the server is about to stop, stops, or has
// just stopped.
func TestAcceptCallsAtTheMomentOfTheIdleStop(t *testing.T) {
	path, state := acceptLazyFile(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		town := &acceptTown{}
		opts := &host.Options{Transport: town.transport, StateDir: state, IdleTimeout: time.Minute}
		acceptWarm(t, path, opts)
		h := open(t, path, opts)
		for round := range 100 {
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					time.Sleep(time.Minute + time.Duration(i-1)*time.Duration(round%3))
					if text, err := acceptAnswer(h.Registry().Call(t.Context(), "s__echo", nil)); err != nil || text != "1" {
						t.Errorf("round %d: %q, %v", round, text, err)
					}
				})
			}
			wg.Wait()
		}
		if n := town.living.Load(); n > 1 {
			t.Errorf("%d servers live", n)
		}
		_ = h.Close()
	})
}

// The same with processes, whose ends take time, and without a gap in the catalogue.
func TestAcceptCallsWhileProcessesStopForIdleness(t *testing.T) {
	path := write(t, "s", acceptChild(t, "s", "1", `"lazy": true`))
	opts := &host.Options{StateDir: t.TempDir(), IdleTimeout: time.Microsecond}
	acceptWarm(t, path, opts)
	h := open(t, path, opts)
	load := acceptLoad{callers: 1, calls: 20, tool: "s__echo", args: `{"text":""}`}
	load.during(t, h, func() {})
	acceptEventually(t, "the stop of the server", func() bool { return status(t, h, "s").Stage == host.StageCached && len(acceptOwn(t)) == 0 })
}

// What a server goes through is told, and in this order. Without a catalogue it is
// started to get one.
func TestAcceptStagesOfALazyServer(t *testing.T) {
	path, state := acceptLazyFile(t), t.TempDir()
	for _, first := range []host.Stage{host.StageStarting, host.StageCached} {
		synctest.Test(t, func(t *testing.T) {
			open1 := make(chan struct{})
			town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
				"x": func(ctx context.Context, tr mcp.Transport) error {
					<-open1
					return acceptEcho("s", "1").Run(ctx, tr)
				},
			}}
			h := open(t, path, &host.Options{Transport: town.transport, StateDir: state, IdleTimeout: time.Minute})
			stage := func(want host.Stage) {
				t.Helper()
				synctest.Wait()
				assert.Equal(t, status(t, h, "s").Stage, want, "stage")
			}
			var seen []host.Stage
			watched := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer close(watched)
				for servers := range h.Watch(ctx) {
					if s := servers[0].Stage; len(seen) == 0 || seen[len(seen)-1] != s {
						seen = append(seen, s)
					}
				}
			}()
			stage(first)
			c := assert.Value(h.Client(t.Context(), session.Key{Server: "s"}))(t)
			ready := make(chan error, 1)
			go func() { ready <- c.Ready(t.Context()) }()
			stage(host.StageStarting)
			close(open1)
			if err := <-ready; err != nil {
				t.Error(err)
			}
			stage(host.StageReady)
			time.Sleep(2 * time.Minute)
			stage(host.StageCached)
			cancel()
			<-watched
			want := slices.Compact([]host.Stage{first, host.StageStarting, host.StageReady, host.StageCached})
			if !slices.Equal(seen, want) {
				t.Errorf("Watch told %v, want %v", seen, want)
			}
			_ = h.Close()
		})
	}
}

// A lazy server that cannot be started fails the call that wants it, with the reason,
// keeps its tools, and serves again when it can.
func TestAcceptLazyServerThatFailsKeepsItsTools(t *testing.T) {
	path := acceptLazyFile(t)
	var down atomic.Bool
	town := &acceptTown{}
	town.houses = map[string]func(context.Context, mcp.Transport) error{
		"x": func(ctx context.Context, tr mcp.Transport) error {
			if down.Load() {
				return fmt.Errorf("no licence")
			}
			return acceptEcho("s", "1").Run(ctx, tr)
		},
	}
	opts := &host.Options{Transport: town.transport, StateDir: t.TempDir(), ToolGrace: -1}
	acceptWarm(t, path, opts)
	down.Store(true)
	h := open(t, path, opts)
	_, err := call(t, h, "s__echo", "{}")
	if err == nil || !strings.Contains(err.Error(), "no licence") || !strings.Contains(err.Error(), `"s"`) {
		t.Errorf("the call: %v", err)
	}
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome is : %v", err)
	assert.Equal(t, names(h), "s__echo", "tools")
	down.Store(false)
	acceptEventually(t, "the server", func() bool {
		text, err := call(t, h, "s__echo", "{}")
		return err == nil && text == "1"
	})
}

// Disable takes the tools of a lazy server away, and Enable brings them back without
// starting it.
func TestAcceptDisableAndEnableALazyServer(t *testing.T) {
	path := acceptLazyFile(t)
	town := &acceptTown{}
	opts := &host.Options{Transport: town.transport, StateDir: t.TempDir()}
	acceptWarm(t, path, opts)
	h := open(t, path, opts)
	town.started.Store(0)
	assert.OK(t, h.Disable(watchdog(t), "s"))
	if s := status(t, h, "s"); s.Stage != host.StageDisabled || s.Tools != 0 || names(h) != "" {
		t.Errorf("disabled: %+v", s)
	}
	assert.OK(t, h.Enable(watchdog(t), "s"))
	if s := status(t, h, "s"); s.Stage != host.StageCached || s.Tools != 1 {
		t.Errorf("enabled: %+v", s)
	}
	assert.Equal(t, town.started.Load(), 0, "servers were started")
	if text, err := call(t, h, "s__echo", "{}"); err != nil || text != "1" {
		t.Errorf("%q, %v", text, err)
	}
}

// A change of words in the entry of a lazy server leaves its tools listed all the
// time, running or not.
func TestAcceptLazyServersAreReplacedUnderLoad(t *testing.T) {
	town := &acceptTown{}
	opts := town.options()
	opts.StateDir = t.TempDir()
	entry := func(i int) string {
		return fmt.Sprintf(`{"command": "x", "args": ["1"], "lazy": true, "description": "%d"}`, i)
	}
	h := acceptNew(t, opts, acceptParse(t, "s", entry(0)))
	assert.OK(t, h.Refresh(watchdog(t), "s"))
	load := acceptLoad{callers: 16, calls: 300, tool: "s__echo"}
	load.during(t, h, func() {
		for i := 1; i <= acceptReplacements; i++ {
			if report, err := h.Apply(watchdog(t), acceptParse(t, "s", entry(i))); err != nil || len(report.Failed) > 0 || len(report.Kept) > 0 {
				t.Errorf("%+v, %v", report, err)
			}
		}
	})
	acceptEventually(t, "the end of the old servers", func() bool { return town.living.Load() <= 1 })
}

// A lazy server that takes longer to start than it may be idle is not stopped before its
// tools are known.
func TestAcceptSlowStartIsNotIdle(t *testing.T) {
	path, state := acceptLazyFile(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				select {
				case <-time.After(8 * time.Second):
					return acceptEcho("s", "1").Run(ctx, tr)
				case <-ctx.Done():
					return nil
				}
			},
		}}
		opts := &host.Options{Transport: town.transport, StateDir: state, IdleTimeout: 3 * time.Second}
		h := open(t, path, opts)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s := status(t, h, "s"); s.Stage != host.StageCached || names(h) != "s__echo" || town.living.Load() != 0 {
			t.Errorf("tools %q: %+v", names(h), s)
		}
		if err := h.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		assert.Equal(t, names(h), "s__echo", "tools after Refresh")
		if text, err := acceptAnswer(h.Registry().Call(t.Context(), "s__echo", nil)); err != nil || text != "1" {
			t.Errorf("%q, %v", text, err)
		}
		_ = h.Close()
	})
}
