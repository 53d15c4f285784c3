package host_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
)

const (
	acceptCallers      = 32
	acceptCalls        = 400
	acceptReplacements = 10
)

// acceptReplacing applies the entries one after the other while the tool s__echo is
// called, and calls then after each. The tool is never missing, and no call fails.
func acceptReplacing(t *testing.T, h *host.Host, entry func(i int) string, then func(i int)) map[string]int {
	t.Helper()
	load := acceptLoad{callers: acceptCallers, calls: acceptCalls, tool: "s__echo", args: `{"text":""}`}
	return load.during(t, h, func() {
		for i := 1; i <= acceptReplacements; i++ {
			report, err := h.Apply(watchdog(t), acceptParse(t, "s", entry(i)))
			if err != nil || !slices.Equal(report.Replaced, []string{"s"}) || len(report.Failed) > 0 {
				t.Errorf("replacement %d: %+v, %v", i, report, err)
				return
			}
			then(i)
		}
	})
}

func TestAcceptProcessesAreReplacedUnderLoad(t *testing.T) {
	entry := func(i int) string { return acceptChild(t, "s", strconv.Itoa(i)) }
	h := acceptNew(t, &host.Options{StateDir: host.NoState}, acceptParse(t, "s", entry(0)))
	pids := []int{status(t, h, "s").State.PID}
	answers := acceptReplacing(t, h, entry, func(i int) {
		pid := status(t, h, "s").State.PID
		if pid == 0 || slices.Contains(pids, pid) {
			t.Errorf("replacement %d: process %d after %v", i, pid, pids)
		}
		// What begins after Apply is answered by what it started.
		if text, err := call(t, h, "s__echo", `{"text":"mine"}`); err != nil || text != fmt.Sprint("mine ", pid) {
			t.Errorf("replacement %d: the next call: %q, %v; process %d", i, text, err, pid)
		}
		pids = append(pids, pid)
	})
	for text := range answers {
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || !slices.Contains(pids, pid) {
			t.Errorf("%q is the answer of a process that Apply did not start", text)
		}
	}
	last := pids[len(pids)-1]
	for _, pid := range pids[:len(pids)-1] {
		acceptGone(t, pid)
	}
	if !alive(last) {
		t.Error("the last process has ended, too")
	}
}

func TestAcceptServersInThisProcessAreReplacedUnderLoad(t *testing.T) {
	town := &acceptTown{}
	entry := func(i int) string { return fmt.Sprintf(`{"command": "x", "args": ["%d"]}`, i) }
	h := acceptNew(t, town.options(), acceptParse(t, "s", entry(0)))
	acceptReplacing(t, h, entry, func(i int) {
		if text, err := call(t, h, "s__echo", "{}"); err != nil || text != strconv.Itoa(i) {
			t.Errorf("replacement %d: the next call: %q, %v", i, text, err)
		}
	})
	acceptEventually(t, "the end of the old servers", func() bool { return town.living.Load() == 1 })
	if n := town.started.Load(); n != acceptReplacements+1 {
		t.Errorf("%d connections were made for %d servers", n, acceptReplacements+1)
	}
}

func TestAcceptServersOverHTTPAreReplacedUnderLoad(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		return acceptEcho("s", r.Header.Get("X-Generation"))
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
	h := acceptNew(t, &host.Options{StateDir: host.NoState}, acceptParse(t, "s", entry(0)))
	acceptReplacing(t, h, entry, func(i int) {
		if text, err := call(t, h, "s__echo", "{}"); err != nil || text != strconv.Itoa(i) {
			t.Errorf("replacement %d: the next call: %q, %v", i, text, err)
		}
	})
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d requests came without the header of the entry", n)
	}
}

// The calls under way at a replacement, and at the next one, are finished by the
// server that has them; what comes later does not wait for them.
func TestAcceptCallsUnderWayStayWhereTheyAre(t *testing.T) {
	entered, leave := make(chan string, 100), make(chan struct{})
	slow := func(name string) func(context.Context, mcp.Transport) error {
		s := sdk.NewServer(&sdk.Implementation{Name: "s"}, sameSchemas)
		sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			entered <- name
			select {
			case <-leave:
				return acceptText(name), nil, nil
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		})
		sdk.AddTool(s, &sdk.Tool{Name: "now"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return acceptText(name), nil, nil
		})
		return s.Run
	}
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{"a": slow("a"), "b": slow("b"), "c": slow("c")}}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "a"}`))
	const each = 20
	answers := make(chan string, 3*each)
	begin := func(on string) {
		for range each {
			go func() {
				text, err := acceptAnswer(h.Registry().Call(watchdog(t), "s__wait", nil))
				if err != nil {
					text = err.Error()
				}
				answers <- on + " " + text
			}()
		}
		for range each {
			if got := <-entered; got != on {
				t.Errorf("a call meant for %s came to %s", on, got)
			}
		}
	}
	begin("a")
	for _, next := range []string{"b", "c"} {
		assert.Value(h.Apply(watchdog(t), acceptParse(t, "s", fmt.Sprintf(`{"command": %q}`, next))))(t)
		if text, err := call(t, h, "s__now", "{}"); err != nil || text != next {
			t.Errorf("while the others wait: %q, %v", text, err)
		}
		begin(next)
	}
	assert.Equal(t, town.living.Load(), 3, "servers live, of which each has calls to finish")
	close(leave)
	for range 3 * each {
		if got := <-answers; got != "a a" && got != "b b" && got != "c c" {
			t.Errorf("a call: %s", got)
		}
	}
	acceptEventually(t, "the end of the old servers", func() bool { return town.living.Load() == 1 })
}

// A replacement that does not come up changes nothing for anybody, and is said so.
func TestAcceptFailedReplacementsUnderLoad(t *testing.T) {
	bad := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{"tools/list": mcptest.Error(-32603, "no list today")})
	garbage := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{"tools/list": mcptest.Result(`{"tools": "many"}`)})
	mute := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{"tools/list": mcptest.Hang})
	deaf := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Hang, "server/discover": mcptest.Hang})
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
		"exits":   func(context.Context, mcp.Transport) error { return errors.New("no licence") },
		"bad":     bad.Serve,
		"garbage": garbage.Serve,
		"mute":    mute.Serve,
		"deaf":    deaf.Serve,
	}}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "x", "args": ["good"]}`))
	before := h.Registry().Snapshot().Version()
	load := acceptLoad{callers: 8, calls: 100, tool: "s__echo"}
	answers := load.during(t, h, func() {
		for _, entry := range []string{
			`{"command": "exits"}`, `{"command": "bad"}`, `{"command": "garbage"}`,
			`{"command": "mute", "readTimeoutSeconds": 0.3}`,
			`{"command": "deaf", "connectTimeoutSeconds": 0.3}`,
			`{"command": 5}`,
		} {
			report, err := h.Apply(watchdog(t), acceptParse(t, "s", entry))
			if err != nil || report.Failed["s"] == nil || len(report.Replaced)+len(report.Started)+len(report.Stopped) > 0 {
				t.Errorf("%s: %+v, %v", entry, report, err)
			}
			if text, err := call(t, h, "s__echo", "{}"); err != nil || text != "good" {
				t.Errorf("%s: the old server: %q, %v", entry, text, err)
			}
		}
	})
	if len(answers) != 1 || answers["good"] == 0 {
		t.Errorf("answers: %v", answers)
	}
	if after := h.Registry().Snapshot().Version(); after != before {
		t.Errorf("the catalogue went from version %d to %d", before, after)
	}
	acceptEventually(t, "the end of what failed", func() bool { return town.living.Load() == 1 })
	report, err := h.Apply(watchdog(t), acceptParse(t, "s", `{"command": "x", "args": ["good"]}`))
	if err != nil || !slices.Equal(report.Kept, []string{"s"}) {
		t.Errorf("the old entry again: %+v, %v", report, err)
	}
	report, err = h.Apply(watchdog(t), acceptParse(t, "s", `{"command": "x", "args": ["better"]}`))
	if err != nil || !slices.Equal(report.Replaced, []string{"s"}) {
		t.Errorf("a good entry: %+v, %v", report, err)
	}
}

// A process that fails as a replacement is gone when Apply has said so, or soon.
func TestAcceptFailedReplacementLeavesNoProcess(t *testing.T) {
	t.Parallel()
	mark := rand.Text()
	marked := func(mode string, more ...string) string {
		return strings.Replace(acceptChild(t, mode, "1", more...), `"env": {`, fmt.Sprintf(`"env": {%q: %q, `, probeMark, mark), 1)
	}
	h := acceptNew(t, &host.Options{StateDir: host.NoState}, acceptParse(t, "s", marked("s")))
	old := status(t, h, "s").State.PID
	for _, entry := range []string{marked("exit"), marked("silent", `"connectTimeoutSeconds": 0.5`)} {
		report, err := h.Apply(watchdog(t), acceptParse(t, "s", entry))
		if err != nil || report.Failed["s"] == nil {
			t.Fatalf("%+v, %v", report, err)
		}
		if now := status(t, h, "s").State.PID; now != old || !alive(old) {
			t.Errorf("the old process was %d, now it is %d", old, now)
		}
	}
	acceptEventually(t, "the end of what failed", func() bool { return len(leftovers(t, mark)) == 1 })
}

// Where the lists differ the old tools go and the new ones come in one step.
func TestAcceptAnotherListComesInOneStep(t *testing.T) {
	house := func(tools ...string) func(context.Context, mcp.Transport) error {
		return func(ctx context.Context, t mcp.Transport) error {
			s := sdk.NewServer(&sdk.Implementation{Name: "s"}, sameSchemas)
			for _, name := range tools {
				sdk.AddTool(s, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
					return acceptText(name), nil, nil
				})
			}
			return s.Run(ctx, t)
		}
	}
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{
		"even": house("both", "even", "even2"), "odd": house("both", "odd"),
	}}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "even"}`))
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
	load := acceptLoad{callers: 8, calls: 100, tool: "s__both", look: look}
	load.during(t, h, func() {
		for i := range acceptReplacements {
			before := h.Registry().Snapshot().Version()
			command := []string{"odd", "even"}[i%2]
			report, err := h.Apply(watchdog(t), acceptParse(t, "s", fmt.Sprintf(`{"command": %q}`, command)))
			if err != nil || !slices.Equal(report.Replaced, []string{"s"}) {
				t.Errorf("%+v, %v", report, err)
			}
			if after := h.Registry().Snapshot().Version(); after != before+1 {
				t.Errorf("the replacement took %d versions of the catalogue, want 1", after-before)
			}
		}
	})
}

// The names that an entry gives its tools are those of its own server from the
// moment on at which it serves.
func TestAcceptRenamedToolsOfProcesses(t *testing.T) {
	entry := func(name string) string {
		return acceptChild(t, "s", name, fmt.Sprintf(`"tools": {"rename": {"echo": %q}}`, name))
	}
	h := acceptNew(t, &host.Options{StateDir: host.NoState}, acceptParse(t, "s", entry("a")))
	look := func(s *registry.Snapshot) error {
		if len(s.Tools()) != 1 {
			return fmt.Errorf("%d tools", len(s.Tools()))
		}
		return nil
	}
	for _, name := range []string{"b", "c"} {
		load := acceptLoad{tool: "", look: look}
		load.during(t, h, func() {
			if _, err := h.Apply(watchdog(t), acceptParse(t, "s", entry(name))); err != nil {
				t.Error(err)
			}
		})
		assert.Equal(t, names(h), "s__"+name, "tools")
	}
}

// Two programs that apply at one time do not undo each other: in the end one of the
// two configurations runs, and the other leaves nothing behind.
func TestAcceptTwoAppliesAtOneTime(t *testing.T) {
	town := &acceptTown{}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "x", "args": ["0"]}`))
	done := make(chan error, 2)
	for _, which := range []string{"a", "b"} {
		var all []*config.Config
		for i := range 10 {
			all = append(all, acceptParse(t, "s", fmt.Sprintf(`{"command": "x", "args": ["%s%d"]}`, which, i), which, `{"command": "x"}`))
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
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	servers := h.Servers()
	if len(servers) != 2 {
		t.Fatalf("servers: %+v", servers)
	}
	which := servers[1].Name
	if text, err := call(t, h, "s__echo", "{}"); err != nil || text != which+"9" {
		t.Errorf("of the configuration of %s: %q, %v", which, text, err)
	}
	if got := names(h); got != "s__echo" && got != which+"__echo s__echo" {
		t.Errorf("tools: %s", got)
	}
	acceptEventually(t, "the end of the others", func() bool { return town.living.Load() == 2 })
}

// A call that a replaced server has refused because it ends has to be made by its
// successor: the name of a tool is what counts, not when it was looked up.
func TestAcceptSnapshotsOfEarlierOutlastTheirServer(t *testing.T) {
	town := &acceptTown{}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "x", "args": ["0"]}`))
	tool, ok := h.Registry().Snapshot().Lookup("s__echo")
	if !ok {
		t.Fatal("no tool")
	}
	assert.Value(h.Apply(watchdog(t), acceptParse(t, "s", `{"command": "x", "args": ["1"]}`)))(t)
	acceptEventually(t, "the end of the old server", func() bool { return town.living.Load() == 1 })
	text, err := acceptAnswer(tool.Call(watchdog(t), json.RawMessage("{}")))
	if err == nil && text != "1" {
		t.Errorf("a tool of before answers %q", text)
	}
	if err != nil && mcp.OutcomeOf(err) != mcp.NotSent {
		t.Errorf("a tool of before fails with outcome %v: %v", mcp.OutcomeOf(err), err)
	}
}

// probeMark is the variable by which the processes of one test are found, those that
// left their group too.
const probeMark = "HOST_TEST_PROBE"

// leftovers returns the processes that hold a mark in their environment.
func leftovers(t *testing.T, mark string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
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
