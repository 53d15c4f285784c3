// Tests of host.go and shared.go: the end of a host, whatever goes on, and what it records.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// An endMoment is something that goes on when the host is ended.
type endMoment struct {
	name string
	// begin begins it and returns when it goes on, and what waits for its end.
	begin func(t *testing.T, h *host.Host, path string) (end func())
}

func inBackground(f func()) (end func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	return func() { <-done }
}

func endMoments() []endMoment {
	awaitStage := func(t *testing.T, h *host.Host, name string, stages ...host.Stage) {
		t.Helper()
		eventually(t, "the moment", func() bool {
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
	return []endMoment{
		{"nothing", func(*testing.T, *host.Host, string) func() { return func() {} }},
		{"Apply", func(t *testing.T, h *host.Host, _ string) func() {
			c := parseEntries(t, "stubborn", childEntry(t, "silent", "1"), "s", childEntry(t, "s", "2"))
			end := inBackground(func() { _, _ = h.Apply(watchdog(t), c) })
			awaitStage(t, h, "stubborn", host.StageStarting)
			return end
		}},
		{"replacement", func(t *testing.T, h *host.Host, _ string) func() {
			c := parseEntries(t, "s", childEntry(t, "unanswering", "1"))
			before := len(childProcesses(t))
			end := inBackground(func() { _, _ = h.Apply(watchdog(t), c) })
			eventually(t, "the new process", func() bool { return len(childProcesses(t)) > before })
			return end
		}},
		{"Enable", func(t *testing.T, h *host.Host, _ string) func() {
			c := parseEntries(t, "silent", childEntry(t, "unanswering", "1", `"enabled": false`), "s", childEntry(t, "s", "0"))
			assert.Value(h.Apply(watchdog(t), c))(t)
			end := inBackground(func() { _ = h.Enable(watchdog(t), "silent") })
			awaitStage(t, h, "silent", host.StageStarting)
			return end
		}},
		{"Restart", func(t *testing.T, h *host.Host, _ string) func() {
			return inBackground(func() { _ = h.Restart(watchdog(t), "s") })
		}},
		{"Refresh", func(t *testing.T, h *host.Host, _ string) func() {
			return inBackground(func() { _ = h.Refresh(watchdog(t)) })
		}},
		{"lazy start", func(t *testing.T, h *host.Host, _ string) func() {
			c := parseEntries(t, "lazy", childEntry(t, "unanswering", "1", `"lazy": true`))
			assert.Value(h.Apply(watchdog(t), c))(t)
			awaitStage(t, h, "lazy", host.StageStarting)
			return func() {}
		}},
		{"death", func(t *testing.T, h *host.Host, _ string) func() {
			kill(t, status(t, h, "s").State.PID)
			return func() {}
		}},
		{"retirement", func(t *testing.T, h *host.Host, _ string) func() {
			assert.Value(h.Apply(watchdog(t), parseEntries(t)))(t)
			return func() {}
		}},
	}
}

// Whatever goes on, Close and Shutdown return, and no process, file descriptor or tool is
// left; goleak looks for goroutines.
func TestEndAtAnyMoment(t *testing.T) {
	needProc(t)
	for _, how := range []string{"Close", "Shutdown"} {
		for _, m := range endMoments() {
			t.Run(how+" during "+m.name, func(t *testing.T) {
				temp := t.TempDir()
				t.Setenv("TMPDIR", temp)
				before := childProcesses(t)
				path := write(t, "s", childEntry(t, "s", "0"))
				h := open(t, path, &host.Options{StateDir: t.TempDir(), Transport: killSoon("stubborn")})
				end := m.begin(t, h, path)
				if how == "Close" {
					assert.OK(t, h.Close())
				} else {
					assert.OK(t, h.Shutdown(watchdog(t)))
				}
				assert.Equal(t, len(childProcesses(t)), len(before), "processes after the end")
				end()
				assert.Equal(t, len(childProcesses(t)), len(before), "processes later")
				assert.Equal(t, names(h), "", "tools")
				assert.Equal(t, len(assert.Value(os.ReadDir(temp))(t)), 0, "files are left")
			})
		}
	}
}

// newSlowCall returns a host with a call under way that takes no notice of the end of the
// host, what finishes that call, and where its error comes.
func newSlowCall(t *testing.T) (h *host.Host, finish func(), answer <-chan error) {
	t.Helper()
	v := &commandServers{hold: make(chan struct{}), entered: make(chan struct{})}
	h = newHost(t, &host.Options{Transport: v.transport, StateDir: host.NoState}, parseEntries(t, "s", `{"command": "slow"}`))
	answer = background(func() error { return assert.Err(h.Registry().Call(t.Context(), "s__slow", nil)) })
	<-v.entered
	return h, func() { close(v.hold) }, answer
}

// A Shutdown whose context ends cuts off the calls under way, leaves nothing, and says
// so. A call that is cut off tells that it may have run.
func TestShutdownThatRunsOutOfTime(t *testing.T) {
	t.Parallel()
	h, finish, answer := newSlowCall(t)
	defer finish()
	ctx, cancel := context.WithCancel(t.Context())
	down := background(func() error { return h.Shutdown(ctx) })
	eventually(t, "the beginning of the end", func() bool { return len(h.Registry().Snapshot().Tools()) == 0 })
	// A second one waits for the same end.
	second := background(func() error { return h.Close() })
	cancel()
	assert.Is(t, <-down, context.Canceled, "Shutdown")
	assert.Fails(t, <-answer, "the call that was cut off was answered")
	assert.OK(t, <-second, "Close")
}

// Close during a slow Shutdown cuts it short: it does not wait for calls.
func TestCloseDuringShutdown(t *testing.T) {
	t.Parallel()
	h, finish, answer := newSlowCall(t)
	defer finish()
	down := background(func() error { return h.Shutdown(t.Context()) })
	eventually(t, "the beginning of the end", func() bool { return len(h.Registry().Snapshot().Tools()) == 0 })
	closed := background(func() error { return h.Close() })
	ctx := watchdog(t)
	for range 2 {
		select {
		case err := <-closed:
			assert.OK(t, err, "Close")
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
func TestShutdownStopsTheIntake(t *testing.T) {
	h, finish, answer := newSlowCall(t)
	tool, _ := h.Registry().Snapshot().Lookup("s__slow")
	down := background(func() error { return h.Shutdown(watchdog(t)) })
	eventually(t, "the beginning of the end", func() bool { return len(h.Registry().Snapshot().Tools()) == 0 })
	assert.Is(t, h.Enable(watchdog(t), "s"), host.ErrClosed, "Enable")
	assert.Is(t, assert.Err(h.Registry().Call(watchdog(t), "s__slow", nil)), host.ErrClosed, "a new call")
	assert.Is(t, assert.Err(tool.Call(watchdog(t), nil)), host.ErrClosed, "a new call of a tool that was looked up before")
	finish()
	assert.OK(t, <-answer, "the call under way")
	assert.OK(t, <-down, "Shutdown")
}

const stormServers = 12

// stormConfig is a configuration of some of the servers, some of them off.
func stormConfig(t *testing.T, r *rand.Rand) *config.Config {
	t.Helper()
	var pairs []string
	for i := range stormServers {
		if i > 0 && r.IntN(4) == 0 {
			continue
		}
		entry := fmt.Sprintf(`{"command": "x", "args": ["%d"], "lazy": %t, "enabled": %t}`, r.IntN(3), r.IntN(3) == 0, i == 0 || r.IntN(4) > 0)
		if r.IntN(10) == 0 && i > 0 {
			entry = `{"command": "exits"}`
		}
		pairs = append(pairs, fmt.Sprint("s", i), entry)
	}
	return parseEntries(t, pairs...)
}

// storm does anything to the host, by many at one time, until each has done it n times.
func storm(t *testing.T, h *host.Host, configs []*config.Config, workers, n int) {
	ctx := watchdog(t)
	acts := []func(name string, r *rand.Rand) error{
		func(name string, _ *rand.Rand) error { _ = h.Enable(ctx, name); return nil }, // it may fail, or be disabled meanwhile
		func(name string, _ *rand.Rand) error { _ = h.Restart(ctx, name); return nil },
		func(name string, _ *rand.Rand) error { return h.Disable(ctx, name) },
		func(_ string, r *rand.Rand) error { return assert.Err(h.Apply(ctx, configs[r.IntN(len(configs))])) },
		func(string, *rand.Rand) error { h.Servers(); return nil },
		func(string, *rand.Rand) error {
			for range h.Watch(ctx) {
				break
			}
			return nil
		},
		func(name string, _ *rand.Rand) error {
			_, _ = h.Registry().Call(ctx, name+"__echo", nil)
			return ctx.Err() // nothing may take so long
		},
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for range n {
				act, name := r.IntN(len(acts)), fmt.Sprint("s", r.IntN(stormServers))
				err := acts[act](name, r)
				if err != nil && !errors.Is(err, host.ErrClosed) && !errors.As(err, new(*host.UnknownServerError)) {
					t.Errorf("act %d on %s: got %v", act, name, err)
				}
			}
		})
	}
	wg.Wait()
}

func newExitingServers() *pipeServers {
	return &pipeServers{serve: serveFuncs{
		"exits": func(context.Context, mcp.Transport) error { return errors.New("no licence") },
	}}
}

// Whatever is done at one time, all of it returns, and the host is sound afterwards.
func TestStorm(t *testing.T) {
	t.Parallel()
	pipes := newExitingServers()
	r := rand.New(rand.NewPCG(2, 3))
	var configs []*config.Config
	for range 6 {
		configs = append(configs, stormConfig(t, r))
	}
	h := newHost(t, pipes.options(), configs[0])
	storm(t, h, configs, 16, assert.Cases(8, 30))
	last := parseEntries(t, "s0", `{"command": "x", "args": ["last"]}`, "s1", `{"command": "x", "args": ["last"]}`)
	assert.Equal(t, len(assert.Value(h.Apply(watchdog(t), last))(t).Failed), 0, "the last Apply")
	assert.Equal(t, names(h), "s0__echo s1__echo", "tools")
	for _, name := range []string{"s0", "s1"} {
		assert.Equal(t, assert.Value(call(t, h, name+"__echo", "{}"))(t), "last", "%s", name)
	}
	eventually(t, "the end of all others", func() bool { return pipes.living.Load() == 2 })
}

// Shutdown in the middle of it leaves nothing, and everything afterwards says that
// the host is closed.
func TestShutdownInAStorm(t *testing.T) {
	t.Parallel()
	for round := range assert.Cases(4, 8) {
		pipes := newExitingServers()
		r := rand.New(rand.NewPCG(4, uint64(round)))
		configs := []*config.Config{stormConfig(t, r), stormConfig(t, r)}
		h := newHost(t, pipes.options(), configs[0])
		stormy := make(chan struct{})
		go func() { defer close(stormy); storm(t, h, configs, 8, assert.Cases(10, 20)) }()
		for range round {
			_, _ = h.Apply(watchdog(t), configs[1])
		}
		end := h.Close
		if round%2 == 1 {
			end = func() error { return h.Shutdown(watchdog(t)) }
		}
		assert.OK(t, end(), "round %d", round)
		assert.Equal(t, pipes.living.Load(), 0, "round %d: servers live", round)
		<-stormy
		assert.Equal(t, pipes.living.Load(), 0, "round %d: servers were started after the end", round)
		wantClosed(t, h, configs[0])
	}
}

// wantClosed checks what a closed host answers after a storm.
func wantClosed(t *testing.T, h *host.Host, c *config.Config) {
	t.Helper()
	ctx := watchdog(t)
	assert.Is(t, assert.Err(h.Apply(ctx, c)), host.ErrClosed, "Apply after the end")
	assert.Is(t, h.Enable(ctx, "s0"), host.ErrClosed, "Enable after the end")
	assert.Equal(t, names(h), "", "tools after the end")
	for range h.Watch(ctx) { // ends
	}
	assert.OK(t, h.Close(), "a second Close")
}

// hostMethods calls the methods that need a host that runs, by their names.
var hostMethods = map[string]func(ctx context.Context, h *host.Host, server string) error{
	"Apply": func(ctx context.Context, h *host.Host, _ string) error {
		return assert.Err(h.Apply(ctx, &config.Config{}))
	},
	"ApplyServers": func(ctx context.Context, h *host.Host, s string) error {
		return assert.Err(h.ApplyServers(ctx, "remove", s, func(context.Context) (map[string]*config.Server, error) { return nil, nil }))
	},
	"Enable":      func(ctx context.Context, h *host.Host, s string) error { return h.Enable(ctx, s) },
	"Disable":     func(ctx context.Context, h *host.Host, s string) error { return h.Disable(ctx, s) },
	"Restart":     func(ctx context.Context, h *host.Host, s string) error { return h.Restart(ctx, s) },
	"Refresh":     func(ctx context.Context, h *host.Host, s string) error { return h.Refresh(ctx, s) },
	"Refresh all": func(ctx context.Context, h *host.Host, _ string) error { return h.Refresh(ctx) },
	"Discover": func(ctx context.Context, h *host.Host, s string) error {
		return h.Discover(ctx, session.Key{Server: s})
	},
	"Login": func(ctx context.Context, h *host.Host, s string) error {
		return assert.Err(h.Login(ctx, session.Key{Server: s}))
	},
	"Logout": func(ctx context.Context, h *host.Host, s string) error { return h.Logout(ctx, session.Key{Server: s}) },
	"Client": func(ctx context.Context, h *host.Host, s string) error {
		return assert.Err(h.Client(ctx, session.Key{Server: s}))
	},
	"AllowLaunch": func(ctx context.Context, h *host.Host, s string) error { return h.AllowLaunch(ctx, "ann", s) },
	"DenyLaunch":  func(ctx context.Context, h *host.Host, s string) error { return h.DenyLaunch(ctx, "ann", s) },
	"Try": func(ctx context.Context, h *host.Host, s string) error {
		return h.Try(ctx, &config.Server{Name: s, Command: "x", Transport: config.TransportStdio}, nil, nil)
	},
	"Follow": func(ctx context.Context, h *host.Host, _ string) error {
		none := func(context.Context) iter.Seq[[]string] { return func(func([]string) bool) {} }
		return h.Follow(ctx, none, func(context.Context) (*config.Config, error) { return nil, nil }, nil)
	},
	"WithClient": func(ctx context.Context, h *host.Host, s string) error {
		return h.WithClient(ctx, session.Key{Server: s}, func(context.Context, *mcp.Client) error { return nil })
	},
}

// What needs a host that runs says that it is closed, of servers that it had and of others.
func TestMethodsOfAClosedHost(t *testing.T) {
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: loginCallback}}))(t)
	t.Cleanup(func() { _ = logins.Close() })
	h := open(t, write(t, "s", `{"command": "x"}`, "w", `{"url": "http://127.0.0.1:1"}`), fakes(&host.Options{Logins: logins}))
	assert.OK(t, h.Close())
	m, c := manage.New(h, record.NewMemoryStore(&config.Server{Name: "s", Command: "x"}), nil), content.New(h)
	methods := maps.Clone(hostMethods)
	maps.Copy(methods, map[string]func(context.Context, *host.Host, string) error{
		"ReadResource": func(ctx context.Context, _ *host.Host, s string) error {
			return assert.Err(c.ReadResource(ctx, content.Address(s, "x://y"), nil))
		},
		"GetPrompt": func(ctx context.Context, _ *host.Host, s string) error {
			return assert.Err(c.GetPrompt(ctx, s+"__x", nil, nil))
		},
		"Add": func(ctx context.Context, _ *host.Host, s string) error {
			return assert.Err(m.Add(ctx, &config.Server{Name: s + "2", Command: "x"}))
		},
		"Update": func(ctx context.Context, _ *host.Host, s string) error {
			return assert.Err(m.Update(ctx, s, patch(t, `{}`)))
		},
		"Remove":  func(ctx context.Context, _ *host.Host, s string) error { return assert.Err(m.Remove(ctx, s)) },
		"Restore": func(ctx context.Context, _ *host.Host, s string) error { return assert.Err(m.Restore(ctx, s)) },
	})
	for name, method := range methods {
		for _, server := range []string{"s", "w", "none"} {
			assert.Is(t, method(watchdog(t), h, server), host.ErrClosed, "%s(%q)", name, server)
		}
	}
}

// A host writes down what its servers and their callers do, in a file that tells
// nothing secret, and nothing after its end.
func TestActivity(t *testing.T) {
	ctx := watchdog(t)
	file := assert.Value(activity.OpenFile(filepath.Join(t.TempDir(), "activity.jsonl")))(t)
	log := activity.New(nil, file)
	reg := registry.New(nil)
	const secret = "correct horse"
	h := assert.Value(host.Open(ctx, write(t,
		"good", child(t, "echo"),
		"bad", `{"command": "/no/such/program", "args": ["`+secret+`"], "env": {"PASSWORD": "`+secret+`"}}`,
	), patient(&host.Options{Registry: reg, Activity: log, StateDir: host.NoState})))(t)
	ctx = session.WithUser(ctx, "ann")
	call := func(name, args string) {
		_, _ = reg.Call(registry.WithCallID(ctx, "call "+name), name, json.RawMessage(args))
	}
	call("good__echo", `{"text":"hidden text"}`)
	call("bad__nothing", `{}`)
	call("good__nothing", `{}`)
	call("good__echo", `{"text":1}`)
	assert.OK(t, h.Disable(ctx, "good"))
	assert.OK(t, h.Close())
	call("after", `{}`)
	assert.OK(t, log.Close(context.WithoutCancel(ctx)))
	var seen []string
	for e, err := range file.Events(nil) {
		assert.OK(t, err)
		text, _ := json.Marshal(e)
		assert.Lacks(t, string(text), secret, "the log tells")
		assert.Lacks(t, string(text), "hidden text", "the log tells")
		if e.Kind == "state" || e.Kind == "stop" {
			continue // how many there are depends on what is first
		}
		seen = append(seen, fmt.Sprintf("%s %s/%s: %s by %q, id %t", e.Kind, e.Server, e.Tool, e.Outcome, e.User, strings.HasPrefix(e.ID, "call ")))
	}
	slices.Sort(seen)
	want := []string{
		`call /good__nothing: unknown_tool by "ann", id true`,
		`call bad/bad__nothing: not_sent by "ann", id true`,
		`call good/echo: bad_arguments by "ann", id true`,
		`call good/echo: ok by "ann", id true`,
		`config /: ok by "", id false`,
		`config good/: ok by "ann", id false`,
		`start bad/: error by "", id false`,
		`start good/: ok by "", id false`,
	}
	assert.Equal(t, fmt.Sprint(seen), fmt.Sprint(want), "recorded")
}

// A tracer notes whose calls it is to record.
type tracer struct {
	registry *registry.Registry
	stopped  int
}

func (*tracer) RequestStart(ctx context.Context, _ *mcp.RequestInfo) context.Context { return ctx }
func (*tracer) RequestEnd(context.Context, *mcp.RequestInfo)                         {}
func (t *tracer) Registry(r *registry.Registry) (stop func()) {
	t.registry = r
	return func() { t.stopped++ }
}

// A tracer that can is told of the registry, until the host is closed.
func TestTracerOfRegistry(t *testing.T) {
	seen := &tracer{}
	h := host.New(&host.Options{StateDir: host.NoState, Client: mcp.ClientOptions{Tracer: seen}})
	assert.Equal(t, seen.registry, h.Registry())
	assert.Equal(t, seen.stopped, 0)
	for range 2 {
		assert.OK(t, h.Close())
	}
	assert.Equal(t, seen.stopped, 1, "stopped times")
}

const goodServers = 4

// hugeToolList is a list of many tools that all say much.
var hugeToolList = sync.OnceValue(func() string {
	all := make([]string, 1000)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"echo%d","description":"%s","inputSchema":{"type":"object"}}`, i, strings.Repeat("long ", 200))
	}
	return `{"tools":[` + strings.Join(all, ",") + `]}`
})

// hostileEntries are the entries of servers that do all they can, by what they do.
// Those in this process are serve of the pipes.
func hostileEntries(t *testing.T, pipes *pipeServers) (entries map[string]string) {
	const one = `{"tools":[{"name":"echo","description":"echoes","inputSchema":{"type":"object"}}]}`
	hostile := func(scripts ...mcptest.Script) func(context.Context, mcp.Transport) error {
		all := append([]mcptest.Script{mcptest.Handshake(mcp.Revision20251125, ""), {"tools/list": mcptest.Result(one)}}, scripts...)
		return mcptest.NewServer(t, all...).Serve
	}
	storm := func(method, params string) mcptest.Handler {
		return func(c *mcptest.Call) {
			for c.Context().Err() == nil {
				c.Notify(method, params)
			}
		}
	}
	pipes.serve = serveFuncs{
		"logs": hostile(mcptest.Script{"notifications/initialized": storm("notifications/message", `{"level":"error","data":"`+strings.Repeat("x", 4000)+`"}`)}),
		"announces": hostile(mcptest.Script{
			"notifications/initialized": storm("notifications/tools/list_changed", ""),
			"tools/list": func(c *mcptest.Call) {
				c.Result(strings.Replace(one, "echoes", fmt.Sprint("echoes ", c.Number), 1))
			},
		}),
		"huge":   hostile(mcptest.Script{"tools/list": mcptest.Result(hugeToolList())}),
		"pages":  hostile(mcptest.Script{"tools/list": mcptest.Result(strings.TrimSuffix(one, "}") + `,"nextCursor":"again"}`)}),
		"hangs":  hostile(mcptest.Script{"tools/list": mcptest.Hang}),
		"dies":   func(context.Context, mcp.Transport) error { return errors.New("dead") },
		"drops":  hostile(mcptest.Script{"tools/list": mcptest.Disconnect}),
		"denies": hostile(mcptest.Script{"tools/list": mcptest.Error(-32000, strings.Repeat("no\n", 10_000))}),
	}
	entries = map[string]string{}
	for name := range pipes.serve {
		entries[name] = fmt.Sprintf(`{"command": %q, "connectTimeoutSeconds": 0.1, "readTimeoutSeconds": 0.1}`, name)
	}
	entries["hangs"] = `{"command": "hangs", "readTimeoutSeconds": 0.1}`
	if runtime.GOOS != "windows" {
		entries["garbage"] = `{"command": "sh", "args": ["-c", "yes this is not JSON & cat > /dev/null; kill $!"], "connectTimeoutSeconds": 0.1}`
		entries["exits"] = `{"command": "sh", "args": ["-c", "echo bye >&2; exit 1"]}`
	}
	return entries
}

// One server that floods, hangs, dies again and again or says endless things does no
// harm to the others: no call fails, and no tool is missing.
func TestHostileNeighbour(t *testing.T) {
	hostile := hostileEntries(t, &pipeServers{})
	for name := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipes := &pipeServers{}
			entry := hostileEntries(t, pipes)[name]
			opts := pipes.options()
			var pairs []string
			for i := range goodServers {
				pairs = append(pairs, fmt.Sprintf("good%02d", i), fmt.Sprintf(`{"command": "x", "args": ["%d"]}`, i))
			}
			if pipes.serve[name] == nil { // a process
				opts.Transport = exceptProcess(pipes.transport, name)
			}
			h := newHost(t, opts, parseEntries(t, append(pairs, name, entry)...))
			look := func(s *registry.Snapshot) error {
				good := 0
				for _, tool := range s.Tools() {
					if strings.HasPrefix(tool.Definition().Origin.Server, "good") {
						good++
					}
				}
				if good != goodServers {
					return fmt.Errorf("version %d lists %d tools of the others", s.Version(), good)
				}
				return nil
			}
			load := callLoad{callers: 4, calls: assert.Cases(10, 100), tool: "good00__echo", look: look}
			load.during(t, h, func() {
				var wg sync.WaitGroup
				for i := range goodServers {
					wg.Go(func() {
						for range assert.Cases(2, 5) {
							text, err := textOf(h.Registry().Call(watchdog(t), fmt.Sprintf("good%02d__echo", i), nil))
							assert.Is(t, err, nil, "server")
							assert.Equal(t, text, fmt.Sprint(i), "server")
						}
					})
				}
				wg.Wait()
				assert.Is(t, h.Restart(watchdog(t), "good01"), nil, "Restart of another")
				_ = h.Restart(watchdog(t), name)
				assert.Is(t, h.Disable(watchdog(t), name), nil, "Disable of the hostile")
			})
		})
	}
}
