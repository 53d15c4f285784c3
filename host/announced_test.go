package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

const announcedOne = `{"tools":[{"name":"echo","description":"echoes","inputSchema":{"type":"object"}}]}`

// newAnnouncing returns a host with the server s, which lists its tools by one handler
// after the other.
func newAnnouncing(t *testing.T, lists ...mcptest.Handler) (*host.Host, *mcptest.Server) {
	t.Helper()
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Sequence(mcptest.Result(announcedOne), lists...),
		"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"ran"}]}`),
	})
	town := &acceptTown{houses: map[string]func(context.Context, mcp.Transport) error{"x": server.Serve}}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "x"}`))
	if text, err := call(t, h, "s__echo", "{}"); err != nil || text != "ran" {
		t.Fatalf("got %q, %v before the change, want an answer", text, err)
	}
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
					var held *registry.QuarantinedError
					if !errors.As(err, &held) {
						t.Fatalf("got %v, want that the tool is held back", err)
					}
					assert.Equal(t, held.Change.Kind, ledger.ToolUnread, "the reason")
					assert.Equal(t, held.Name, "s__echo", "the name")
					if !strings.Contains(err.Error(), "the change cannot be read") {
						t.Errorf("got %q, want that the change cannot be read", err)
					}
					assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
					if waited := time.Since(began); waited > 5*time.Second {
						t.Errorf("got an answer after %v, want one within 5s", waited)
					}
					assert.Equal(t, len(server.Received("tools/call")), before, "calls at the server")
				}
				until(t, h, "s", "said to be unreadable", func(s host.Status) bool { return s.Err != nil })
				close(readable)
				until(t, h, "s", "read", func(s host.Status) bool { return s.Err == nil })
				if text, err := call(t, h, "s__echo", "{}"); err != nil || text != "ran" {
					t.Errorf("got %q, %v when the list can be read, want an answer", text, err)
				}
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
		var changed *host.ChangedError
		if !errors.As(err, &changed) {
			t.Fatalf("got %v, want that the tool has changed", err)
		}
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
