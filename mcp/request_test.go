// Tests of request.go, outgoing.go, object.go and send.go: requests that are sent again, and those that wait.

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

const toolPages = `{"tools":[
	{"name":"plain","inputSchema":{"type":"object"}},
	{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"sets","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]}`

// failingFirst returns a transport whose first n connections end instead of sending
// a call of a tool.
func failingFirst(server *mcptest.Server, n int32) mcp.Transport {
	pipe := &transport.Pipe{Serve: server.Serve}
	var tripped atomic.Int32
	return wrapped(pipe, func(conn mcp.Conn) mcp.Conn {
		return &failingConn{Caller: mcp.CallerOf(conn), trips: func() bool { return tripped.Add(1) <= n }}
	})
}

// A failingConn ends instead of calling a tool if trips says so.
type failingConn struct {
	mcp.Caller
	trips func() bool
}

func (c *failingConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if method == "tools/call" && c.trips() {
		_ = c.Close()
		return nil, mcp.WithOutcome(io.ErrClosedPipe, mcp.NotSent)
	}
	return c.Caller.Call(ctx, method, params, opts)
}

func TestNotSentIsSentOnce(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": text("done")})
	c := newClient(t, failingFirst(server, 1), nil)
	assert.Equal(t, textOf(t, mustCall(t, c, "plain")), "done", "result")
	wantCount(t, server, "tools/call", 1)
	assert.Equal(t, c.State().Connections, 2, "connections")
}

func TestNotSentTwiceIsAnError(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": text("done")})
	// The second connection is new, and so a third would be made at once only
	// by a client that repeats for ever.
	wantNotSent(t, assert.Err(call(t, newClient(t, failingFirst(server, 2), nil), "plain")), io.ErrClosedPipe)
	wantCount(t, server, "tools/call", 0)
}

func TestUnknownOutcome(t *testing.T) {
	for _, test := range []struct {
		tool          string
		trust, listed bool
		calls         int
	}{
		{"plain", true, true, 1},
		{"reads", false, true, 1},
		{"reads", true, false, 1},
		{"reads", true, true, 2},
		{"sets", true, true, 2},
		{"other", true, true, 1},
	} {
		everywhere(t, func(t *testing.T, revision string, p plane) {
			server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/list": mcptest.Result(toolPages),
				"tools/call": mcptest.Sequence(mcptest.Disconnect, text("done")),
			}), &mcp.ClientOptions{TrustAnnotations: test.trust})
			if test.listed {
				assert.Value(c.Tools(t.Context()))(t)
			}
			_, err := call(t, c, test.tool)
			wantCount(t, server, "tools/call", test.calls)
			if test.calls > 1 {
				assert.OK(t, err, "%s", test.tool)
				return
			}
			unknown := assert.As[*mcp.OutcomeUnknownError](t, err, "%s", test.tool)
			assert.Equal(t, [...]any{unknown.Server, unknown.Tool, unknown.Method}, [...]any{"scripted", test.tool, "tools/call"}, "%s", test.tool)
			wantOutcome(t, err, mcp.Unknown)
		})
	}
}

func TestRepeatedOnlyOnce(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/list": mcptest.Result(toolPages), "tools/call": mcptest.Disconnect})
	c := newClient(t, server, &mcp.ClientOptions{TrustAnnotations: true})
	assert.Value(c.Tools(t.Context()))(t)
	wantOutcome(t, assert.Err(call(t, c, "reads")), mcp.Unknown)
	wantCount(t, server, "tools/call", 2)
}

func TestNotRepeatedAfterContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, c := withClient(t, legacy(t, mcptest.Script{
		"tools/list": mcptest.Result(toolPages),
		"tools/call": func(c *mcptest.Call) { cancel(); c.Disconnect() },
	}), &mcp.ClientOptions{TrustAnnotations: true})
	assert.Value(c.Tools(t.Context()))(t)
	assert.Fails(t, assert.Err(c.CallTool(ctx, "reads", nil, nil)))
	ready(t, c)
	wantCount(t, server, "tools/call", 1)
}

// An HTTP server that was restarted knows its sessions no more: the client
// makes a new one and sends the call again.
func TestSessionLost(t *testing.T) {
	var current atomic.Pointer[http.Handler]
	restart := func() {
		server := echoServer()
		t.Cleanup(func() {
			for session := range server.Sessions() {
				_ = session.Close()
			}
		})
		var h http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
		current.Store(&h)
	}
	restart()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	defer web.Close()
	c := newReady(t, &transport.HTTP{URL: web.URL}, nil)
	assert.True(t, c.State().ProtocolVersion < mcp.Revision20260728, "the revision has sessions")
	restart()
	res := assert.Value(c.CallTool(t.Context(), "echo", json.RawMessage(`{"text":"still there"}`), nil))(t)
	assert.Equal(t, textOf(t, res), "still there", "result")
	assert.Equal(t, c.State().Connections, 2, "connections")
	_ = c.Close() // before the HTTP server, which waits for its requests
}

// Requests beyond what may be in flight wait, those beyond what may wait are
// turned away, and say so.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waits = 3
		release := make(chan struct{})
		server, c := withReady(t, legacy(t, mcptest.Script{"tools/call": held(release, text("done"))}), &mcp.ClientOptions{Limits: mcp.Limits{MaxInFlight: 2, MaxQueued: waits}})
		var wg sync.WaitGroup
		for range 2 + waits {
			wg.Go(func() { assert.Is(t, assert.Err(call(t, c, "slow")), nil) })
		}
		synctest.Wait()
		wantCount(t, server, "tools/call", 2)
		_, err := call(t, c, "slow")
		want := fmt.Sprintf(`mcp: server "scripted" is busy: 2 requests in flight and %d waiting with %d bytes (limit: count); try again in 1s`, waits, 8*waits)
		assert.Equal(t, assert.As[*mcp.BusyError](t, err).Error(), want, "beyond the queue: busy")
		assert.Equal(t, assert.As[*mcp.BusyError](t, c.Busy(t.Context(), 0)).Error(), want, "a look at the full queue: busy")
		wantOutcome(t, err, mcp.NotSent)
		close(release)
		wg.Wait()
		assert.OK(t, c.Busy(t.Context(), 0), "a look at the empty queue")
		mustCall(t, c, "slow")
		wantCount(t, server, "tools/call", 3+waits)
	})
}

// RetryAfter is how long those that wait will take, by the mean of what has ended.
func TestRetryAfter(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{
		time.Microsecond:       10 * time.Millisecond,
		100 * time.Millisecond: 200 * time.Millisecond, // 2 in flight, 3 wait
		5 * time.Minute:        time.Minute,
	} {
		runInBubble(t, takes.String(), func(t *testing.T) {
			c := newClient(t, legacy(t, mcptest.Script{"tools/call": slowly(takes, text("done"))}),
				&mcp.ClientOptions{IdleTimeout: time.Hour, CallTimeout: time.Hour, HealthInterval: -1, Limits: mcp.Limits{MaxInFlight: 2, MaxQueued: 3}})
			mustCall(t, c, "slow")
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() { mustCall(t, c, "slow") })
			}
			synctest.Wait()
			assert.Equal(t, assert.As[*mcp.BusyError](t, assert.Err(call(t, c, "slow"))).RetryAfter, want)
			wg.Wait()
		})
	}
}

// One that gives up while it waits makes room in the queue.
func TestQueueIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withReady(t, legacy(t, mcptest.Script{"tools/call": mcptest.Hang}), &mcp.ClientOptions{Limits: mcp.Limits{MaxInFlight: 1, MaxQueued: 1}})
		ctx, stop := context.WithCancel(t.Context())
		first := inBackground(func() error { return assert.Err(c.CallTool(ctx, "slow", nil, nil)) })
		synctest.Wait()
		for range 3 {
			ctx, giveUp := context.WithCancel(t.Context())
			waiting := inBackground(func() error { return assert.Err(c.CallTool(ctx, "slow", nil, nil)) })
			synctest.Wait()
			giveUp()
			wantNotSent(t, (<-waiting), context.Canceled)
		}
		stop()
		<-first
		wantCount(t, server, "tools/call", 1)
	})
}

// Users take turns, and none takes the places that are left for the others.
func TestQueueOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := make(chan struct{})
		c := newReady(t, legacy(t, mcptest.Script{"tools/call": held(turns, text("done"))}),
			&mcp.ClientOptions{HealthInterval: -1, Limits: mcp.Limits{MaxInFlight: 1, MaxQueued: 6}})
		var served []string
		enter := func(name string) {
			ctx := onbehalf.With(t.Context(), name)
			go func() {
				assert.Is(t, assert.Err(c.CallTool(ctx, "slow", nil, nil)), nil)
				served = append(served, name) // one at a time
			}()
			synctest.Wait()
		}
		for _, name := range []string{"first", "ann", "ann", "ann", "ben"} {
			enter(name)
		}
		ctx := onbehalf.With(t.Context(), "ann")
		busy := assert.As[*mcp.BusyError](t, assert.Err(c.CallTool(ctx, "slow", nil, nil)), "a fourth call of ann's")
		assert.Contains(t, busy.Error(), "(limit: user)", "the bound")
		assert.As[*mcp.BusyError](t, c.Busy(ctx, 0), "a look for ann")
		assert.OK(t, c.Busy(t.Context(), 0), "a look for nobody")
		enter("")
		for range 6 {
			turns <- struct{}{}
			synctest.Wait()
		}
		assert.List(t, served, []string{"first", "ann", "ben", "", "ann", "ann"})
	})
}

// What waits is bounded in bytes as well.
func TestQueueOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReady(t, legacy(t, mcptest.Script{"tools/call": mcptest.Hang}), &mcp.ClientOptions{Limits: mcp.Limits{MaxInFlight: 1, MaxArguments: -1}})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _, _ = c.CallTool(ctx, "slow", nil, nil) }()
		synctest.Wait()
		assert.Contains(t, assert.As[*mcp.BusyError](t, c.Busy(ctx, 64<<20+1)).Error(), "(limit: bytes)", "the bound")
		assert.OK(t, c.Busy(ctx, 100), "a look with a few bytes")
	})
}

// A call that is meant for a connection goes over no other one.
func TestCallOfOneConnection(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withReady(t, mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("done")}), nil)
		call := func(connection int) error {
			return assert.Err(c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Connection: connection}))
		}
		first := c.State().Connections
		assert.OK(t, call(first))
		assert.OK(t, c.Reconnect(t.Context()))
		wantNotSent(t, call(first), mcp.ErrOtherConnection, "the connection before")
		wantCount(t, server, "tools/call", 1)
		for _, connection := range []int{c.State().Connections, 0} {
			assert.OK(t, call(connection), "connection %d", connection)
		}
	})
}

// What a caller passes is only read, so that calls can share it.
func TestCallersDataIsOnlyRead(t *testing.T) {
	server, c := withClient(t, modern(t, mcptest.Script{"tools/call": mcptest.Result(`{"resultType":"complete","content":[]}`)}), nil)
	args := json.RawMessage(`{"a":1}`)
	opts := &mcp.RequestOptions{Meta: mcp.Meta{"own": "value"}}
	before := maps.Clone(opts.Meta)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() { assert.Is(t, assert.Err(c.CallTool(t.Context(), "x", args, opts)), nil) })
	}
	calls.Wait()
	assert.Equal(t, [...]any{string(args), maps.Equal(opts.Meta, before)}, [...]any{`{"a":1}`, true})

	params := &sdk.CallToolParams{Name: "x"}
	assert.Value(bare(t, server, nil).CallTool(t.Context(), params))(t)
	if params.Meta == nil && params.Arguments == nil {
		mended(t, "mcp/request.go")
	}
}

// What a request brings along is bounded, whatever it asks for, and so is an answer of a handler.
func TestMaxArguments(t *testing.T) {
	large := strings.Repeat("x", 2000)
	server, c := withReady(t, legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, fmt.Sprint(assert.Err(c.Ask("elicitation/create", question)))))
	}}), &mcp.ClientOptions{Limits: mcp.Limits{MaxArguments: 1000}, Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": large}}, nil
	}})
	args := json.RawMessage(`{"a":"` + large + `"}`)
	for name, err := range map[string]error{
		"call":     assert.Err(c.CallTool(t.Context(), "x", args, nil)),
		"look":     c.Busy(t.Context(), len(args)),
		"prompt":   assert.Err(c.GetPrompt(t.Context(), "x", map[string]string{"a": large}, nil)),
		"resource": assert.Err(c.ReadResource(t.Context(), "a:"+large, nil)),
		"request":  assert.Err(c.Request(t.Context(), "com.example/x", args, nil)),
	} {
		assert.Equal(t, assert.As[*mcp.LimitError](t, err, "%s", name).Max, 1000, "%s", name)
		wantOutcome(t, err, mcp.NotSent)
	}
	for _, method := range []string{"tools/call", "prompts/get", "resources/read", "com.example/x"} {
		wantCount(t, server, method, 0)
	}
	assert.Contains(t, textOf(t, mustCall(t, c, "x")), "the client could not do that")
}
