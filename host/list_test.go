// Tests of list.go, listing.go and status.go: lists that fail, change or cannot be read.

package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// scriptedHost returns options with which all servers follow a script.
func scriptedHost(t *testing.T, script mcptest.Script) *host.Options {
	return &host.Options{StateDir: host.NoState, Transport: inPipe(mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), script).Serve)}
}

// A server that connects and cannot list its tools waits, with the reason, and the reason
// is kept.
func TestServerThatCannotListWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := mcptest.Error(-32603, "the index is locked")
		opts := scriptedHost(t, mcptest.Script{"tools/list": mcptest.Sequence(down, down, down, mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`))})
		kept := hosttest.NewStatuses(map[string]record.LastStatus{"s": {Status: record.StatusConnected, Tools: 3}})
		m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(&config.Server{Name: "s", Command: "x"}), &manage.Options{Host: *patient(opts), Statuses: kept}))(t)
		defer func() { _ = m.Close() }()
		h := m.Host()
		hosttest.Sleep(300 * time.Millisecond)
		s := status(t, h, "s")
		assert.Equal(t, s.Stage, host.StageWaiting, "the stage")
		assert.Contains(t, fmt.Sprint(s.Err), "the index is locked", "error")
		got := kept.At("s")
		assert.Equal(t, got.Status, record.StatusError, "kept status")
		assert.Contains(t, got.Error, "the index is locked", "kept status")
		health := assert.Value(doctor.HealthOf(h, "s"))(t)
		assert.Equal(t, health.Level, doctor.LevelUnhealthy)
		assert.Equal(t, health.Action, "wait")
		d := assert.Value(doctor.Diagnose(t.Context(), h, "s"))(t)
		assert.Equal(t, d.Doing, "It is connected, but its tools could not be listed. That is tried again by itself.")
		hosttest.Sleep(time.Minute)
		s = status(t, h, "s")
		assert.Equal(t, s.Stage, host.StageReady, "after a minute")
		assert.OK(t, s.Err)
		got = kept.At("s")
		assert.Equal(t, got.Status, record.StatusConnected, "after a minute: got the kept status")
		assert.Equal(t, got.Tools, 1, "after a minute: got the kept status")
		assert.Equal(t, got.Error, "", "after a minute: got the kept status")
	})
}

const announcedOne = `{"tools":[{"name":"echo","description":"echoes","inputSchema":{"type":"object"}}]}`

// newAnnouncing returns a host with the server s, which lists its tools by one handler
// after the other.
func newAnnouncing(t *testing.T, lists ...mcptest.Handler) (*host.Host, *mcptest.Server) {
	t.Helper()
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Sequence(mcptest.Result(announcedOne), lists...),
		"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"ran"}]}`),
	})
	pipes := &pipeServers{serve: serveFuncs{"x": server.Serve}}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x"}`))
	assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "ran")
	return h, server
}

// A tool whose change was announced is held back while the change cannot be read, and
// only so long.
func TestAnnouncedChangeThatCannotBeRead(t *testing.T) {
	for name, unreadable := range map[string]mcptest.Handler{
		"no answer": mcptest.Hang,
		"an error":  mcptest.Error(-32603, "not now"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				readable := make(chan struct{})
				h, server := newAnnouncing(t, func(c *mcptest.Call) {
					select {
					case <-readable:
						c.Result(announcedOne)
					default:
						unreadable(c)
					}
				})
				server.Notify("notifications/tools/list_changed", "")
				server.Await("tools/list", 2)
				for range 5 {
					before := len(server.Received("tools/call"))
					began := time.Now()
					_, err := call(t, h, "s__echo", "{}")

					held := assert.As[*registry.QuarantinedError](t, err)
					assert.Equal(t, held.Change.Kind, ledger.ToolUnread, "the reason")
					assert.Equal(t, held.Name, "s__echo", "the name")
					assert.Contains(t, fmt.Sprint(err), "the change cannot be read")
					assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
					assert.True(t, time.Since(began) <= 5*time.Second, "an answer within 5s")
					assert.Equal(t, len(server.Received("tools/call")), before, "calls at the server")
				}
				until(t, h, "s", "said to be unreadable", func(s host.Status) bool { return s.Err != nil })
				close(readable)
				until(t, h, "s", "read", func(s host.Status) bool { return s.Err == nil })
				assert.Equal(t, assert.Value(call(t, h, "s__echo", "{}"))(t), "ran")
			})
		})
	}
}

// A call waits for a list that comes late, and then sees what has changed.
func TestCallWaitsForAnAnnouncedChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, server := newAnnouncing(t, func(c *mcptest.Call) {
			time.Sleep(3 * time.Second)
			c.Result(strings.Replace(announcedOne, "echoes", "deletes", 1))
		})
		server.Notify("notifications/tools/list_changed", "")
		server.Await("tools/list", 2)
		_, err := call(t, h, "s__echo", "{}")

		assert.As[*host.ChangedError](t, err)
		assert.Equal(t, len(server.Received("tools/list")), 2, "lists")
	})
}

// A slow server is read in the end, though a list has 10 s at first.
func TestAnnouncedChangeOfASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, server := newAnnouncing(t, func(c *mcptest.Call) {
			select {
			case <-time.After(25 * time.Second):
				c.Result(strings.Replace(announcedOne, `"echo"`, `"next"`, 1))
			case <-c.Context().Done():
			}
		})
		server.Notify("notifications/tools/list_changed", "")
		until(t, h, "s", "late", func(s host.Status) bool { return s.Err != nil })
		time.Sleep(2 * time.Minute)
		assert.Equal(t, names(h), "s__next", "the tools")
	})
}

// unreadableOptions are those of a host whose servers list tools that cannot be read.
func unreadableOptions(t *testing.T) *host.Options {
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	tools := []string{
		`{"name":"good","inputSchema":{"type":"object"}}`,
		`{"name":"deep","inputSchema":` + deep + `}`,
		`{"name":"twice","inputSchema":{"type":"object","type":"string"}}`,
		`{"name":"typed","description":7,"inputSchema":{"type":"object"}}`,
		`{"name":"denied","description":7,"inputSchema":{"type":"object"}}`,
		`7`,
	}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[` + strings.Join(tools, ",") + `]}`),
	})
	return patient(&host.Options{
		StateDir:  host.NoState,
		Transport: inPipe(server.Serve),
	})
}

const unreadableEntry = `{"command": "x", "tools": {"deny": ["denied"]}}`

// wantUnreadable are the tools of unreadableOptions that are rejected, and the tokens.
var wantUnreadable = map[string]string{
	"deep": "too_deep", "twice": "unreadable", "typed": "unreadable", "tools[5]": "unreadable",
}

// A tool that cannot be read is rejected as one that the gate does not let in, and the
// others of its server are listed.
func TestUnreadableToolsAreRejected(t *testing.T) {
	h := open(t, write(t, "bad", unreadableEntry), unreadableOptions(t))
	until(t, h, "bad", "listed", func(s host.Status) bool { return s.Tools == 1 })
	got := map[string]string{}
	for _, r := range status(t, h, "bad").Rejected {

		gate := assert.As[*gate.Error](t, r.Err)
		got[r.Name] = gate.Findings[0].Token
	}
	for name, want := range wantUnreadable {
		assert.Equal(t, got[name], want, "%s: the token", name)
	}
	assert.Equal(t, len(got), len(wantUnreadable), "rejections")
}

// The test of an entry shows them, too.
func TestUnreadableToolsAreReported(t *testing.T) {
	h := open(t, write(t), unreadableOptions(t))
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"bad": `+unreadableEntry+`}}`), nil))(t)
	report := assert.Value(doctor.Test(watchdog(t), h, c.Servers[0]))(t)
	rejected := 0
	for _, tool := range report.Tools {
		if tool.State != "rejected" {
			continue
		}
		rejected++
		assert.Equal(t, len(tool.Findings), 1, "%s: findings", tool.Name)
		assert.Equal(t, tool.Findings[0].Token, wantUnreadable[tool.Name], "%s: the token", tool.Name)
	}
	assert.Equal(t, rejected, len(wantUnreadable), "tools rejected")
}

// An entry can say that its server's results are taken as they come.
func TestSkipOutputCheck(t *testing.T) {
	for entry, fails := range map[string]bool{`{"command":"x"}`: true, `{"command":"x","tools":{"skipOutputCheck":true}}`: false} {
		h := newHost(t, scriptedHost(t, mcptest.Script{
			"tools/list": mcptest.Result(`{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]}}]}`),
			"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"m":1}}`),
		}), parseEntries(t, "s", entry))
		res, err := h.Registry().Call(t.Context(), "s__t", nil)
		assert.Equal(t, err != nil, fails, "%s: an error", entry)
		if err == nil {
			assert.Equal(t, string(res.StructuredContent.(json.RawMessage)), `{"m":1}`, "%s", entry)
		}
	}
}
