// Kit of the tests of package doctor: servers that come only so far, and tests of entries.

package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

const serverMode = hosttest.ServerMode

var (
	call       = hosttest.Call
	child      = hosttest.Child
	eventually = hosttest.Eventually
	inProcess  = hosttest.InProcess
	kill       = hosttest.Kill
	killSoon   = hosttest.KillSoon
	newServer  = hosttest.NewServer
	open       = hosttest.Open
	status     = hosttest.Status
	until      = hosttest.Until
	watchdog   = hosttest.Watchdog
	write      = hosttest.Write
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(serveProbed); end != nil {
		// The DELETE that ends a session of the SDK's server is given up on a busy machine.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"), goleak.Cleanup(end))
	}
}

// probeMark is the variable by which the processes of one test are found, those that
// left their group too; probeReached the file that a server makes when it has come as
// far as it goes.
const (
	probeMark    = "DOCTOR_TEST_PROBE"
	probeReached = "DOCTOR_TEST_REACHED"
)

// serveProbed is a server that comes only so far, with a family. It reports whether
// the mode is one of its own.
func serveProbed(mode string) bool {
	stage, ok := strings.CutPrefix(mode, "until ")
	if !ok {
		return false
	}
	for range 2 {
		if err := exec.Command("sleep", "600").Start(); err != nil {
			panic(err)
		}
	}
	stop := func() {
		if err := os.WriteFile(os.Getenv(probeReached), nil, 0o600); err != nil {
			panic(err)
		}
		select {}
	}
	if stage == "spawned" {
		stop()
	}
	s := newServer(mode)
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "initialize" && stage == "connected" || method == "tools/list" && stage == "initialized" {
				stop()
			}
			if method == "server/discover" {
				return nil, &sdkMethodNotFound
			}
			return next(ctx, method, req)
		}
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
	return true
}

// probed returns the entry of a config with one server, and the mark of its processes.
func probed(t *testing.T, entry string) *config.Server {
	t.Helper()
	c := assert.Value(config.Parse(t.Context(), filepath.Join(t.TempDir(), "mcp.json"), []byte(`{"mcpServers":{"s":`+entry+`}}`), nil))(t)
	return c.Servers[0]
}

// scripted is the entry of a server that follows a script, see transporttest.Child.
func scripted(t *testing.T, mark string, steps ...string) *config.Server {
	t.Helper()
	child := transporttest.Child(steps...)
	env := map[string]string{probeMark: mark}
	for _, v := range child.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	text := assert.Value(json.Marshal(map[string]any{"command": child.Path, "env": env}))(t)
	e := probed(t, string(text))
	e.Args = child.Args // which hold $ID
	return e
}

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

// hintsOf returns the codes of hints, joined by blanks.
func hintsOf(r *doctor.TestReport) string {
	var codes []string
	for _, h := range r.Hints {
		codes = append(codes, h.Code)
	}
	return strings.Join(codes, " ")
}

// stagesOf returns the stages that were reached, joined by blanks.
func stagesOf(r *doctor.TestReport) string {
	return strings.Join(r.Stages, " ")
}

// tested tests an entry by a host that has nothing else to do.
func tested(t *testing.T, h *host.Host, e *config.Server) *doctor.TestReport {
	t.Helper()
	return assert.Value(doctor.Test(watchdog(t), h, e))(t)
}

// newHost returns a host without servers.
func newHost(t *testing.T, opts *host.Options) *host.Host {
	t.Helper()
	if opts == nil {
		opts = &host.Options{}
	}
	if opts.StateDir == "" {
		opts.StateDir = t.TempDir()
	}
	h := host.New(hosttest.Patient(opts))
	t.Cleanup(func() { assert.OK(t, h.Close(), "Close") })
	return h
}

// cancelWhen cancels a context when there is a file at path.
func cancelWhen(t *testing.T, path string, cancel func()) {
	defer cancel()
	eventually(t, "the file "+path, func() bool { return hosttest.ErrorOf(os.Stat(path)) == nil })
}

// site is an MCP server over streamable HTTP.
func site(s *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}
