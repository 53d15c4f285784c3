// Tests of supervisor.go and change.go: replacing a server while it is called.

package host_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

const loadCallers = 32

var (
	loadCalls    = assert.Cases(100, 400)
	replacements = assert.Cases(4, 10)
)

// replaceUnderLoad applies the entries one after the other while the tool s__echo is
// called, and calls then after each. The tool is never missing, and no call fails.
func replaceUnderLoad(t *testing.T, h *host.Host, entry func(i int) string, then func(i int)) map[string]int {
	t.Helper()
	load := callLoad{callers: loadCallers, calls: loadCalls, tool: "s__echo", args: `{"text":""}`}
	return load.during(t, h, func() {
		for i := 1; i <= replacements; i++ {
			report := assert.Value(h.Apply(watchdog(t), parseEntries(t, "s", entry(i))))(t)
			assert.Equal(t, fmt.Sprint(report), "{[] [] [s] [] [] map[]}", "replacement %d", i)
			then(i)
		}
	})
}

func TestProcessesAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	entry := func(i int) string { return childEntry(t, "s", strconv.Itoa(i)) }
	h := newHost(t, &host.Options{StateDir: host.NoState}, parseEntries(t, "s", entry(0)))
	pids := []int{status(t, h, "s").State.PID}
	answers := replaceUnderLoad(t, h, entry, func(i int) {
		pid := status(t, h, "s").State.PID
		assert.False(t, pid == 0, "replacement")
		assert.False(t, slices.Contains(pids, pid), "replacement")
		// What begins after Apply is answered by what it started.
		assert.Equal(t, assert.Value(call(t, h, "s__echo", `{"text":"mine"}`))(t), fmt.Sprint("mine ", pid), "the call after replacement %d", i)
		pids = append(pids, pid)
	})
	for text := range answers {
		pid := assert.Value(strconv.Atoi(strings.TrimSpace(text)))(t)
		assert.True(t, slices.Contains(pids, pid), "%q is the answer of a process that Apply did not start", text)
	}
	last := pids[len(pids)-1]
	for _, pid := range pids[:len(pids)-1] {
		awaitExit(t, pid)
	}
	assert.True(t, alive(last), "the last process has ended, too")
}

func TestServersOverHTTPAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	handler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		return newEcho("s", r.Header.Get("X-Generation"))
	}, nil)
	var wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Generation") == "" {
			wrong.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	entry := func(i int) string {
		return fmt.Sprintf(`{"url": %q, "headers": {"X-Generation": "%d"}}`, server.URL, i)
	}
	h := newHost(t, &host.Options{StateDir: host.NoState}, parseEntries(t, "s", entry(0)))
	replaceUnderLoad(t, h, entry, func(i int) {
		assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), strconv.Itoa(i), "the next call")
	})
	assert.Equal(t, wrong.Load(), 0)
}

// The calls under way at a replacement, and at the next one, are finished by the
// server that has them; what comes later does not wait for them.
func TestCallsUnderWayStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan string, 100), make(chan struct{})
	slow := func(name string) func(context.Context, mcp.Transport) error {
		s := sdk.NewServer(&sdk.Implementation{Name: "s"}, schemas)
		addTool(s, "wait", func(ctx context.Context) (string, error) {
			entered <- name
			select {
			case <-leave:
				return name, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		return s.Run
	}
	pipes := &pipeServers{serve: serveFuncs{"a": slow("a"), "b": slow("b"), "c": slow("c")}}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "a"}`))
	const each = 20
	answers := make(chan string, 3*each)
	begin := func(on string) {
		for range each {
			go func() { answers <- on + " " + answerOf(call(t, h, "s__wait", "{}")) }()
		}
		for range each {
			assert.Equal(t, <-entered, on, "a call meant for")
		}
	}
	begin("a")
	for _, next := range []string{"b", "c"} {
		assert.Value(h.Apply(watchdog(t), parseEntries(t, "s", fmt.Sprintf(`{"command": %q}`, next))))(t)
		begin(next)
	}
	assert.Equal(t, pipes.living.Load(), 3, "servers live, of which each has calls to finish")
	close(leave)
	for range 3 * each {
		got := <-answers
		assert.Equal(t, got[:1], got[2:], "the server of a call, and the one that answered")
	}
	eventually(t, "the end of the old servers", func() bool { return pipes.living.Load() == 1 })
}

// A replacement that does not come up changes nothing for anybody, and is said so.
func TestFailedReplacementsUnderLoad(t *testing.T) {
	t.Parallel()
	bad := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{"tools/list": mcptest.Error(-32603, "no list today")})
	garbage := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{"tools/list": mcptest.Result(`{"tools": "many"}`)})
	silent := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{"tools/list": mcptest.Hang})
	hung := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Hang, "server/discover": mcptest.Hang})
	pipes := &pipeServers{serve: serveFuncs{
		"exits":   func(context.Context, mcp.Transport) error { return errors.New("no licence") },
		"bad":     bad.Serve,
		"garbage": garbage.Serve,
		"silent":  silent.Serve,
		"hung":    hung.Serve,
	}}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x", "args": ["good"]}`))
	before := h.Registry().Snapshot().Version()
	load := callLoad{callers: 8, calls: loadCalls / 4, tool: "s__echo"}
	answers := load.during(t, h, func() {
		for _, entry := range []string{
			`{"command": "exits"}`, `{"command": "bad"}`, `{"command": "garbage"}`,
			`{"command": "silent", "readTimeoutSeconds": 0.05}`,
			`{"command": "hung", "connectTimeoutSeconds": 0.05}`,
			`{"command": 5}`,
		} {
			report, err := h.Apply(watchdog(t), parseEntries(t, "s", entry))
			assert.Is(t, err, nil, "%s", entry)
			assert.Fails(t, report.Failed["s"], "%s", entry)
			assert.Equal(t, len(report.Replaced)+len(report.Started)+len(report.Stopped), 0, "%s", entry)
			assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "good", "%s: the old server", entry)
		}
	})
	assert.Equal(t, strings.Join(slices.Collect(maps.Keys(answers)), " "), "good", "answers")
	assert.Equal(t, h.Registry().Snapshot().Version(), before, "the catalogue went from version")
	eventually(t, "the end of what failed", func() bool { return pipes.living.Load() == 1 })
	report, err := h.Apply(watchdog(t), parseEntries(t, "s", `{"command": "x", "args": ["good"]}`))
	assert.OK(t, err, "the old entry again")
	assert.Equal(t, strings.Join(report.Kept, " "), "s", "the old entry again")
	report = assert.Value(h.Apply(watchdog(t), parseEntries(t, "s", `{"command": "x", "args": ["better"]}`)))(t)
	assert.Equal(t, strings.Join(report.Replaced, " "), "s", "a good entry")
}

// A process that fails as a replacement is gone when Apply has said so, or soon.
func TestFailedReplacementLeavesNoProcess(t *testing.T) {
	t.Parallel()
	mark := rand.Text()
	marked := func(mode string, more ...string) string {
		return strings.Replace(childEntry(t, mode, "1", more...), `"env": {`, fmt.Sprintf(`"env": {%q: %q, `, probeMark, mark), 1)
	}
	h := newHost(t, &host.Options{StateDir: host.NoState, Transport: killSoon("s")}, parseEntries(t, "s", marked("s")))
	old := status(t, h, "s").State.PID
	for _, entry := range []string{marked("exit"), marked("silent", `"connectTimeoutSeconds": 0.1`)} {
		assert.Fails(t, assert.Value(h.Apply(watchdog(t), parseEntries(t, "s", entry)))(t).Failed["s"])
		assert.Equal(t, status(t, h, "s").State.PID, old, "the old process")
		assert.True(t, alive(old), "the old process")
	}
	eventually(t, "the end of what failed", func() bool { return len(leftovers(t, mark)) == 1 })
}

// Where the lists differ the old tools go and the new ones come in one step.
func TestAnotherListComesInOneStep(t *testing.T) {
	t.Parallel()
	pipes := &pipeServers{serve: serveFuncs{
		"even": newToolServer("both", "even", "even2").Run, "odd": newToolServer("both", "odd").Run,
	}}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "even"}`))
	look := func(s *registry.Snapshot) error {
		var all []string
		for _, tool := range s.Tools() {
			all = append(all, tool.Definition().Name)
		}
		if got := strings.Join(all, " "); got != "s__both s__even s__even2" && got != "s__both s__odd" {
			return fmt.Errorf("version %d: %s", s.Version(), got)
		}
		return nil
	}
	load := callLoad{callers: 8, calls: loadCalls / 4, tool: "s__both", look: look}
	load.during(t, h, func() {
		for i := range replacements {
			before := h.Registry().Snapshot().Version()
			command := []string{"odd", "even"}[i%2]
			report, err := h.Apply(watchdog(t), parseEntries(t, "s", fmt.Sprintf(`{"command": %q}`, command)))
			assert.Is(t, err, nil)
			assert.Equal(t, strings.Join(report.Replaced, " "), "s")
			assert.Equal(t, h.Registry().Snapshot().Version(), before+1, "the replacement took")
		}
	})
}

// Two programs that apply at one time do not undo each other: in the end one of the
// two configurations runs, and the other leaves nothing behind.
func TestTwoAppliesAtOneTime(t *testing.T) {
	t.Parallel()
	pipes := &pipeServers{}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x", "args": ["0"]}`))
	done := make(chan error, 2)
	for _, which := range []string{"a", "b"} {
		var all []*config.Config
		for i := range 10 {
			all = append(all, parseEntries(t, "s", fmt.Sprintf(`{"command": "x", "args": ["%s%d"]}`, which, i), which, `{"command": "x"}`))
		}
		go func() {
			for _, c := range all {
				if _, err := h.Apply(watchdog(t), c); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		assert.OK(t, <-done)
	}
	servers := h.Servers()
	assert.Equal(t, len(servers), 2, "servers")
	which := servers[1].Name
	assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), which+"9", "of the configuration")
	if got := names(h); got != "s__echo" && got != which+"__echo s__echo" {
		t.Errorf("tools: %s", got)
	}
	eventually(t, "the end of the others", func() bool { return pipes.living.Load() == 2 })
}

// A call that a replaced server has refused because it ends has to be made by its
// successor: the name of a tool is what counts, not when it was looked up.
func TestSnapshotsOfEarlierOutlastTheirServer(t *testing.T) {
	pipes := &pipeServers{}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x", "args": ["0"]}`))
	tool, ok := h.Registry().Snapshot().Lookup("s__echo")
	assert.True(t, ok, "no tool")
	assert.Value(h.Apply(watchdog(t), parseEntries(t, "s", `{"command": "x", "args": ["1"]}`)))(t)
	eventually(t, "the end of the old server", func() bool { return pipes.living.Load() == 1 })
	text, err := textOf(tool.Call(watchdog(t), json.RawMessage("{}")))
	assert.True(t, err == nil && text == "1" || mcp.OutcomeOf(err) == mcp.NotSent, "a tool of before: %q, %v", text, err)
}

// probeMark is the variable by which the processes of one test are found, those that
// left their group too.
const probeMark = "HOST_TEST_PROBE"

// leftovers returns the processes that hold a mark in their environment.
func leftovers(t *testing.T, mark string) []string {
	t.Helper()
	needProc(t)
	all := assert.Value(filepath.Glob("/proc/[0-9]*/environ"))(t)
	var found []string
	for _, path := range all {
		env, _ := os.ReadFile(path) // others' cannot be read
		if bytes.Contains(env, []byte(probeMark+"="+mark)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, fmt.Sprintf("%s %q", path, line))
		}
	}
	return found
}

// forgeHash alters a file and the SHA-256 that it begins with, as a person would who
// can write it.
func forgeHash(name string, data []byte, from, to string) error {
	_, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		body = data
	}
	return writeHashed(name, string(bytes.ReplaceAll(body, []byte(from), []byte(to))))
}

// writeHashed writes a file with any content under its true SHA-256.
func writeHashed(name, body string) error {
	sum := sha256.Sum256([]byte(body))
	return os.WriteFile(name, []byte(hex.EncodeToString(sum[:])+"\n"+body), 0o600)
}

// A failingServers lends a pipes's transports until they are out of order.
type failingServers struct {
	pipeServers
	broken atomic.Bool // no transport is made
	down   atomic.Bool // no connection is made
	slow   atomic.Bool // a connection takes two minutes
}

var errOutOfOrder = errors.New("out of order")

func (pipes *failingServers) options() *host.Options {
	return &host.Options{StateDir: host.NoState, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		if pipes.broken.Load() {
			return nil, errOutOfOrder
		}
		t, err := pipes.transport(key, e)
		return &failingTransport{pipes, t}, err
	}}
}

type failingTransport struct {
	pipes *failingServers
	inner mcp.Transport
}

func (t *failingTransport) Connect(ctx context.Context) (mcp.Conn, error) {
	if t.pipes.down.Load() {
		return nil, errOutOfOrder
	}
	if t.pipes.slow.Load() {
		select {
		case <-time.After(2 * time.Minute):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return t.inner.Connect(ctx)
}

// TestToolsOutlastAFailedPredecessor: a server is lost, then its changed entry does not
// work either, then it is started after all. What was to become of the lost one's tools
// is no matter of the one that runs; where it fails again they are not handed down for ever.
func TestToolsOutlastAFailedPredecessor(t *testing.T) {
	for name, start := range map[string]func(context.Context, *host.Host) error{
		"Enable":  func(ctx context.Context, h *host.Host) error { return h.Enable(ctx, "s") },
		"Restart": func(ctx context.Context, h *host.Host) error { return h.Restart(ctx, "s") },
		"Apply": func(ctx context.Context, h *host.Host) error {
			return assert.Err(h.Apply(ctx, parseEntries(t, "s", `{"command": "x", "args": ["3"]}`)))
		},
		"Disable":        func(ctx context.Context, h *host.Host) error { return h.Disable(ctx, "s") },
		"Enable in vain": func(ctx context.Context, h *host.Host) error { return h.Enable(ctx, "s") },
		"Apply of a disabled one": func(ctx context.Context, h *host.Host) error {
			return assert.Err(h.Apply(ctx, parseEntries(t, "s", `{"command": "x", "args": ["3"], "enabled": false}`)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes := &failingServers{}
				h := host.New(pipes.options())
				defer func() { _ = h.Close() }()
				assert.Value(h.Apply(t.Context(), parseEntries(t, "s", `{"command": "x", "args": ["1"]}`)))(t)
				pipes.down.Store(true)
				_ = h.Restart(t.Context(), "s")
				pipes.broken.Store(true)
				report := assert.Value(h.Apply(t.Context(), parseEntries(t, "s", `{"command": "x", "args": ["2"]}`)))(t)
				assert.Is(t, report.Failed["s"], errOutOfOrder, "Apply")
				assert.Equal(t, names(h), "s__echo", "tools")
				pipes.broken.Store(name == "Enable in vain")
				pipes.down.Store(false)
				err := start(t.Context(), h)
				assert.Equal(t, errors.Is(err, errOutOfOrder), pipes.broken.Load(), "%v", err)
				want := map[bool]string{true: "s__echo"}
				assert.Equal(t, names(h), want[status(t, h, "s").Enabled], "tools")
				hosttest.Sleep(2 * time.Minute)
				assert.Equal(t, names(h), want[status(t, h, "s").Enabled && err == nil], "tools after two minutes")
			})
		})
	}
}

// TestRestartOfALazyServerIsNotIdle: a lazy server that takes longer to connect than it
// may be idle is not stopped while it is restarted.
func TestRestartOfALazyServerIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{serve: serveFuncs{
			"x": func(ctx context.Context, tr mcp.Transport) error {
				select {
				case <-time.After(8 * time.Second):
					return newToolServer("echo").Run(ctx, tr)
				case <-ctx.Done():
					return nil
				}
			},
		}}
		h := host.New((&host.Options{Transport: pipes.transport, StateDir: host.NoState}).Times(3*time.Second, 0))
		assert.Value(h.Apply(t.Context(), parseEntries(t, "s", `{"command": "x", "lazy": true}`)))(t)
		time.Sleep(time.Minute)
		assert.Value(h.Registry().Call(t.Context(), "s__echo", nil))(t)
		assert.OK(t, h.Restart(t.Context(), "s"))
		assert.OK(t, h.Close())
	})
}
