package otel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/baggage"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// However many codes of errors a server makes up, the measurements tell those apart
// that mean something; the span has the code.
func TestCodesOfServer(t *testing.T) {
	l := newLab(t, belt.Options{})
	var n atomic.Int64
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": func(call *mcptest.Call) {
		if i := n.Add(1); i < 30 {
			call.Error(1000+i, "no")
		} else {
			call.Error(-32602, "no")
		}
	}})
	c := newClient(t, server, mcp.ClientOptions{Tracer: l})
	for range 30 {
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err == nil {
			t.Fatal("no error")
		}
	}
	_ = c.Close()
	calls := 0
	for _, s := range l.series(t, "mcp.client.operation.duration") {
		if strings.Contains(s, "tools/call") {
			calls++
		}
	}
	if calls != 2 {
		t.Errorf("%d series for calls, want 2: %q", calls, l.series(t, "mcp.client.operation.duration"))
	}
	all := l.everything(t)
	for _, want := range []string{"error.type=1001", "rpc.response.status_code=1001", "error.type=-32602", "error.type=_OTHER"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not told", want)
		}
	}
}

// Only revisions that exist are told apart, whatever a server says.
func TestRevisionsOfStrangers(t *testing.T) {
	l := newLab(t, belt.Options{})
	server := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Result(`{"protocolVersion":"1999-12-31","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)})
	c := newClient(t, server, mcp.ClientOptions{Tracer: l})
	_ = c.Ready(t.Context())
	_ = c.Close()
	assert.Lacks(t, l.everything(t), "1999-12-", "told")
}

// A question of a server is in the trace that the server names, and linked to the span
// in which it came.
func TestTraceOfStranger(t *testing.T) {
	l := newLab(t, belt.Options{})
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, ""), mcptest.Script{"tools/call": mcptest.Sequence(
		mcptest.Result(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`),
		mcptest.Result(`{"resultType":"complete","content":[]}`))})
	c := newClient(t, server, mcp.ClientOptions{Tracer: l, Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}})
	ctx, root := l.tracer.Tracer("test").Start(t.Context(), "root")
	assert.Value(c.CallTool(ctx, "asks", nil, nil))(t)
	root.End()
	asked := l.one(t, "elicitation/create", "server")
	if got := asked.SpanContext.TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" || !asked.Parent.IsRemote() {
		t.Errorf("trace %s, parent %v", got, asked.Parent)
	}
	if len(asked.Links) != 1 || !asked.Links[0].SpanContext.Equal(root.SpanContext()) {
		t.Errorf("links %v", asked.Links)
	}
}

// What is in a URI without a path may be anything.
func TestOpaqueURI(t *testing.T) {
	l, server := newLab(t, belt.Options{}), newServer(mcp.Revision20251125)
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{Tracer: l})
	for _, uri := range []string{"data:text/plain,sekret", "jdbc:sqlserver://host;password=sekret", "jdbc:oracle:thin:ann/sekret@host", "token:sekret", "urn:isbn:1"} {
		_, _ = c.ReadResource(t.Context(), uri, nil)
	}
	_ = c.Close()
	all := l.everything(t)
	if i := strings.Index(all, "sekret"); i >= 0 {
		t.Errorf("told: %s", all[max(0, i-100):i+30])
	}
	if !strings.Contains(all, "mcp.resource.uri=data:") {
		t.Error("the scheme is not told")
	}
	if !strings.Contains(all, "mcp.resource.uri=urn:isbn:1") {
		t.Error("the name is not told")
	}
}

// The id of a request is the server's choice.
func TestIDOfStranger(t *testing.T) {
	l := newLab(t, belt.Options{})
	r := &mcp.RequestInfo{Server: "s", Method: "ping", Incoming: true, ID: "1\n" + strings.Repeat("2", 1<<20)}
	l.RequestEnd(l.RequestStart(t.Context(), r), r)
	if id := value(l.one(t, "ping", "server"), "jsonrpc.request.id"); len(id) != 64 || strings.Contains(id, "\n") {
		t.Errorf("%d bytes: %.70q", len(id), id)
	}
}

// What is much too long is not kept, and not looked at.
func TestNamesWithoutEnd(t *testing.T) {
	l := newLab(t, belt.Options{})
	r := &mcp.RequestInfo{Server: "s", Method: strings.Repeat("x", 4*128+1), Incoming: true}
	l.RequestEnd(l.RequestStart(t.Context(), r), r)
	l.one(t, "_OTHER", "server")
	c := newClient(t, &transport.Pipe{Serve: newServer(mcp.Revision20251125).Run}, mcp.ClientOptions{Tracer: l})
	_, _ = c.ReadResource(t.Context(), "file:///"+strings.Repeat("x", 16*512), nil)
	_ = c.Close()
	if uri := value(l.one(t, "resources/read", "client"), "mcp.resource.uri"); uri != "" {
		t.Errorf("the URI is %.20q of %d bytes", uri, len(uri))
	}
}

// The names of so many servers are told apart, and no more.
func TestNamesOfManyServers(t *testing.T) {
	l := newLab(t, belt.Options{})
	for i := range 1001 {
		r := &mcp.RequestInfo{Server: fmt.Sprint("s", i), Method: "made/up", Incoming: true}
		l.RequestEnd(l.RequestStart(t.Context(), r), r)
	}
	if got := l.spans.GetSpans(); len(got) != 1001 || got[999].Name != "made/up" || got[1000].Name != "_OTHER" {
		t.Errorf("%d spans, the last are %q", len(got), []string{got[999].Name, got[1000].Name})
	}
}

// Where a server is, by its origin.
func TestAddress(t *testing.T) {
	for origin, want := range map[string]string{
		"https://example.com":  "example.com 443",
		"http://example.com":   "example.com 80",
		"https://[::1]:8443":   "::1 8443",
		"http://[2001:db8::1]": "2001:db8::1 80",
	} {
		l := newLab(t, belt.Options{})
		r := &mcp.RequestInfo{Server: "s", Method: "ping", Incoming: true, Connection: mcp.ConnectionInfo{Origin: origin}}
		l.RequestEnd(l.RequestStart(t.Context(), r), r)
		if s := l.one(t, "ping", "server"); value(s, "server.address")+" "+value(s, "server.port") != want {
			t.Errorf("%s: %s, want %s", origin, says(s.Attributes), want)
		}
	}
}

// A server's tool that fails is told so on the server's side too, and what the server
// asks stays as it was.
func TestServerSide(t *testing.T) {
	l, server := newLab(t, belt.Options{}), newServer(mcp.Revision20251125)
	l.Server(server)
	asks := &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
	server.AddTool(&sdk.Tool{Name: "asks and fails", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, asks)
		return &sdk.CallToolResult{IsError: true}, err
	})
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}})
	assert.Value(c.CallTool(t.Context(), "asks and fails", nil, nil))(t)
	_ = c.Close()
	if len(asks.Meta) > 0 {
		t.Errorf("_meta of the caller is %v now", asks.Meta)
	}
	for _, s := range l.of("tools/call asks and fails") {
		if value(s, "error.type") != "tool_error" {
			t.Error(says(s.Attributes))
		}
	}
	if !strings.Contains(strings.Join(l.series(t, "mcp.server.operation.duration"), "\n"), "error.type=tool_error") {
		t.Error("the failure is not measured")
	}
}

// A handshake that fails says so, and where.
func TestServerThatIsAway(t *testing.T) {
	for name, away := range map[string]mcp.Transport{
		"process": &transport.Command{Path: "sh", Args: []string{"-c", "read request"}},
		"web":     &transport.Auto{URL: deadport.URL(t) + "/mcp?key=hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, belt.Options{})
			client := mcp.NewClient("s", away, &mcp.ClientOptions{Tracer: l})
			var unavailable *mcp.UnavailableError
			if err := client.Ping(t.Context()); !errors.As(err, &unavailable) {
				t.Errorf("the error is %v", err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			found := l.of("server/discover")
			if len(found) == 0 || value(found[0], "error.type") != "unavailable" {
				t.Fatalf("the spans are %v: %v", l.names(), found)
			}
			transport, address := "pipe", ""
			if name == "web" {
				transport, address = "tcp", "127.0.0.1"
			}
			if s := found[0]; value(s, "network.transport") != transport || value(s, "server.address") != address {
				t.Errorf("it says %s", says(s.Attributes))
			}
			if all := l.everything(t); strings.Contains(all, "hunter2") {
				t.Error("a secret is told")
			}
		})
	}
}

// Names that a client makes up are not told apart, so that those of the server still
// are, also of a tool that never ends well.
func TestNamesMadeUpByClients(t *testing.T) {
	l, server := newLab(t, belt.Options{MaxNames: 6}), newServer(mcp.Revision20251125)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if p, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && strings.HasPrefix(p.Name, "limited") {
				return nil, errors.New("too many calls")
			} else if ok && strings.HasPrefix(p.Name, "made-up0") {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such tool"}
			} else if ok && strings.HasPrefix(p.Name, "made-up1") {
				return nil, &jsonrpc.Error{Code: -32002, Message: "no such tool"}
			}
			return next(ctx, method, req)
		}
	})
	l.Server(server)
	server.AddTool(&sdk.Tool{Name: "breaks", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("no")
	})
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{})
	call := func(names ...string) {
		for _, name := range names {
			_, _ = c.CallTool(t.Context(), name, nil, nil)
		}
	}
	for i := range 20 {
		call(fmt.Sprint("made-up", i))
		_, _ = c.GetPrompt(t.Context(), fmt.Sprint("made-up", i), nil, nil)
	}
	call("breaks")
	for i := range 20 {
		call(fmt.Sprint("limited", i))
	}
	call("echo", "fails", "echo")
	_, _ = c.GetPrompt(t.Context(), "greet", nil, nil)
	_ = c.Close()
	all := strings.Join(l.series(t, "mcp.server.operation.duration"), "\n")
	for _, want := range []string{"gen_ai.tool.name=breaks", "gen_ai.tool.name=echo", "gen_ai.tool.name=fails", "gen_ai.prompt.name=greet", "gen_ai.tool.name=_OTHER", "gen_ai.prompt.name=_OTHER"} {
		assert.Contains(t, all, want+" ", "%s is not measured", want)
	}
	if strings.Contains(all, "made-up") || strings.Count(all, "limited") != 2 {
		t.Errorf("measured:\n%s", all)
	}
	for name, want := range map[string]int{"tools/call echo": 2, "tools/call fails": 1, "tools/call breaks": 1, "prompts/get greet": 1, "tools/call": 38, "prompts/get": 20} {
		assert.Equal(t, len(l.of(name)), want, "spans %s", name)
	}
}

// What a server put into _meta of its question stays.
func TestMetaOfServerStays(t *testing.T) {
	l, server := newLab(t, belt.Options{}), newServer(mcp.Revision20251125)
	theirs, sent := sdk.Meta{"baggage": "theirs=1"}, sdk.Meta(nil)
	server.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if p, ok := req.GetParams().(*sdk.ElicitParams); ok {
				sent = p.Meta
			}
			return next(ctx, method, req)
		}
	})
	l.Server(server)
	server.AddTool(&sdk.Tool{Name: "carries", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ours, err := baggage.Parse("ours=1")
		if err != nil {
			return nil, err
		}
		_, err = r.Session.Elicit(baggage.ContextWithBaggage(ctx, ours), &sdk.ElicitParams{
			Meta: theirs, Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
		return &sdk.CallToolResult{}, err
	})
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}})
	assert.Value(c.CallTool(t.Context(), "carries", nil, nil))(t)
	_ = c.Close()
	if sent["baggage"] != "theirs=1" || sent["traceparent"] == nil || len(theirs) != 1 {
		t.Errorf("_meta is %v, of %v", sent, theirs)
	}
}

// Nothing is kept of a session that has ended.
func TestSessionsThatHaveEnded(t *testing.T) {
	l, server := newLab(t, belt.Options{}), newServer(mcp.Revision20251125)
	l.Server(server)
	var session weak.Pointer[sdk.ServerSession]
	server.AddTool(&sdk.Tool{Name: "notes", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		session = weak.Make(r.Session)
		return &sdk.CallToolResult{}, nil
	})
	func() {
		c := mcp.NewClient("notes", &transport.Pipe{Serve: server.Run}, nil)
		assert.Value(c.CallTool(t.Context(), "notes", nil, nil))(t)
		_ = c.Close()
	}()
	wait(t, "the session to be freed", func() bool { runtime.GC(); return session.Value() == nil })
	runtime.KeepAlive(server)
}

// A request whose handler panics has ended, too.
func TestPanicOfServer(t *testing.T) {
	l, server := newLab(t, belt.Options{}), newServer(mcp.Revision20251125)
	server.AddTool(&sdk.Tool{Name: "panics", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		panic("sekret")
	})
	l.Server(server)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
			defer func() {
				if recover() != nil {
					err = errors.New("broken")
				}
			}()
			return next(ctx, method, req)
		}
	})
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{})
	if _, err := c.CallTool(t.Context(), "panics", nil, nil); err == nil {
		t.Error("no error")
	}
	_ = c.Close()
	if s := l.one(t, "tools/call", "server"); value(s, "error.type") != "panic" || strings.Contains(l.everything(t), "sekret") {
		t.Error(says(s.Attributes))
	}
}
