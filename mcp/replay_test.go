package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

const toolPages = `{"tools":[
	{"name":"plain","inputSchema":{"type":"object"}},
	{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"sets","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]}`

// tripping returns a transport whose first n connections end instead of sending
// a call of a tool.
func tripping(server *mcptest.Server, n int32) mcp.Transport {
	pipe := &transport.Pipe{Serve: server.Serve}
	var tripped atomic.Int32
	return transportFunc(func(ctx context.Context) (mcp.Conn, error) {
		conn, err := pipe.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &tripConn{Caller: mcp.CallerOf(conn), trips: func() bool { return tripped.Add(1) <= n }}, nil
	})
}

// A tripConn ends instead of calling a tool if trips says so.
type tripConn struct {
	mcp.Caller
	trips func() bool
}

func (c *tripConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if method == "tools/call" && c.trips() {
		_ = c.Close()
		return nil, mcp.WithOutcome(io.ErrClosedPipe, mcp.NotSent)
	}
	return c.Caller.Call(ctx, method, params, opts)
}

func TestNotSentIsSentOnce(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": text("done")})
	c := newClient(t, tripping(server, 1), nil)
	assert.Equal(t, textOf(t, mustCall(t, c, "plain")), "done", "result")
	wantCount(t, server, "tools/call", 1)
	assert.Equal(t, c.State().Connections, 2, "connections")
}

func TestNotSentTwiceIsAnError(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": text("done")})
	// The second connection is new, and so a third would be made at once only
	// by a client that repeats for ever.
	c := newClient(t, tripping(server, 2), nil)
	_, err := call(t, c, "plain")
	wantOutcome(t, err, mcp.NotSent)
	assert.Is(t, err, io.ErrClosedPipe)
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
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
				"tools/list": mcptest.Result(toolPages),
				"tools/call": mcptest.Sequence(mcptest.Disconnect, text("done")),
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{TrustAnnotations: test.trust})
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
	wantOutcome(t, errOf(call(t, c, "reads")), mcp.Unknown)
	wantCount(t, server, "tools/call", 2)
}

func TestNotRepeatedAfterContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := legacy(t, mcptest.Script{
		"tools/list": mcptest.Result(toolPages),
		"tools/call": func(c *mcptest.Call) { cancel(); c.Disconnect() },
	})
	c := newClient(t, server, &mcp.ClientOptions{TrustAnnotations: true})
	assert.Value(c.Tools(t.Context()))(t)
	assert.Fails(t, errOf(c.CallTool(ctx, "reads", nil, nil)))
	ready(t, c)
	wantCount(t, server, "tools/call", 1)
}

// Lists are repeated when the connection breaks.
func TestListIsRepeated(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(toolPages)),
		})
		c := newClient(t, p.to(server), nil)
		tools, err := c.Tools(t.Context())
		assert.OK(t, err)
		assert.Equal(t, len(tools), 3, "tools")
	})
}

type echoIn struct {
	Text string `json:"text"`
}

// echoServer is a real server with one tool.
func echoServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	return server
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
	c := newClient(t, &transport.HTTP{URL: web.URL}, nil)
	ready(t, c)
	if s := c.State(); s.ProtocolVersion >= mcp.Revision20260728 {
		t.Fatalf("no sessions in revision %s", s.ProtocolVersion)
	}
	restart()
	res := assert.Value(c.CallTool(t.Context(), "echo", json.RawMessage(`{"text":"still there"}`), nil))(t)
	assert.Equal(t, textOf(t, res), "still there", "result")
	assert.Equal(t, c.State().Connections, 2, "connections")
	_ = c.Close() // before the HTTP server, which waits for its requests
}
