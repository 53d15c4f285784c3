// Tests of call.go: calls that a server has no room for.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// openBusyHost opens a host with a server s that has one call under way and lets no other
// one wait. The approver allows what it is asked, and counts that.
func openBusyHost(t *testing.T, perUser bool) (h *host.Host, ctx context.Context, asked *atomic.Int64) {
	t.Helper()
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(c *mcptest.Call) {
			arrived <- struct{}{}
			<-release
			c.Result(`{"content":[]}`)
		},
	})
	asked = new(atomic.Int64)
	entry := `{"mcpServers":{"s":{"command":"x","limits":{"maxInFlight":1,"maxQueued":1}}}}`
	ctx = session.WithUser(context.WithoutCancel(t.Context()), "ann")
	if perUser {
		entry = `{"mcpServers":{"s":{"url":"https://s.example/mcp","identity":"user","limits":{"maxInFlight":1,"maxQueued":1}}}}`
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, []byte(entry), 0o600))
	h = hosttest.Open(t, path, &host.Options{
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: server.Serve}, nil
		},
		Registry: registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			asked.Add(1)
			return approval.Decision{Verdict: approval.Allow}, nil
		})}),
	})
	done := make(chan error, 2)
	call := func() {
		_, err := h.Registry().Call(ctx, "s__a", nil)
		done <- err
	}
	go call()
	select {
	case <-arrived:
	case err := <-done:
		t.Fatalf("the first call: got %v before it was at the server", err)
	}
	go call() // it waits for the first
	for queued := false; !queued; runtime.Gosched() {
		select {
		case err := <-done:
			t.Fatalf("the second call: got %v before there was room", err)
		default:
		}
		i := assert.Value(h.Inspect("s"))(t)
		client := i.Client
		if perUser {
			client = i.Users["ann"]
		}
		queued = client.Busy(ctx, 0) != nil
	}
	t.Cleanup(func() {
		close(release)
		for range 2 {
			assert.OK(t, <-done, "a call that had a place")
		}
	})
	asked.Store(0)
	return h, ctx, asked
}

// A call that the server's client would refuse costs neither a question nor much memory,
// and is counted.
func TestBusyServerRefusesBeforeApproval(t *testing.T) {
	for name, perUser := range map[string]bool{"shared": false, "per user": true} {
		t.Run(name, func(t *testing.T) {
			h, ctx, asked := openBusyHost(t, perUser)
			_, err := h.Registry().Call(ctx, "s__a", json.RawMessage(`no JSON`))

			busy := assert.As[*mcp.BusyError](t, err)
			if busy.RetryAfter <= 0 {
				t.Errorf("RetryAfter: got %v, want more", busy.RetryAfter)
			}
			assert.Equal(t, asked.Load(), 0, "the approver was asked times")
			inspected := assert.Value(h.Inspect("s"))(t)
			assert.Equal(t, inspected.Calls.Total.Refused, 1, "refused calls")
		})
	}
}

// TestRefusalDoesNotAllocate: the only allocation is the error itself.
func TestRefusalDoesNotAllocate(t *testing.T) {
	h, ctx, _ := openBusyHost(t, false)
	args := json.RawMessage(`{"path":"a"}`)
	if n := testing.AllocsPerRun(100, func() {
		assert.Fails(t, errOf(h.Registry().Call(ctx, "s__a", args)), "no error, want a BusyError")
	}); n > 1 {
		t.Errorf("got %v allocations, want 1: the error", n)
	}
}

// The users of a shared server take turns: one who has many calls waiting does not keep
// another one waiting for all of them.
func TestUsersOfSharedServerTakeTurns(t *testing.T) {
	arrived, turns := make(chan string), make(chan struct{})
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(c *mcptest.Call) {
			arrived <- string(c.Params)
			<-turns
			c.Result(`{"content":[]}`)
		},
	})
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, []byte(`{"mcpServers":{"s":{"command":"x","limits":{"maxInFlight":1,"maxQueued":100}}}}`), 0o600))
	h := hosttest.Open(t, path, &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: server.Serve}, nil
	}})
	const anns = 51 // one at the server, and half of those that may wait
	ctx := session.WithUser(t.Context(), "ann")
	done := make(chan error, anns+1)
	for range anns {
		go func() {
			_, err := h.Registry().Call(ctx, "s__a", json.RawMessage(`{"of":"ann"}`))
			done <- err
		}()
	}
	<-arrived
	i := assert.Value(h.Inspect("s"))(t)
	waits := func(user string, count int) { // until the client says so
		t.Helper()
		for {
			var busy *mcp.BusyError
			if err := i.Client.Busy(session.WithUser(t.Context(), user), 64<<20); errors.As(err, &busy) && busy.Queued == count {
				return
			}
			runtime.Gosched()
		}
	}
	waits("ann", anns-1)

	_, err := h.Registry().Call(ctx, "s__a", nil)
	busy := assert.As[*mcp.BusyError](t, err, "one more call of ann's")
	assert.Equal(t, busy.Bound, "user", "one more call of ann's")
	go func() {
		_, err := h.Registry().Call(session.WithUser(t.Context(), "ben"), "s__a", json.RawMessage(`{"of":"ben"}`))
		done <- err
	}()
	waits("ben", anns)
	var order []string
	for range anns {
		turns <- struct{}{}
		order = append(order, <-arrived)
	}
	turns <- struct{}{}
	for range anns + 1 {
		assert.OK(t, <-done)
	}
	assert.Equal(t, slices.IndexFunc(order, func(params string) bool { return strings.Contains(params, "ben") }), 1, "ben's call came after of those that waited")
}
