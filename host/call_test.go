// Tests of call.go: calls that a server has no room for, or ends at.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

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
	entry := fmt.Sprintf(`{"url":"https://s.example/mcp","limits":{"maxInFlight":1,"maxQueued":%d,"maxArgumentBytes":-1}%s}`, queue, more)
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
	call := func() error { return assert.Err(h.Registry().Call(ctx, "s__a", nil)) }
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

			assert.True(t, assert.As[*mcp.BusyError](t, err).RetryAfter > 0, "RetryAfter")
			assert.Equal(t, asked.Load(), 0, "the approver was asked times")
			assert.Equal(t, assert.Value(h.Inspect("s"))(t).Calls.Total.Refused, 1, "refused calls")
		})
	}
}

// TestRefusalDoesNotAllocate: the only allocation is the error itself.
func TestRefusalDoesNotAllocate(t *testing.T) {
	h, ctx, _ := openBusyHost(t, "")
	args := json.RawMessage(`{"path":"a"}`)
	if n := testing.AllocsPerRun(100, func() {
		assert.Fails(t, assert.Err(h.Registry().Call(ctx, "s__a", args)), "no error, want a BusyError")
	}); n > 1 {
		t.Errorf("got %v allocations, want 1: the error", n)
	}
}

// A call through the registry and the host takes a few allocations more than one of the client.
func TestCallCost(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`),
		"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"hi"}]}`),
	})
	h := open(t, write(t, "s", `{"url":"https://s.example/mcp"}`), &host.Options{StateDir: host.NoState, Transport: inPipe(server.Serve)})
	client := assert.Value(h.Client(t.Context(), session.Key{Server: "s"}))(t)
	args := json.RawMessage(`{"path":"a"}`)
	own := testing.AllocsPerRun(200, func() { assert.Value(client.CallTool(t.Context(), "a", args, nil))(t) })
	through := testing.AllocsPerRun(200, func() { assert.Value(h.Registry().Call(t.Context(), "s__a", args))(t) })
	assert.True(t, through <= own+8, "a call takes %v allocations, and the client's %v", through, own)
}

// The users of a shared server take turns: one who has many calls waiting does not keep
// another one waiting for all of them.
func TestUsersOfSharedServerTakeTurns(t *testing.T) {
	h, s := openTurnHost(t, 100, "", &host.Options{})
	const anns = 51 // one at the server, and half of those that may wait
	ctx := session.WithUser(t.Context(), "ann")
	done := make(chan error, anns+1)
	for range anns {
		go func() { done <- assert.Err(h.Registry().Call(ctx, "s__a", json.RawMessage(`{"of":"ann"}`))) }()
	}
	<-s.arrived
	awaitQueue(t, h, "ann", anns-1)
	busy := assert.As[*mcp.BusyError](t, assert.Err(h.Registry().Call(ctx, "s__a", nil)), "one more call of ann's")
	assert.Contains(t, busy.Error(), "(limit: user)", "one more call of ann's")
	go func() {
		done <- assert.Err(h.Registry().Call(session.WithUser(t.Context(), "ben"), "s__a", json.RawMessage(`{"of":"ben"}`)))
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

// A call that is too large for its server ends it once, whoever made it, and says why; a bound
// keeps it from being sent.
func TestCallThatTheServerCannotRead(t *testing.T) {
	//report: Processes | lilhammerfun/clumsies#100, NatLabRockies/openstudio-mcp#98 | a server ends, with exit code 0 or 1, at a message that is longer than its buffer, and the client shows no more than a closed connection | arguments of more than 8 MiB are not sent, or of more than maxArgumentBytes of the entry; a request that a server ended at is not sent to the next one by itself, and error, status and the text for the model have the exit code and the server's last words
	t.Parallel()
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 9<<20) + `"}`)
	h := open(t, hosttest.Write(t, "s", hosttest.Child(t, "narrow", `"limits":{"maxArgumentBytes":-1}`), "bounded", hosttest.Child(t, "b")), &host.Options{StateDir: host.NoState, Client: mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}})
	starts := func(server string) int { return assert.Value(h.Inspect(server))(t).Client.State().Connections }
	before := starts("s")
	_, err := h.Registry().Call(watchdog(t), "s__echo", large)
	assert.Is(t, err, mcp.ErrCutOff)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome")
	assert.Equal(t, assert.As[*transport.ExitError](t, err).Code, 1, "exit code")
	assert.Contains(t, err.Error(), "line")
	said := registry.ErrorResult(err).Text()
	assert.Contains(t, said, "may be too large for it; do not send them again. Its process exited with code 1; its last words")
	assert.Contains(t, assert.Value(h.Inspect("s"))(t).LastFailure.Err.Error(), "exited with code 1")
	assert.Value(call(t, h, "s__echo", `{"text":"again"}`))(t)
	assert.Equal(t, starts("s"), before+1, "starts")

	_, err = h.Registry().Call(watchdog(t), "bounded__echo", large)
	assert.Equal(t, assert.As[*mcp.LimitError](t, assert.As[*registry.ArgumentsError](t, err)).Max, 8<<20, "bound")
	assert.Equal(t, starts("bounded"), before, "starts of the bounded")
}

// A server that ends at its n-th call, under eight users: no call runs twice, none is lost that
// was not sent, and the server is started no more often than it has ended.
func TestServerEndsAtNthCall(t *testing.T) {
	//report: Processes | tya5/reyn#2600, mcheemaa/mistri#26, NousResearch/hermes-agent#10776 | a server's process ends at calls, and a client makes them again on each new connection | a call that may have run is not made again; one of a tool that a trusted server calls read-only once, whatever layer makes it again
	for n := 1; n <= 20; n++ {
		for _, trust := range []bool{false, true} { // of what its tools claim: that they only read
			synctest.Test(t, func(t *testing.T) {
				var calls, ends atomic.Int64
				ran := make(map[string]int)
				var mu sync.Mutex
				server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
					"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`),
					"tools/call": func(c *mcptest.Call) {
						_, of, _ := strings.Cut(string(c.Params), `"of":`) // which is not in what a client adds
						mu.Lock()
						ran[of]++
						mu.Unlock()
						if calls.Add(1)%int64(n) == 0 {
							ends.Add(1)
							c.Disconnect()
							return
						}
						c.Result(`{"content":[]}`)
					},
				})
				h := open(t, write(t, "s", fmt.Sprintf(`{"url":"https://s.example/mcp","trust":%v}`, trust)),
					&host.Options{StateDir: host.NoState, Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return server, nil }})
				outcomes := make(map[string]mcp.Outcome)
				var users sync.WaitGroup
				for user := range 8 {
					users.Go(func() {
						for i := range 5 {
							ctx := session.WithUser(t.Context(), fmt.Sprint("user", user))
							args := json.RawMessage(fmt.Sprintf(`{"of":"%d.%d"}`, user, i))
							_, err := h.Registry().Call(ctx, "s__a", args)
							_, of, _ := strings.Cut(string(args), `"of":`)
							mu.Lock()
							outcomes[of+"}"] = mcp.OutcomeOf(err)
							mu.Unlock()
						}
					})
				}
				users.Wait()
				mu.Lock()
				defer mu.Unlock()
				most := 1
				if trust {
					most = 2
				}
				for call, times := range ran {
					assert.True(t, times <= most, "n = %d: %s ran %d times", n, call, times)
				}
				for call, outcome := range outcomes {
					assert.True(t, outcome == mcp.Unknown || (outcome == mcp.Answered) == (ran[call] > 0), "n = %d: %s: %v, ran %d times", n, call, outcome, ran[call])
				}
				assert.Equal(t, len(outcomes), 40, "n = %d: calls", n)
				starts := assert.Value(h.Inspect("s"))(t).Client.State().Connections
				assert.True(t, starts <= int(ends.Load())+1, "n = %d: %d starts after %d ends", n, starts, ends.Load())
			})
		}
	}
}
