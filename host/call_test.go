// Tests of call.go: calls that a server has no room for.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

// A turnServer is a server with the tool a, which runs one call at a time, and that when it
// gets a turn.
type turnServer struct {
	arrived chan string // gets the parameters of each call that is at the server
	turns   chan struct{}
}

// openTurnHost opens a host with a turnServer s that lets so many calls wait.
func openTurnHost(t *testing.T, queue int, more string, opts *host.Options) (*host.Host, *turnServer) {
	t.Helper()
	s := &turnServer{make(chan string), make(chan struct{})}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(c *mcptest.Call) {
			s.arrived <- string(c.Params)
			<-s.turns
			c.Result(`{"content":[]}`)
		},
	})
	opts.StateDir = host.NoState
	opts.Transport = inPipe(server.Serve)
	entry := fmt.Sprintf(`{"url":"https://s.example/mcp","limits":{"maxInFlight":1,"maxQueued":%d}%s}`, queue, more)
	return open(t, write(t, "s", entry), opts), s
}

// awaitQueue waits until the client of a user has so many calls that wait.
func awaitQueue(t *testing.T, h *host.Host, user string, want int) {
	t.Helper()
	eventually(t, "calls in the queue", func() bool {
		i := assert.Value(h.Inspect("s"))(t)
		client := i.Client
		if i.Users[user] != nil {
			client = i.Users[user]
		}
		var busy *mcp.BusyError
		return errors.As(client.Busy(session.WithUser(t.Context(), user), 64<<20), &busy) && strings.Contains(busy.Error(), fmt.Sprintf(" %d waiting ", want))
	})
}

// openBusyHost opens a host with a server s that has one call of ann's under way and lets no
// more wait. The approver allows what it is asked, and counts that.
func openBusyHost(t *testing.T, more string) (h *host.Host, ctx context.Context, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	h, s := openTurnHost(t, 1, more, &host.Options{Registry: registry.New(&registry.Options{Approver: registry.ApproverFunc(
		func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			asked.Add(1)
			return approval.Decision{Verdict: approval.Allow}, nil
		})})})
	ctx = session.WithUser(context.WithoutCancel(t.Context()), "ann")
	call := func() error { return errOf(h.Registry().Call(ctx, "s__a", nil)) }
	first := background(call)
	<-s.arrived
	second := background(call) // it waits for the first
	awaitQueue(t, h, "ann", 1)
	t.Cleanup(func() {
		s.turns <- struct{}{}
		<-s.arrived
		s.turns <- struct{}{}
		assert.OK(t, <-first, "a call that had a place")
		assert.OK(t, <-second, "a call that waited")
	})
	asked.Store(0)
	return h, ctx, asked
}

// A call that the server's client would refuse costs neither a question nor much memory,
// and is counted.
func TestBusyServerRefusesBeforeApproval(t *testing.T) {
	for name, more := range map[string]string{"shared": "", "per user": `,"identity":"user"`} {
		t.Run(name, func(t *testing.T) {
			h, ctx, asked := openBusyHost(t, more)
			_, err := h.Registry().Call(ctx, "s__a", json.RawMessage(`no JSON`))

			busy := assert.As[*mcp.BusyError](t, err)
			assert.True(t, busy.RetryAfter > 0, "RetryAfter")
			assert.Equal(t, asked.Load(), 0, "the approver was asked times")
			inspected := assert.Value(h.Inspect("s"))(t)
			assert.Equal(t, inspected.Calls.Total.Refused, 1, "refused calls")
		})
	}
}

// TestRefusalDoesNotAllocate: the only allocation is the error itself.
func TestRefusalDoesNotAllocate(t *testing.T) {
	h, ctx, _ := openBusyHost(t, "")
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
	h, s := openTurnHost(t, 100, "", &host.Options{})
	const anns = 51 // one at the server, and half of those that may wait
	ctx := session.WithUser(t.Context(), "ann")
	done := make(chan error, anns+1)
	for range anns {
		go func() { done <- errOf(h.Registry().Call(ctx, "s__a", json.RawMessage(`{"of":"ann"}`))) }()
	}
	<-s.arrived
	awaitQueue(t, h, "ann", anns-1)
	busy := assert.As[*mcp.BusyError](t, errOf(h.Registry().Call(ctx, "s__a", nil)), "one more call of ann's")
	assert.Contains(t, busy.Error(), "(limit: user)", "one more call of ann's")
	go func() {
		done <- errOf(h.Registry().Call(session.WithUser(t.Context(), "ben"), "s__a", json.RawMessage(`{"of":"ben"}`)))
	}()
	awaitQueue(t, h, "ben", anns)
	var order []string
	for range anns {
		s.turns <- struct{}{}
		order = append(order, <-s.arrived)
	}
	s.turns <- struct{}{}
	for range anns + 1 {
		assert.OK(t, <-done)
	}
	assert.Equal(t, slices.IndexFunc(order, func(params string) bool { return strings.Contains(params, "ben") }), 1, "calls before ben's")
}
