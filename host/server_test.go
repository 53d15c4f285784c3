// Tests of server.go: processes that die, and what becomes of their tools.

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

func TestKilledServerServesTheNextCall(t *testing.T) {
	t.Parallel()
	h := open(t, write(t, "s", child(t, "s")), nil)
	first := assert.Value(call(t, h, "s__echo", `{"text":"a"}`))(t)
	pid := status(t, h, "s").State.PID
	kill(t, pid)
	second := assert.Value(call(t, h, "s__echo", `{"text":"b"}`))(t)
	assert.False(t, first == second, "the same answer")
	assert.Lacks(t, second, fmt.Sprint(pid), "an answer of a new process")
}

func TestToolsFollowTheServer(t *testing.T) {
	t.Parallel()
	s := newServer("s")
	h := open(t, write(t, "s", `{"command": "x"}`), inProcess(s))
	s.AddTool(&sdk.Tool{Name: "late", InputSchema: map[string]any{"type": "object"}}, nil)
	until(t, h, "s", "listed with two tools", func(s host.Status) bool { return s.Tools == 2 })
	assert.Equal(t, names(h), "s__echo s__late", "tools")
	s.RemoveTools("echo")
	until(t, h, "s", "listed with one tool", func(s host.Status) bool { return s.Tools == 1 })
	assert.Equal(t, names(h), "s__late", "tools")
}

func TestToolsOfALostServerVanishAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{}
		h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x"}`))
		assert.Equal(t, names(h), "s__echo", "tools")
		pipes.down.Store(true)
		pipes.hangUp()
		time.Sleep(time.Minute - time.Second)
		s := status(t, h, "s")
		assert.False(t, s.State.Phase == mcp.Ready, "ready after the loss")
		assert.Contains(t, fmt.Sprint(s.Err), "maintenance", "after the loss")
		assert.Equal(t, names(h), "s__echo", "tools within the time of grace")
		time.Sleep(2 * time.Second)
		assert.Equal(t, names(h), "", "tools after it")
		pipes.down.Store(false)
		time.Sleep(2 * time.Minute)
		assert.Equal(t, names(h), "s__echo", "tools when the server was back")
		_ = h.Close()
	})
}

func TestDisableEnableRestart(t *testing.T) {
	t.Parallel()
	h := open(t, write(t, "a", child(t, "a"), "b", child(t, "b")), nil)
	ctx := watchdog(t)
	pid := status(t, h, "a").State.PID
	assert.OK(t, h.Disable(ctx, "a"))
	s := status(t, h, "a")
	assert.False(t, s.Enabled, "disabled")
	assert.Equal(t, s.Tools, 0, "disabled")
	assert.Equal(t, names(h), "b__echo", "disabled")
	assert.False(t, alive(pid), "the process of a disabled server lives")
	assert.Fails(t, assert.Err(h.Client(t.Context(), session.Key{Server: "a"})), "a disabled server has a client")
	assert.OK(t, h.Enable(ctx, "a"))
	assert.OK(t, h.Enable(ctx, "a"), "enabling twice")
	before := assert.Value(call(t, h, "a__echo", `{"text":""}`))(t)
	assert.OK(t, h.Restart(ctx, "a"))
	assert.False(t, before == assert.Value(call(t, h, "a__echo", `{"text":""}`))(t), "restart")

	assert.As[*host.UnknownServerError](t, h.Restart(ctx, "c"), "unknown server")
}

func TestEnableReportsTheFailure(t *testing.T) {
	t.Parallel()
	h := open(t, write(t, "exit", child(t, "exit", `"enabled": false`)), nil)

	assert.Fails(t, h.Enable(watchdog(t), "exit"))
	assert.True(t, status(t, h, "exit").Enabled, "an enabled server that fails is not tried again")
}

func TestCloseLeavesNothing(t *testing.T) {
	// The garbage collector closes forgotten files, and would hide them here.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	first := open(t, write(t, "s", child(t, "s")), nil) // opens what the runtime keeps
	assert.OK(t, first.Close())
	fds := countFDs(t)
	path := write(t, "family", child(t, "family"))
	h := open(t, path, nil)
	server := status(t, h, "family").State.PID
	grandchild := readPID(t, path)
	assert.True(t, alive(server), "the family does not live")
	assert.True(t, alive(grandchild), "the family does not live")
	assert.OK(t, h.Close())
	assert.False(t, alive(server), "a process is left")
	assert.False(t, alive(grandchild), "a process is left")
	assert.Equal(t, countFDs(t), fds)
	assert.Equal(t, names(h), "", "tools")
	assert.OK(t, h.Close(), "second Close")
	assert.Is(t, h.Enable(watchdog(t), "family"), host.ErrClosed, "Enable after Close")
}

func TestGrandchildrenDieWithTheirServer(t *testing.T) {
	t.Parallel()
	path := write(t, "family", child(t, "family"))
	h := open(t, path, &host.Options{Transport: killSoon("family")})
	grandchild := readPID(t, path)
	kill(t, status(t, h, "family").State.PID)
	until(t, h, "family", "connected again", func(s host.Status) bool { return s.State.Connections == 2 })
	awaitExit(t, grandchild)
}

func TestCloseWhileOpening(t *testing.T) {
	t.Parallel()
	h := host.New(patient(&host.Options{Transport: killSoon("silent")}))
	c := assert.Value(config.Load(t.Context(), write(t, "silent", child(t, "silent")), nil))(t)
	applied := background(func() error { return assert.Err(h.Apply(watchdog(t), c)) })
	for servers := range h.Watch(watchdog(t)) {
		if len(servers) == 1 && servers[0].State.Phase == mcp.Connecting {
			break
		}
	}
	assert.OK(t, h.Close())
	if err := <-applied; err != nil && !errors.Is(err, host.ErrClosed) {
		t.Errorf("Apply: %v", err)
	}
}

// readPID reads the process id that the family server of a config file wrote.
// What becomes of that process can be seen in /proc only.
func readPID(t *testing.T, path string) int {
	t.Helper()
	needProc(t)
	c := assert.Value(config.Load(t.Context(), path, nil))(t)
	return assert.Value(strconv.Atoi(string(assert.Value(os.ReadFile(c.Servers[0].Env["PID_FILE"].Reveal()))(t))))(t)
}

// alive reports whether a process runs. One that ended but was not reaped, as
// happens to orphans where nobody reaps them, does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}

// A server that adds a tool and changes another does so for itself only, until
// a person approves; and what another entry leads to is another server.
func TestLedgerHoldsBackWhatChanges(t *testing.T) {
	t.Parallel()
	accepted := ledger.New(nil)
	s := newServer("s")
	opts := inProcess(s)
	opts.Registry = registry.New(&registry.Options{Ledger: accepted})
	path := write(t, "s", `{"command": "x"}`)
	h := open(t, path, opts)
	s.AddTool(&sdk.Tool{Name: "late", InputSchema: map[string]any{"type": "object"}}, nil)
	until(t, h, "s", "holding one tool back", func(s host.Status) bool { return s.Tools == 1 && s.Quarantined == 1 })
	assert.OK(t, accepted.Accept(t.Context(), "ann", accepted.Pending("s")...))
	now := status(t, h, "s")
	assert.Equal(t, now.Tools, 2, "after the approval")
	assert.Equal(t, now.Quarantined, 0, "after the approval")

	c := assert.Value(config.Parse(t.Context(), path, []byte(`{"mcpServers":{"s":{"command":"y"}}}`), nil))(t)
	assert.Value(h.Apply(t.Context(), c))(t)
	until(t, h, "s", "held back as another server", func(s host.Status) bool { return s.Tools == 0 && s.Quarantined == 2 })
	assert.As[*registry.QuarantinedError](t, assert.Err(call(t, h, "s__echo", `{"text":"a"}`)), "a call of the other server's tool")
}

// What the configuration says of a server's trust reaches who decides its calls.
func TestTrustReachesTheApprover(t *testing.T) {
	var mu sync.Mutex
	trusted := map[string]bool{}
	opts := inProcess(newServer("x"))
	opts.Registry = registry.New(&registry.Options{Approver: registry.ApproverFunc(
		func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			mu.Lock()
			defer mu.Unlock()
			trusted[req.Tool.Origin.Server] = req.Trusted
			return approval.Decision{Verdict: approval.Allow}, nil
		})})
	h := open(t, write(t, "a", `{"command": "x", "trust": true}`, "b", `{"command": "x"}`), opts)
	for _, tool := range []string{"a__echo", "b__echo"} {
		assert.Value(call(t, h, tool, `{"text":"a"}`))(t)
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, fmt.Sprint(trusted), "map[a:true b:false]", "trusted")
}
