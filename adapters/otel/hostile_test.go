package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

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
		assert.Fails(t, assert.Err(c.CallTool(t.Context(), "x", nil, nil)))
	}
	_ = c.Close()
	calls := 0
	for _, s := range l.series(t, "mcp.client.operation.duration") {
		if strings.Contains(s, "tools/call") {
			calls++
		}
	}
	assert.Equal(t, calls, 2)
	all := l.everything(t)
	for _, want := range []string{"error.type=1001", "rpc.response.status_code=1001", "error.type=-32602", "error.type=_OTHER"} {
		assert.True(t, strings.Contains(all, want), "%s is not told", want)
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
	assert.Equal(t, asked.SpanContext.TraceID().String(), "0af7651916cd43dd8448eb211c80319c", "trace")
	assert.True(t, asked.Parent.IsRemote(), "trace")
	assert.True(t, assert.Only(t, asked.Links).SpanContext.Equal(root.SpanContext()), "links")
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
	i := strings.Index(all, "sekret")
	assert.False(t, i >= 0, "told: %s", all[max(0, i-100):i+30])
	assert.True(t, strings.Contains(all, "mcp.resource.uri=data:"), "the scheme is not told")
	assert.True(t, strings.Contains(all, "mcp.resource.uri=urn:isbn:1"), "the name is not told")
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
	assert.Equal(t, value(l.one(t, "resources/read", "client"), "mcp.resource.uri"), "", "the URI")
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
		r := &mcp.RequestInfo{Server: "s", Method: "ping", Incoming: true, Connection: mcp.ConnInfo{Origin: origin}}
		l.RequestEnd(l.RequestStart(t.Context(), r), r)
		if s := l.one(t, "ping", "server"); value(s, "server.address")+" "+value(s, "server.port") != want {
			t.Errorf("%s: %s, want %s", origin, says(s.Attributes), want)
		}
	}
}

// A handshake that fails says so, and where.
func TestServerThatIsAway(t *testing.T) {
	for name, away := range map[string]mcp.Transport{
		"process": &transport.Command{Path: "sh", Args: []string{"-c", "read request"}},
		"web":     &transport.HTTP{Variant: transport.Auto, URL: deadport.URL(t) + "/mcp?key=hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, belt.Options{})
			client := mcp.NewClient("s", away, &mcp.ClientOptions{Tracer: l})
			var unavailable *mcp.UnavailableError
			assert.True(t, errors.As(client.Ping(t.Context()), &unavailable), "the error")
			assert.OK(t, client.Close())
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
			assert.Lacks(t, l.everything(t), "hunter2", "a secret is told")
		})
	}
}
