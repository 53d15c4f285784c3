package otel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A trace goes from the caller through the client to the server, over pipes and
// HTTP, and the span says what the conventions want.
func TestTraceJoins(t *testing.T) {
	for _, version := range versions() {
		for _, way := range []string{"pipe", "HTTP"} {
			t.Run(version+"/"+way, func(t *testing.T) {
				l, server := newLab(t, belt.Options{}), newServer(version)
				parents := parentsAt(server)
				var to mcp.Transport = &transport.Pipe{Serve: server.Run}
				if way == "HTTP" {
					to = web(t, server, version, nil)
				}
				c := newClient(t, to, mcp.ClientOptions{Tracer: l})
				ctx, root := l.tracer.Tracer("test").Start(t.Context(), "root")
				assert.Value(c.CallTool(ctx, "echo", json.RawMessage(`{"a":1}`), nil))(t)
				root.End()
				ours := l.one(t, "tools/call echo", "client")
				assert.Equal(t, ours.Parent.SpanID(), root.SpanContext().SpanID(), "the client's span is no child of the caller's")
				assert.Equal(t, ours.SpanContext.TraceID(), root.SpanContext().TraceID(), "the client's span is no child of the caller's")
				assert.Equal(t, ours.Status.Code, codes.Unset)
				id := value(ours, "jsonrpc.request.id")
				assert.False(t, id == "", "the client's span has no id")
				network := "network.transport=pipe"
				if way == "HTTP" {
					network = "network.protocol.name=http network.transport=tcp server.address=127.0.0.1 server.port=" + value(ours, "server.port")
				}
				want := "gen_ai.operation.name=execute_tool gen_ai.tool.name=echo jsonrpc.request.id=" + id + " mcp.method.name=tools/call mcp.protocol.version=" + version + " mcpbelt.server.name=notes " + network
				assert.Equal(t, says(ours.Attributes), want, "client")
				greeting := "server/discover"
				if version == mcp.Revision20251125 {
					greeting = "initialize"
					assert.Equal(t, parents("notifications/initialized"), parentOf(l.one(t, "notifications/initialized", "client")), "the notification's parent")
				}
				greets := l.one(t, greeting, "client")
				for method, span := range map[string]tracetest.SpanStub{"tools/call": ours, greeting: greets} {
					assert.Equal(t, parents(method), parentOf(span), "%s: the parent at the server", method)
				}
				assert.Equal(t, value(greets, "mcp.protocol.version"), version, "%s says revision", greeting)
			})
		}
	}
}

// parentOf returns the traceparent that a request below a span carries.
func parentOf(s tracetest.SpanStub) string {
	return fmt.Sprintf("00-%s-%s-01", s.SpanContext.TraceID(), s.SpanContext.SpanID())
}

// parentsAt returns what finds the traceparent of the last request of a method that came to a server.
func parentsAt(server *sdk.Server) func(method string) string {
	var mu sync.Mutex
	parents := map[string]string{}
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			mu.Lock()
			parents[method], _ = req.GetParams().GetMeta()["traceparent"].(string)
			mu.Unlock()
			return next(ctx, method, req)
		}
	})
	return func(method string) string {
		mu.Lock()
		defer mu.Unlock()
		return parents[method]
	}
}

// The header of each HTTP request carries the context as well, and so does baggage.
func TestHeader(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			l, server := newLab(t, belt.Options{}), newServer(version)
			var mu sync.Mutex
			seen := map[string]http.Header{}
			to := web(t, server, version, func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				seen[r.Header.Get("Traceparent")] = r.Header.Clone()
			})
			c := newClient(t, to, mcp.ClientOptions{Tracer: l})
			member, _ := baggage.NewMember("tenant", "blue")
			bag, _ := baggage.New(member)
			assert.Value(c.CallTool(baggage.ContextWithBaggage(t.Context(), bag), "echo", nil, nil))(t)
			parent := parentOf(l.one(t, "tools/call echo", "client"))
			mu.Lock()
			header, ok := seen[parent]
			all := slices.Collect(maps.Keys(seen))
			mu.Unlock()
			if !ok || header.Get("Baggage") != "tenant=blue" {
				t.Errorf("no request has %s: %q; baggage %q", parent, all, header.Get("Baggage"))
			}
		})
	}
}

// What the caller put into _meta stays, and their trace is not mixed with ours.
func TestCallersMetaStays(t *testing.T) {
	l := newLab(t, belt.Options{})
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": mcptest.Result(`{"content":[]}`)})
	c := newClient(t, server, mcp.ClientOptions{Tracer: l})
	const theirs = "00-aaf7651916cd43dd8448eb211c80319c-aaad6b7169203331-01"
	ours := propagation.MapCarrier{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "ours=1"}
	ctx, span := l.tracer.Tracer("test").Start(propagation.TraceContext{}.Extract(t.Context(), ours), "root")
	defer span.End()
	assert.Value(c.CallTool(ctx, "x", nil, &mcp.RequestOptions{Meta: mcp.Meta{"traceparent": theirs, "own": true}}))(t)
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	assert.OK(t, json.Unmarshal(server.Received("tools/call")[0].Params, &params))
	if params.Meta["traceparent"] != theirs || params.Meta["own"] != true || params.Meta["tracestate"] != nil {
		t.Errorf("_meta is %v", params.Meta)
	}
}

// A failed request says how it failed, in one word, and what the server says of it
// is told only if that is asked for.
func TestErrors(t *testing.T) {
	const secret = "hunter2 is not the password"
	for name, test := range map[string]struct {
		script mcptest.Script
		call   func(context.Context, *mcp.Client) error
		want   string
	}{
		"code":  {mcptest.Script{"tools/call": mcptest.Error(-32602, secret)}, callX, "-32602"},
		"lost":  {mcptest.Script{"tools/call": mcptest.Disconnect}, callX, "outcome_unknown"},
		"tool":  {mcptest.Script{"tools/call": mcptest.Result(`{"isError":true,"content":[{"type":"text","text":"` + secret + `"}]}`)}, callX, "tool_error"},
		"snake": {mcptest.Script{"tools/call": mcptest.Result(`{"isError":false,"is_error":true,"content":[]}`)}, callX, "tool_error"},
		"bad":   {mcptest.Script{"tools/call": mcptest.Result(`{"content":3}`)}, callX, ""}, // the request was answered; what it means is not asked here
		"time": {mcptest.Script{"tools/call": mcptest.Hang}, func(ctx context.Context, c *mcp.Client) error {
			_, err := c.CallTool(ctx, "x", nil, &mcp.RequestOptions{CallTimeout: time.Millisecond})
			return err
		}, "timeout"},
		"cancelled": {mcptest.Script{"tools/call": mcptest.Hang}, func(ctx context.Context, c *mcp.Client) error {
			if err := c.Ready(ctx); err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(ctx)
			defer context.AfterFunc(ctx, func() {})()
			cancel()
			return callX(ctx, c)
		}, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []bool{false, true} {
				var opts belt.Options
				if open {
					opts.Attributes = append(belt.DefaultAttributes(), belt.ToolResult)
				}
				l := newLab(t, opts)
				c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), test.script), mcp.ClientOptions{Tracer: l})
				_ = test.call(t.Context(), c)
				span := l.one(t, "tools/call x", "client")
				assert.Equal(t, value(span, "error.type"), test.want, "error.type")
				assert.False(t, (span.Status.Code == codes.Error) != (test.want != ""), "status %v", span.Status)
				if name == "code" && (value(span, "rpc.response.status_code") != test.want || (span.Status.Description == secret) != open) {
					t.Errorf("%s, status %v", says(span.Attributes), span.Status)
				}
				assert.False(t, !open && strings.Contains(l.everything(t), "hunter2"), "the server's words are told")
				series := strings.Join(l.series(t, "mcp.client.operation.duration"), "\n")
				if test.want != "" && !strings.Contains(series, "error.type="+test.want+" gen_ai.operation.name=execute_tool gen_ai.tool.name=x") {
					t.Errorf("measured:\n%s", series)
				}
				_ = c.Close()
			}
		})
	}
	// No server at all: there is a span all the same.
	l := newLab(t, belt.Options{})
	c := newClient(t, &transport.HTTP{URL: "http://127.0.0.1:1/?token=sekret"}, mcp.ClientOptions{Tracer: l})
	assert.False(t, callX(t.Context(), c) == nil, "no error")
	_ = c.Close()
	assert.Equal(t, value(l.one(t, "tools/call x", "client"), "error.type"), "unavailable", "error.type")
	assert.False(t, strings.Contains(l.everything(t), "sekret"), "the token is told")
}

func callX(ctx context.Context, c *mcp.Client) error {
	_, err := c.CallTool(ctx, "x", nil, nil)
	return err
}

// A request that was sent twice is one span, with an event between the attempts.
func TestRetry(t *testing.T) {
	l := newLab(t, belt.Options{})
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"prompts/get": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"messages":[]}`))})
	c := newClient(t, server, mcp.ClientOptions{Tracer: l})
	assert.Value(c.GetPrompt(t.Context(), "greet", nil, nil))(t)
	span := l.one(t, "prompts/get greet", "client")
	if len(span.Events) != 1 || span.Events[0].Name != "mcpbelt.retry" || says(span.Events[0].Attributes) != "error.type=_OTHER" || span.Status.Code != codes.Unset {
		t.Errorf("events %v, status %v", span.Events, span.Status)
	}
	assert.Equal(t, value(span, "mcpbelt.request.attempts"), "2")
	assert.Equal(t, value(span, "gen_ai.prompt.name"), "greet")
	assert.Equal(t, value(span, "gen_ai.operation.name"), "")
	_ = c.Close()
	got := l.series(t, "mcp.client.session.duration")
	assert.False(t, len(got) != 2 || !strings.Contains(strings.Join(got, "\n"), "error.type=_OTHER"), "sessions %q", got)
}

// What a server asks is a span of kind SERVER below the one in which it asks, and what the
// handler does is below that.
func TestElicitation(t *testing.T) {
	l := newLab(t, belt.Options{})
	to := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, ""), mcptest.Script{"tools/call": mcptest.Sequence(
		mcptest.Result(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`),
		mcptest.Result(`{"resultType":"complete","content":[]}`))})
	c := newClient(t, to, mcp.ClientOptions{Tracer: l, Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		_, span := l.tracer.Tracer("test").Start(ctx, "human")
		span.End()
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}})
	ctx, root := l.tracer.Tracer("test").Start(t.Context(), "root")
	assert.Value(c.CallTool(ctx, "asks", nil, nil))(t)
	root.End()
	_ = c.Close()
	asked := l.one(t, "elicitation/create", "server")
	assert.Equal(t, l.of("human")[0].Parent.SpanID(), asked.SpanContext.SpanID(), "the parent of the handler's span")
	assert.Equal(t, asked.Parent.SpanID(), root.SpanContext().SpanID(), "the parent of the server's request")
	assert.Contains(t, strings.Join(l.series(t, "mcp.server.operation.duration"), "\n"), "mcp.method.name=elicitation/create")
}

// The buckets are those of the conventions.
func TestMetrics(t *testing.T) {
	l, server := newLab(t, belt.Options{}), newServer(mcp.Revision20251125)
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{Tracer: l})
	for range 3 {
		assert.Value(c.CallTool(t.Context(), "echo", nil, nil))(t)
	}
	assert.Value(c.ReadResource(t.Context(), "file:///a", nil))(t)
	_ = c.Close()
	const metric = "mcp.client.operation.duration"
	got := l.series(t, metric)
	for _, want := range []string{
		"3 gen_ai.operation.name=execute_tool gen_ai.tool.name=echo mcp.method.name=tools/call mcp.protocol.version=2025-11-25 mcpbelt.server.name=notes network.transport=pipe",
		"1 mcp.method.name=resources/read mcp.protocol.version=2025-11-25 mcpbelt.server.name=notes network.transport=pipe",
	} {
		assert.True(t, slices.Contains(got, want), "%q: has %s", got, want)
	}
	for _, p := range l.histogram(t, metric) {
		assert.Equal(t, fmt.Sprint(p.Bounds), "[0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30 60 120 300]", "buckets")
	}
	if got, want := l.series(t, "mcp.client.session.duration"), "1 mcp.protocol.version=2025-11-25 mcpbelt.server.name=notes network.transport=pipe"; len(got) != 1 || got[0] != want {
		t.Errorf("sessions %q, want %q", got, want)
	}
}

// Neither arguments nor results, addresses, ids of sessions or the words of a URI
// that may be secret are told, unless that is asked for; then secrets are hidden.
func TestNoSecrets(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	for _, version := range versions() {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprint(version, open), func(t *testing.T) {
				opts := belt.Options{}
				if open {
					opts.Attributes = append(belt.DefaultAttributes(), belt.SessionID, belt.ToolArguments, belt.ToolResult)
				}
				l, server := newLab(t, opts), newServer(version)
				to := web(t, server, version, nil)
				to.Header = http.Header{"Authorization": {"Bearer sekret-in-header"}}
				c := newClient(t, to, mcp.ClientOptions{Tracer: l})
				assert.Value(c.CallTool(t.Context(), "echo", json.RawMessage(`{"password":"sekret-argument","token":"`+token+`"}`), nil))(t)
				_, _ = c.CallTool(t.Context(), "no "+token, nil, nil)
				_, _ = c.ReadResource(t.Context(), "https://user:sekret-in-uri@host/path/"+token+"?key=sekret-query#sekret-fragment", nil)
				_, _ = c.ReadResource(t.Context(), "mailto:sekret@host", nil)
				_, _ = c.ReadResource(t.Context(), "%zz?sekret", nil)
				_ = c.Close()
				all := l.everything(t)
				assert.False(t, strings.Contains(all, token), "the token is told")
				shown := "sekret"
				if open {
					shown = "sekret-in"
					assert.Contains(t, all, "sekret-argument", "what was asked for is not told")
					assert.False(t, strings.Count(all, "gen_ai.tool.call.result=") < 1, "what was asked for is not told")
					assert.False(t, (version == mcp.Revision20251125) != strings.Contains(all, "mcp.session.id="), "session id")
				} else if strings.Contains(all, "mcp.session.id") {
					t.Error("the session's id is told")
				}
				i := strings.Index(all, shown)
				assert.False(t, i >= 0, "told: %s", all[max(0, i-100):i+30])
				assert.True(t, strings.Contains(all, "mcp.resource.uri=https://host/path/"), "no URI")
			})
		}
	}
}

// However many names a person makes up, only so many are told apart, and they are
// short and in one line.
func TestNames(t *testing.T) {
	l := newLab(t, belt.Options{MaxNames: 3})
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": func(call *mcptest.Call) {
		for i := range 20 {
			call.Notify(fmt.Sprintf("notifications/made-up-%d", i), "{}")
		}
		call.Notify("notifications/message", `{"level":"info","data":"x"}`)
		call.Result(`{"content":[]}`)
	}})
	c := newClient(t, server, mcp.ClientOptions{Tracer: l})
	for i := range 20 {
		assert.Value(c.CallTool(t.Context(), fmt.Sprintf("tool-%d", i), nil, nil))(t)
	}
	long := strings.Repeat("ä", 1000) + "\n"
	assert.Value(c.CallTool(t.Context(), "a\nb\x1b[31m\xff"+long, nil, nil))(t)
	_ = c.Close()
	for _, name := range []string{"mcp.client.operation.duration", "mcp.server.operation.duration"} {
		got := l.series(t, name)
		assert.False(t, len(got) > 8, "%s has %d series", name, len(got))
	}
	assert.False(t, len(l.of("tools/call")) == 0, "no span without a name")
	for _, s := range l.spans.GetSpans() {
		assert.False(t, len(s.Name) > 200 || !utf8.ValidString(s.Name) || strings.ContainsAny(s.Name, "\n\x1b"), "span %q", s.Name)
		if v := value(s, "gen_ai.tool.name"); len(v) > 128 || !utf8.ValidString(v) || strings.ContainsAny(v, "\n\x1b") || v == "_OTHER" {
			t.Errorf("tool %q", v)
		}
		assert.False(t, strings.HasPrefix(s.Name, "notifications/message"), "a span for a log message")
	}
}

// Only what is allowed is told.
func TestAllowList(t *testing.T) {
	l, server := newLab(t, belt.Options{Attributes: belt.DefaultAttributes()[:1]}), newServer(mcp.Revision20251125)
	c := newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{Tracer: l})
	_, _ = c.CallTool(t.Context(), "fails", nil, nil)
	_, _ = c.ReadResource(t.Context(), "file:///a", nil)
	_ = c.Close()
	for _, s := range l.spans.GetSpans() {
		assert.Equal(t, says(s.Attributes), "mcp.method.name="+strings.TrimSuffix(s.Name, " fails"), "%s says", s.Name)
	}
	assert.List(t, l.series(t, "mcp.client.session.duration"), []string{"1 "}, "sessions")
	if s := l.one(t, "tools/call fails", "client"); s.Status.Code != codes.Error {
		t.Errorf("status %v", s.Status)
	}
}

// A trace that is not recorded goes on all the same.
func TestNotSampled(t *testing.T) {
	l := newLab(t, belt.Options{})
	off := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": mcptest.Result(`{"content":[]}`)})
	c := newClient(t, server, mcp.ClientOptions{Tracer: belt.New(&belt.Options{TracerProvider: off, Propagator: nil})})
	assert.OK(t, callX(t.Context(), c))
	if got := string(server.Received("tools/call")[0].Params); !strings.Contains(got, `"traceparent":"00-`) || !strings.Contains(got, `-00"`) {
		t.Errorf("params %s", got)
	}
	assert.False(t, len(l.spans.GetSpans()) > 0, "spans of another provider")
}

// Many callers at once; the race detector looks on.
func TestConcurrent(t *testing.T) {
	l, server := newLab(t, belt.Options{MaxNames: 2}), newServer(mcp.Revision20251125)
	began := make([]chan struct{}, 24) // a server may not heed what cancels a call that it has not begun
	for i := range began {
		began[i] = make(chan struct{})
	}
	server.AddTool(&sdk.Tool{Name: "hangs", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ Call int }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		close(began[args.Call])
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := newClient(t, web(t, server, mcp.Revision20251125, nil), mcp.ClientOptions{Tracer: l, Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}})
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			name := []string{"echo", "fails", "asks", "hangs"}[i%4]
			if name == "hangs" {
				wg.Go(func() { <-began[i]; cancel() })
			}
			_, err := c.CallTool(ctx, name, json.RawMessage(fmt.Sprintf(`{"call":%d}`, i)), nil)
			assert.False(t, err != nil && !errors.Is(err, context.Canceled), "%s: %v", name, err)
			_, _ = c.Tools(ctx)
		})
	}
	wg.Wait()
	_ = c.Close()
	var calls uint64
	for _, p := range l.histogram(t, "mcp.client.operation.duration") {
		if strings.Contains(setSays(p.Attributes), "mcp.method.name=tools/call") {
			calls += p.Count
		}
	}
	assert.Equal(t, calls, 24, "calls measured")
}
