package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A tracerLog is a tracer that writes everything down.
type tracerLog struct {
	start func(ctx context.Context, r *mcp.RequestInfo) context.Context // may be nil
	end   func()                                                        // of a session; may be nil

	mu       sync.Mutex
	open     map[*mcp.RequestInfo]bool
	wrong    []string
	ended    []mcp.RequestInfo
	params   []string // "name" or "uri" of each
	retries  []error
	sessions []mcp.SessionInfo
}

type noteKey struct{}

func (n *tracerLog) RequestStart(ctx context.Context, r *mcp.RequestInfo) context.Context {
	n.mu.Lock()
	if n.open == nil {
		n.open = map[*mcp.RequestInfo]bool{}
	}
	n.open[r] = true
	n.mu.Unlock()
	ctx = context.WithValue(ctx, noteKey{}, r)
	if n.start != nil {
		return n.start(ctx, r)
	}
	return ctx
}

func (n *tracerLog) RequestEnd(ctx context.Context, r *mcp.RequestInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open[r] {
		n.wrong = append(n.wrong, r.Method+" ended without a beginning")
	}
	if n.start == nil && ctx.Value(noteKey{}) != r {
		n.wrong = append(n.wrong, r.Method+" ended with another context")
	}
	delete(n.open, r)
	n.ended = append(n.ended, *r)
	n.params = append(n.params, string(r.Param("name"))+string(r.Param("uri")))
}

func (n *tracerLog) RequestRetry(_ context.Context, _ *mcp.RequestInfo, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retries = append(n.retries, err)
}

func (n *tracerLog) SessionEnd(s *mcp.SessionInfo) {
	if n.end != nil {
		n.end()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions = append(n.sessions, *s)
}

// of returns what has ended of a method.
func (n *tracerLog) of(method string) []mcp.RequestInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []mcp.RequestInfo
	for _, r := range n.ended {
		if r.Method == method {
			all = append(all, r)
		}
	}
	return all
}

// one returns what has ended of a method, if that is one.
func (n *tracerLog) one(t *testing.T, method string) mcp.RequestInfo {
	t.Helper()
	all := n.of(method)
	assert.Equal(t, len(all), 1)
	return all[0]
}

// closed closes a client, and fails the test if anything stayed open.
func (n *tracerLog) closed(t *testing.T, c *mcp.Client) {
	t.Helper()
	assert.OK(t, c.Close())
	n.mu.Lock()
	defer n.mu.Unlock()
	assert.Equal(t, len(n.open), 0, "requests that have not ended")
	assert.List(t, n.wrong, nil)
}

// Each request of each kind is told, once, with its id, its attempts and its
// connection, and so are the handshake and the notifications.
func TestTracerSeesEverything(t *testing.T) {
	listening := make(chan string, 2)
	s := newServerOfAll(t, listening)
	n := &tracerLog{}
	c := newReady(t, &s.HTTP, &mcp.ClientOptions{Elicit: annAnswers, Tasks: true, Tracer: n})
	askAll(t, c)
	<-listening
	n.closed(t, c)
	for method := range s.script {
		all := n.of(method)
		wantOther(t, len(all), 0, "requests %s", method)
		for _, r := range all {
			assert.Equal(t, [...]any{r.Server, r.Incoming, r.Notification, r.ID == "", r.Attempts, r.SentAt.IsZero()},
				[...]any{"scripted", false, false, false, 1, false}, "%s", method)
			assert.Equal(t, [...]any{r.Connection.Origin, r.Connection.SessionID}, [...]any{strings.TrimSuffix(s.HTTP.URL, "/"), ""}, "%s", method)
			if method == "subscriptions/listen" {
				continue // it stays unanswered
			}
			assert.Equal(t, r.Result == nil, r.Err != nil, "%s: no result with error %v", method, r.Err)
			if r.Err == nil {
				assert.Equal(t, r.Connection.ProtocolVersion, mcp.Revision20260728, "%s: revision", method)
			}
		}
	}
	asked := n.one(t, "elicitation/create")
	assert.OK(t, asked.Err)
	assert.Equal(t, [...]any{asked.Incoming, asked.ID, asked.Result == nil}, [...]any{true, "", false})
	n.mu.Lock()
	defer n.mu.Unlock()
	assert.ContainsAll(t, strings.Join(n.params, " "), `"tool"`, `"prompt"`, `"file:///r"`)
	wantLen(t, n.sessions, 1, "sessions")
	assert.OK(t, n.sessions[0].Err)
	assert.Equal(t, n.sessions[0].Connection.ProtocolVersion, mcp.Revision20260728, "protocol version")
}

// The older handshake, what the server asks and tells, and what becomes of it.
func TestTracerSeesOlderServer(t *testing.T) {
	n := &tracerLog{}
	var inside any
	server, c := withClient(t, legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Notify("notifications/tools/list_changed", `{"_meta":{"traceparent":"note"}}`)
		assert.Is(t, assert.Err(c.Ask("elicitation/create", `{"_meta":{"traceparent":"theirs"},"message":"?","requestedSchema":{"type":"object","properties":{}}}`)), nil)
		assert.Fails(t, assert.Err(c.Ask("sampling/createMessage", `{}`)), "there is a model")
		assert.Is(t, assert.Err(c.Ask("ping", `{}`)), nil)
		c.Result(`{"content":[],"isError":true}`)
	}}), &mcp.ClientOptions{Tracer: n, ListRoots: rootsAt(), Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		inside = ctx.Value(noteKey{})
		return accept(map[string]any{}), nil
	}})
	mustCall(t, c, "x")
	assert.OK(t, c.RootsChanged(t.Context()))
	server.Await("notifications/roots/list_changed", 1)
	n.closed(t, c)
	// The roots that change while a connection is being made may be told of twice, of which
	// Close may cut off the second.
	told := 0
	for _, r := range append(n.of("notifications/roots/list_changed"), n.one(t, "notifications/initialized")) {
		assert.Equal(t, [...]any{r.Notification, r.Incoming, r.ID}, [...]any{true, false, ""}, "%s", r.Method)
		if r.Err == nil {
			told++
		} else {
			assert.Is(t, r.Err, context.Canceled, "%s", r.Method)
		}
	}
	assert.Between(t, told, 2, 3, "notifications of the handshake and of the roots")
	assert.Equal(t, cast[*mcp.RequestInfo](t, inside).Method, "elicitation/create", "the handler's context")
	for _, want := range []struct {
		method                        string
		incoming, notification, hasID bool
		trace, result                 string
	}{
		{"initialize", false, false, true, "", "2025-11-25"},
		{"notifications/tools/list_changed", true, true, false, "note", ""},
		{"elicitation/create", true, false, true, "theirs", "accept"},
		{"ping", true, false, true, "", "{}"},
		{"tools/call", false, false, true, "", `"isError":true`},
	} {
		r := n.one(t, want.method)
		trace, _ := r.Meta("traceparent")
		assert.OK(t, r.Err, "%s", want.method)
		assert.Equal(t, [...]any{r.Incoming, r.Notification, r.ID != "", trace}, [...]any{want.incoming, want.notification, want.hasID, want.trace}, "%s", want.method)
		assert.Contains(t, string(r.Result), want.result, "%s", want.method)
	}
	refused := n.one(t, "sampling/createMessage")
	assert.As[*mcp.JSONRPCError](t, refused.Err)
	assert.Equal(t, len(refused.Result), 0, "result of the refused request")
}

// What a tracer adds to _meta and to the header arrives, on both planes; what the
// caller and the protocol put there stays.
func TestTracerAdds(t *testing.T) {
	tag := func(ctx context.Context, r *mcp.RequestInfo) context.Context {
		for _, meta := range [][2]string{{"traceparent", "00-\"" + r.Method}, {"traceparent", "twice"}, {"tracestate", "ours"},
			{"progressToken", "ours"}, {"io.modelcontextprotocol/protocolVersion", "ours"}} {
			r.AddMeta(meta[0], meta[1])
		}
		for _, field := range [][2]string{{"traceparent", "00-" + r.Method}, {"User", "ours"}, {"bad name", "x"},
			{"Bad-Value", "a\nb"}, {"Mcp-Protocol-Version", "ours"}} {
			r.AddHeader(field[0], field[1])
		}
		return ctx
	}
	for revision, handshake := range map[string]string{mcp.Revision20251125: "initialize", mcp.Revision20260728: "server/discover"} {
		s := newWebServer(t, revision, map[string]func(*webRequest){"tools/call": result(`{"resultType":"complete","content":[]}`)})
		s.HTTP.Header = map[string][]string{"User": {"theirs"}}
		n := &tracerLog{start: tag}
		c := newClient(t, &s.HTTP, &mcp.ClientOptions{Tracer: n})
		assert.Value(c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Meta: mcp.Meta{"tracestate": "theirs", "own": 1}}))(t)
		n.closed(t, c)
		for _, method := range []string{handshake, "tools/call"} {
			v := s.of(method)[0]
			var params struct {
				Meta map[string]any `json:"_meta"`
			}
			assert.OK(t, json.Unmarshal(v.Params, &params))
			want := map[string]any{"traceparent": "00-\"" + method, "tracestate": "ours"}
			if method == "tools/call" {
				want["tracestate"], want["own"] = "theirs", 1.0
				cast[float64](t, params.Meta["progressToken"])
				wantOther(t, v.Header.Get("Mcp-Protocol-Version"), "ours", "version in the header")
			}
			wantOther(t, params.Meta["io.modelcontextprotocol/protocolVersion"], any("ours"), "version in _meta")
			maps.DeleteFunc(params.Meta, func(key string, _ any) bool { return key == "progressToken" || strings.Contains(key, "/") })
			assert.Equal(t, fmt.Sprint(params.Meta), fmt.Sprint(want), "%s: _meta", method)
			assert.Equal(t, strings.Count(string(v.Params), `"traceparent"`), 1, "%s: traceparents", method)
			for field, want := range map[string]string{"Traceparent": "00-" + method, "User": "theirs", "Bad-Value": "", "Bad Name": ""} {
				assert.Equal(t, v.Header.Get(field), want, "%s: header %s", method, field)
			}
		}
	}
}

// A request that is sent twice is one, with two attempts; one that is never sent
// has none.
func TestTracerCountsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &tracerLog{}
		c := newClient(t, legacy(t, mcptest.Script{
			"prompts/get": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"messages":[]}`)),
			"tools/call":  mcptest.Disconnect,
		}), &mcp.ClientOptions{Tracer: n, Limits: mcp.Limits{MaxInFlight: 1, MaxQueued: -1}})
		assert.Value(c.GetPrompt(t.Context(), "p", nil, nil))(t)
		r := n.one(t, "prompts/get")
		assert.OK(t, r.Err)
		wantLen(t, n.retries, 1, "retries")
		assert.Fails(t, n.retries[0])
		assert.Equal(t, r.Attempts, 2, "attempts")
		_, err := call(t, c, "x")
		r = n.one(t, "tools/call")
		assert.As[*mcp.OutcomeUnknownError](t, r.Err)
		assert.Equal(t, [...]any{r.Attempts, r.Err.Error()}, [...]any{1, err.Error()})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.Fails(t, assert.Err(c.GetPrompt(ctx, "p", nil, nil)))
		for _, r := range n.of("prompts/get")[1:] {
			assert.Is(t, r.Err, context.Canceled)
			assert.Equal(t, [...]any{r.Attempts, r.ID, r.SentAt.IsZero()}, [...]any{0, "", true})
		}
		n.closed(t, c)
		assert.Between(t, len(n.sessions), 2, 3, "sessions")
		assert.Fails(t, n.sessions[0].Err)

		n = &tracerLog{}
		away := newClient(t, transportFunc(func(context.Context) (mcp.Conn, error) { return nil, errDown }), &mcp.ClientOptions{Tracer: n})
		for method, want := range map[string]error{"tools/call": assert.Err(call(t, away, "x")), "tools/list": assert.Err(away.Tools(t.Context())),
			"ping": away.Ping(t.Context()), "prompts/list": assert.Err(collect(away.Prompts(t.Context())))} {
			r := n.one(t, method)
			assert.Is(t, want, errDown, "%s", method)
			assert.Equal(t, [...]any{r.Err, r.Attempts}, [...]any{want, 0}, "%s", method)
		}
	})
}

// A cancelled call ends, and so does what the server asked meanwhile.
func TestTracerSeesCancelledCall(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		n := &tracerLog{}
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Hang})
		c := newReady(t, p.to(server), &mcp.ClientOptions{Tracer: n})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { server.Await("tools/call", 1); cancel() }()
		assert.Is(t, assert.Err(c.CallTool(ctx, "x", nil, nil)), context.Canceled)
		r := n.one(t, "tools/call")
		assert.Is(t, r.Err, context.Canceled)
		assert.Equal(t, [...]any{r.Attempts, r.ID == ""}, [...]any{1, false})
		n.closed(t, c)
	})
}

// A handshake that fails ends as well.
func TestTracerSeesFailedHandshake(t *testing.T) {
	for name, script := range map[string]mcptest.Script{
		"refused": {"initialize": mcptest.Error(-1, "no")},
		"gone":    {"initialize": mcptest.Disconnect},
		"silent":  {"initialize": mcptest.Hang},
	} {
		n := &tracerLog{}
		server, c := withClient(t, legacy(t, script), &mcp.ClientOptions{Tracer: n})
		done := inBackground(func() error { return c.Ready(t.Context()) })
		server.Await("initialize", 1)
		if name == "silent" {
			_ = c.Close()
		}
		assert.Fails(t, <-done, "%s", name)
		n.closed(t, c)
		assert.Fails(t, n.of("initialize")[0].Err, "%s", name)
		assert.Equal(t, len(n.sessions), 0, "%s: sessions", name)
	}
}

// A panickingTracer panics everywhere, or returns no context.
type panickingTracer struct{ silent bool }

func (r *panickingTracer) RequestStart(context.Context, *mcp.RequestInfo) context.Context {
	if !r.silent {
		panic("start")
	}
	return nil
}

func (*panickingTracer) RequestEnd(context.Context, *mcp.RequestInfo) { panic("end") }

func (*panickingTracer) RequestRetry(context.Context, *mcp.RequestInfo, error) { panic("retry") }

func (*panickingTracer) SessionEnd(*mcp.SessionInfo) { panic("session") }

// A tracer that panics harms nobody.
func TestTracerPanics(t *testing.T) {
	for _, silent := range []bool{false, true} {
		c := newClient(t, legacy(t, mcptest.Script{
			"prompts/get": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"messages":[]}`)),
			"tools/call":  text("fine"),
		}), &mcp.ClientOptions{Tracer: &panickingTracer{silent}})
		mustCall(t, c, "x")
		assert.Value(c.GetPrompt(t.Context(), "p", nil, nil))(t)
		assert.OK(t, c.Close())
	}
}

// Against the official server, over HTTP and a pipe, the tracer's words reach the
// handler's request.
func TestTracerReachesOfficialServer(t *testing.T) {
	got := make(chan any, 1)
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		got <- r.Params.Meta["traceparent"]
		return &sdk.CallToolResult{}, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(web.Close)
	n := &tracerLog{start: func(ctx context.Context, r *mcp.RequestInfo) context.Context {
		r.AddMeta("traceparent", "tp")
		return ctx
	}}
	for name, to := range map[string]mcp.Transport{"pipe": &transport.Pipe{Serve: server.Run}, "HTTP": &transport.HTTP{URL: web.URL}} {
		mustCall(t, newClient(t, to, &mcp.ClientOptions{Tracer: n}), "x")
		assert.Equal(t, <-got, "tp", "%s", name)
	}
}
