// Tests of start.go and pool.go: lazy servers, and how they stop when they are idle.

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// cacheCatalogs runs the lazy servers of a config file once, so that their catalogues are
// known from an earlier time.
func cacheCatalogs(t *testing.T, path string, opts *host.Options) {
	t.Helper()
	h := assert.Value(host.Open(watchdog(t), path, patient(opts)))(t)
	assert.OK(t, h.Refresh(watchdog(t)), "the first Refresh")
	for _, s := range h.Servers() {
		assert.False(t, s.Tools == 0, "after the first Refresh")
	}
	assert.OK(t, h.Shutdown(watchdog(t)))
}

func countStages(h *host.Host) map[host.Stage]int {
	count := map[host.Stage]int{}
	for _, s := range h.Servers() {
		count[s.Stage]++
	}
	return count
}

// callTogether makes n calls of a tool at one time.
func callTogether(t *testing.T, h *host.Host, tool string, n int) map[string]int {
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
			text, err := textOf(h.Registry().Call(watchdog(t), tool, []byte(`{"text":""}`)))
			assert.Is(t, err, nil, "%s", tool)
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
func TestLazyServersAreListedAndNotStarted(t *testing.T) {
	t.Parallel()
	const servers = 20
	var entries []string
	for i := range servers {
		entries = append(entries, fmt.Sprintf("s%02d", i), fmt.Sprintf(`{"command": "x", "args": ["%d"], "lazy": true}`, i))
	}
	path := write(t, entries...)
	pipes := &pipeServers{}
	opts := &host.Options{Transport: pipes.transport, StateDir: t.TempDir()}
	cacheCatalogs(t, path, opts)
	assert.Equal(t, pipes.living.Load(), 0)
	pipes.started.Store(0)

	h := open(t, path, opts)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), servers, "tools are listed")
	for _, tool := range h.Registry().Snapshot().Tools() {
		var sent mcp.Tool
		assert.OK(t, json.Unmarshal(tool.Definition().Raw, &sent), "raw definition")
		assert.Equal(t, sent.Name, tool.Definition().Origin.Tool, "raw definition")
	}
	assert.Equal(t, pipes.started.Load(), 0, "servers were started by Open")
	assert.Equal(t, countStages(h)[host.StageCached], servers, "stages")
	assert.Equal(t, callTogether(t, h, "s07__echo", 50)["7"], 50, "answers")
	assert.Equal(t, pipes.started.Load(), 1, "50 calls of one server started")
	got := countStages(h)
	assert.Equal(t, got[host.StageCached], servers-1, "stages")
	assert.Equal(t, got[host.StageReady], 1, "stages")
}

// ownProcesses returns the child processes that are this program.
func ownProcesses(t *testing.T) []int {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	return slices.DeleteFunc(childProcesses(t), func(pid int) bool {
		exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		return err != nil || exe != program
	})
}

// writeLazy is a config file with one lazy server that works, and stops after
// the default time.
func writeLazy(t *testing.T, more ...string) string {
	return write(t, "s", `{"command": "x", "args": ["1"], "lazy": true`+strings.Join(append([]string{""}, more...), ", ")+"}")
}

// A lazy server stops when nobody has used it for some time, not before, its tools
// stay, and the next call starts it again.
func TestIdleStop(t *testing.T) {
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
			path := writeLazy(t, test.entry...)
			state := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				pipes := &pipeServers{}
				opts := (&host.Options{Transport: pipes.transport, StateDir: state}).Times(test.idle, 0)
				cacheCatalogs(t, path, opts)
				pipes.started.Store(0)
				h := open(t, path, opts)
				use := func() {
					t.Helper()
					assert.Equal(t, assert.Value(textOf(h.Registry().Call(t.Context(), "s__echo", nil)))(t), "1")
				}
				want := func(what string, stage host.Stage, living int64) {
					t.Helper()
					synctest.Wait()
					assert.Equal(t, describe(status(t, h, "s")), fmt.Sprintf("%s: 1 tools, 0 quarantined, 0 rejected, 0 users, enabled true, <nil>", stage), "%s", what)
					assert.Equal(t, pipes.living.Load(), living, "%s: connections", what)
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
				assert.Equal(t, pipes.started.Load(), 2, "servers were started")
				_ = h.Close()
			})
		})
	}
}

// A call is use as long as it takes, and a client that a person holds is used by their
// calls.
func TestLongCallIsNotIdle(t *testing.T) {
	path, state := writeLazy(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{serve: serveFuncs{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				s := sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)
				addTool(s, "echo", func(context.Context) (string, error) {
					time.Sleep(5 * time.Minute)
					return "late", nil
				})
				return s.Run(ctx, tr)
			},
		}}
		opts := (&host.Options{Transport: pipes.transport, StateDir: state}).Times(time.Minute, 0)
		opts.Client.IdleTimeout = time.Hour
		cacheCatalogs(t, path, opts)
		pipes.started.Store(0)
		h := open(t, path, opts)
		assert.Equal(t, assert.Value(textOf(h.Registry().Call(t.Context(), "s__echo", nil)))(t), "late")
		assert.Equal(t, pipes.started.Load(), 1, "servers were started")
		hosttest.Sleep(2 * time.Minute)
		assert.Equal(t, status(t, h, "s").Stage, host.StageCached, "afterwards")
		assert.Equal(t, pipes.living.Load(), 0, "afterwards")
		_ = h.Close()
	})
}

// No call fails because it comes when the server is about to stop, stops, or has
// just stopped.
func TestCallsAtTheMomentOfTheIdleStop(t *testing.T) {
	path, state := writeLazy(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{}
		opts := (&host.Options{Transport: pipes.transport, StateDir: state}).Times(time.Minute, 0)
		cacheCatalogs(t, path, opts)
		h := open(t, path, opts)
		for round := range assert.Cases(20, 100) {
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					time.Sleep(time.Minute + time.Duration(i-1)*time.Duration(round%3))
					assert.Equal(t, answerOf(call(t, h, "s__echo", "{}")), "1", "round %d", round)
				})
			}
			wg.Wait()
		}
		assert.True(t, pipes.living.Load() <= 1, "one server: %d", pipes.living.Load())
		_ = h.Close()
	})
}

// The same with processes, whose ends take time, and without a gap in the catalogue.
func TestCallsWhileProcessesStopForIdleness(t *testing.T) {
	path := write(t, "s", childEntry(t, "s", "1", `"lazy": true`))
	opts := (&host.Options{StateDir: t.TempDir()}).Times(time.Microsecond, 0)
	cacheCatalogs(t, path, opts)
	h := open(t, path, opts)
	load := callLoad{callers: 1, calls: 20, tool: "s__echo", args: `{"text":""}`}
	load.during(t, h, func() {})
	eventually(t, "the stop of the server", func() bool { return status(t, h, "s").Stage == host.StageCached && len(ownProcesses(t)) == 0 })
}

// What a server goes through is told, and in this order. Without a catalogue it is
// started to get one.
func TestStagesOfALazyServer(t *testing.T) {
	path, state := writeLazy(t), t.TempDir()
	for _, first := range []host.Stage{host.StageStarting, host.StageCached} {
		synctest.Test(t, func(t *testing.T) {
			open1 := make(chan struct{})
			pipes := &pipeServers{serve: serveFuncs{
				"x": func(ctx context.Context, tr mcp.Transport) error {
					<-open1
					return newEcho("s", "1").Run(ctx, tr)
				},
			}}
			h := open(t, path, (&host.Options{Transport: pipes.transport, StateDir: state}).Times(time.Minute, 0))
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
			ready := background(func() error { return c.Ready(t.Context()) })
			stage(host.StageStarting)
			close(open1)
			assert.OK(t, <-ready)
			stage(host.StageReady)
			time.Sleep(2 * time.Minute)
			stage(host.StageCached)
			cancel()
			<-watched
			want := slices.Compact([]host.Stage{first, host.StageStarting, host.StageReady, host.StageCached})
			assert.Equal(t, fmt.Sprint(seen), fmt.Sprint(want), "Watch told")
			_ = h.Close()
		})
	}
}

// A lazy server that cannot be started fails the call that wants it, with the reason,
// keeps its tools, and serves again when it can.
func TestLazyServerThatFailsKeepsItsTools(t *testing.T) {
	t.Parallel()
	path := writeLazy(t)
	pipes := &pipeServers{}
	opts := (&host.Options{Transport: pipes.transport, StateDir: t.TempDir()}).Times(0, -1)
	cacheCatalogs(t, path, opts)
	pipes.down.Store(true)
	h := open(t, path, opts)
	_, err := call(t, h, "s__echo", "{}")
	assert.Contains(t, fmt.Sprint(err), "maintenance", "the call")
	assert.Contains(t, fmt.Sprint(err), `"s"`, "the call")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
	assert.Equal(t, names(h), "s__echo", "tools")
	pipes.down.Store(false)
	eventually(t, "the server", func() bool {
		text, err := call(t, h, "s__echo", "{}")
		return err == nil && text == "1"
	})
}

// Disable takes the tools of a lazy server away, and Enable brings them back without
// starting it.
func TestDisableAndEnableALazyServer(t *testing.T) {
	path := writeLazy(t)
	pipes := &pipeServers{}
	opts := &host.Options{Transport: pipes.transport, StateDir: t.TempDir()}
	cacheCatalogs(t, path, opts)
	h := open(t, path, opts)
	pipes.started.Store(0)
	assert.OK(t, h.Disable(watchdog(t), "s"))
	s := status(t, h, "s")
	assert.Equal(t, s.Stage, host.StageDisabled, "disabled")
	assert.Equal(t, s.Tools, 0, "disabled")
	assert.Equal(t, names(h), "", "disabled")
	assert.OK(t, h.Enable(watchdog(t), "s"))
	s = status(t, h, "s")
	assert.Equal(t, s.Stage, host.StageCached, "enabled")
	assert.Equal(t, s.Tools, 1, "enabled")
	assert.Equal(t, pipes.started.Load(), 0, "servers were started")
	assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "1")
}

// A change of words in the entry of a lazy server leaves its tools listed all the
// time, running or not.
func TestLazyServersAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	pipes := &pipeServers{}
	opts := pipes.options()
	opts.StateDir = t.TempDir()
	entry := func(i int) string {
		return fmt.Sprintf(`{"command": "x", "args": ["1"], "lazy": true, "description": "%d"}`, i)
	}
	h := newHost(t, opts, parseEntries(t, "s", entry(0)))
	assert.OK(t, h.Refresh(watchdog(t), "s"))
	load := callLoad{callers: 16, calls: loadCalls, tool: "s__echo"}
	load.during(t, h, func() {
		for i := 1; i <= replacements; i++ {
			report := assert.Value(h.Apply(watchdog(t), parseEntries(t, "s", entry(i))))(t)
			assert.Equal(t, len(report.Failed)+len(report.Kept), 0, "failed or kept")
		}
	})
	eventually(t, "the end of the old servers", func() bool { return pipes.living.Load() <= 1 })
}

// A lazy server that takes longer to start than it may be idle is not stopped before its
// tools are known.
func TestSlowStartIsNotIdle(t *testing.T) {
	path, state := writeLazy(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{serve: serveFuncs{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				select {
				case <-time.After(8 * time.Second):
					return newEcho("s", "1").Run(ctx, tr)
				case <-ctx.Done():
					return nil
				}
			},
		}}
		h := open(t, path, (&host.Options{Transport: pipes.transport, StateDir: state}).Times(3*time.Second, 0))
		hosttest.Sleep(5 * time.Minute)
		assert.Equal(t, status(t, h, "s").Stage, host.StageCached, "tools")
		assert.Equal(t, names(h), "s__echo", "tools")
		assert.Equal(t, pipes.living.Load(), 0, "tools")
		assert.OK(t, h.Refresh(t.Context()))
		assert.Equal(t, names(h), "s__echo", "tools after Refresh")
		assert.Equal(t, assert.Value(textOf(h.Registry().Call(t.Context(), "s__echo", nil)))(t), "1")
		_ = h.Close()
	})
}

// A lazy server of which a tool waits for approval, or is refused by the gate, is not
// started again to learn what is known.
func TestLazyServerWithToolsThatWait(t *testing.T) {
	offered := []*sdk.Tool{{Name: "a", InputSchema: map[string]any{"type": "object"}}}
	var starts atomic.Int32
	dir := t.TempDir()
	opts := &host.Options{
		StateDir: filepath.Join(dir, "state"),
		Registry: pinned(t, filepath.Join(dir, "mcp.lock.json")),
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
				starts.Add(1)
				s := sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)
				for _, tool := range offered {
					s.AddTool(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
						return &sdk.CallToolResult{}, nil
					})
				}
				return s.Run(ctx, tr)
			}}, nil
		},
	}
	path := write(t, "s", `{"command": "x", "lazy": true}`)
	first := open(t, path, opts)
	until(t, first, "s", "listed", func(s host.Status) bool { return s.Stage == host.StageReady })
	offered = append(offered,
		&sdk.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}},
		&sdk.Tool{Name: "bad", InputSchema: map[string]any{"type": "object", "$ref": "https://example.com/schema"}})
	assert.OK(t, first.Refresh(watchdog(t)))
	assert.OK(t, first.Close())
	before := starts.Load()
	assert.Equal(t, describe(status(t, open(t, path, opts), "s")), "cached: 1 tools, 1 quarantined, 1 rejected, 0 users, enabled true, <nil>")
	assert.Equal(t, starts.Load(), before, "started")
}
