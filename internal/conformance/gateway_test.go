//go:build conformance && unix

package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// everythingServer is the official SDK's server for this suite.
const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// explained are the checks that may end otherwise through a gateway than they do with the
// server itself, as scenario/check, and why.
var explained = map[string]string{
	"server-sse-polling/incoming-sse-event": "the server ends the stream of the answer and keeps no events, so that its answer is lost: the gateway says so with an error, where the server's own client hears nothing",
}

// TestGateway runs what each revision requires of a server, with the official SDK's server and with the
// same server through the gateway. What the server passes itself it has to pass through the gateway, and
// nothing may fail there that does not fail here.
func TestGateway(t *testing.T) {
	st := newSuite(t)
	program := build(t, t.TempDir(), everythingServer)
	var mu sync.Mutex
	used := map[string]bool{}
	t.Run("revision", func(t *testing.T) { // returns when all are over
		for revision, stateless := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
			t.Run(revision, func(t *testing.T) {
				t.Parallel()
				flag := fmt.Sprintf("-stateless=%t", stateless)
				var direct, through *result
				// Each has a server of its own: some scenarios change its lists.
				url := startServer(t, program, flag)
				behind := startGateway(t, startServer(t, program, flag), revision)
				var runs sync.WaitGroup
				runs.Go(func() { direct = st.runServer(t, url, "--requirements", revision) })
				runs.Go(func() { through = st.runServer(t, behind, "--requirements", revision) })
				runs.Wait()
				for kind, r := range map[string]*result{"directly": direct, "through the gateway": through} {
					if r.err != nil {
						t.Errorf("%s, the suite ended with: %v\n%s", kind, r.err, r.output)
					}
				}
				names := direct.names(t)
				if got := through.names(t); !slices.Equal(got, names) {
					t.Fatalf("got scenarios %q through the gateway, want %q", got, names)
				}
				passed := 0
				for _, name := range names {
					before, after := direct.checks(t, name), through.checks(t, name)
					n, _ := before.count()
					passed += n
					for _, id := range worse(before, after) {
						key := strings.TrimPrefix(name, "server-") + "/" + id
						if explained[key] == "" {
							t.Errorf("%s: got %v through the gateway, want %v", key, after.of(id), before.of(id))
							continue
						}
						mu.Lock()
						used[key] = true
						mu.Unlock()
					}
				}
				if passed < len(names) {
					t.Errorf("the server passes %d checks of %d scenarios, want more", passed, len(names))
				}
				t.Logf("%d scenarios, %d checks passed by the server and through the gateway", len(names), passed)
			})
		}
	})
	for key := range explained {
		if !used[key] {
			t.Errorf("the difference %s is explained and does not exist", key)
		}
	}
}

// worse returns the ids of the checks that succeed less often in after than in before, or fail
// more often.
func worse(before, after checkList) []string {
	ids := map[string]bool{}
	for _, c := range slices.Concat(before, after) {
		ids[c.ID] = true
	}
	var bad []string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		passed, judged := before.with(id).count()
		passedAfter, judgedAfter := after.with(id).count()
		if passedAfter < passed || judgedAfter-passedAfter > judged-passed {
			bad = append(bad, id)
		}
	}
	return bad
}

// with returns the checks of an id.
func (l checkList) with(id string) checkList {
	return slices.DeleteFunc(slices.Clone(l), func(c check) bool { return c.ID != id })
}

// of says how the checks of an id ended.
func (l checkList) of(id string) []string {
	var all []string
	for _, c := range l.with(id) {
		all = append(all, c.Status+" "+c.ErrorMessage)
	}
	return all
}

// startServer starts the everything server, and returns its URL when it accepts connections.
func startServer(t *testing.T, program, flag string) string {
	t.Helper()
	l := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "-http", addr, flag)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // killed
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "http://" + addr
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("waited in vain for %s to listen", program)
		case <-tick.C:
		}
	}
}

// startGateway starts a gateway to the server at a URL, and returns the URL of its view of that server.
func startGateway(t *testing.T, url, revision string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "mcp.json")
	data := assert.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{"everything": map[string]string{"type": "http", "url": url}}}))(t)
	assert.OK(t, os.WriteFile(config, data, 0o600))
	o := &host.Options{StateDir: host.NoState, OpenWait: -1}
	gateway.Prepare(o)
	h := assert.Value(host.Open(t.Context(), config, o))(t)
	t.Cleanup(func() { h.Close() })
	for _, s := range h.Servers() {
		if s.Err != nil {
			t.Fatalf("the server is not ready: %v", s.Err)
		}
		if got := s.State.ProtocolVersion; got != revision {
			t.Fatalf("got revision %s of the server, want %s", got, revision)
		}
	}
	g := assert.Value(gateway.New(h, &gateway.Options{Anonymous: true}))(t)
	t.Cleanup(func() { g.Close() })
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	return front.URL + "/s/everything/mcp"
}
