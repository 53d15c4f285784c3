package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
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

// A notebook is a tracer that writes everything down.
type notebook struct {
	start func(ctx context.Context, r *mcp.RequestInfo) context.Context // may be nil

	mu       sync.Mutex
	open     map[*mcp.RequestInfo]bool
	wrong    []string
	ended    []mcp.RequestInfo
	params   []string // "name" or "uri" of each
	retries  []error
	sessions []mcp.SessionInfo
}

type noteKey struct{}

func (n *notebook) RequestStart(ctx context.Context, r *mcp.RequestInfo) context.Context {
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

func (n *notebook) RequestEnd(ctx context.Context, r *mcp.RequestInfo) {
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

func (n *notebook) RequestRetry(_ context.Context, _ *mcp.RequestInfo, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retries = append(n.retries, err)
}

func (n *notebook) SessionEnd(s *mcp.SessionInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions = append(n.sessions, *s)
}

// of returns what has ended of a method.
func (n *notebook) of(method string) []mcp.RequestInfo {
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
func (n *notebook) one(t *testing.T, method string) mcp.RequestInfo {
	t.Helper()
	all := n.of(method)
	assert.Equal(t, len(all), 1)
	return all[0]
}

// closed fails the test if anything stayed open. The client is closed.
func (n *notebook) closed(t *testing.T) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for r := range n.open {
		t.Errorf("%s has not ended", r.Method)
	}
	for _, w := range n.wrong {
		t.Error(w)
	}
}

// Each request of each kind is told, once, with its id, its attempts and its
// connection, and so are the handshake and the notifications.
func TestTracerSeesEverything(t *testing.T) {
	listening := make(chan string, 2)
	s := siteOfAll(t, listening)
	n := &notebook{}
	c := newClient(t, &s.HTTP, &mcp.ClientOptions{Elicit: annAnswers, Tasks: true, Tracer: n})
	ready(t, c)
	askAll(t, c)
	<-listening
	assert.OK(t, c.Close())
	n.closed(t)
	for method := range s.script {
		all := n.of(method)
		wantOther(t, len(all), 0)
		for _, r := range all {
			assert.Equal(t, [...]any{r.Server, r.Incoming, r.Notification, r.Attempts, r.SentAt.IsZero()},
				[...]any{"scripted", false, false, 1, false}, "%s", method)
			wantOther(t, r.ID, "", "%s: ID", method)
			conn := r.Connection
			assert.Equal(t, [...]any{conn.Origin, conn.SessionID}, [...]any{strings.TrimSuffix(s.HTTP.URL, "/"), ""}, "%s", method)
			if r.Err == nil && method != "subscriptions/listen" && r.Connection.ProtocolVersion != mcp.Revision20260728 {
				t.Errorf("%s: revision %q", method, r.Connection.ProtocolVersion)
			}
			if (r.Err == nil) == (r.Result == nil) {
				t.Errorf("%s: result %s and error %v", method, r.Result, r.Err)
			}
		}
	}
	inputRequest := n.one(t, "elicitation/create")
	assert.OK(t, inputRequest.Err)
	assert.Equal(t, [...]any{inputRequest.Incoming, inputRequest.ID, inputRequest.Result == nil}, [...]any{true, "", false})
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.params, `"tool"`) || !slices.Contains(n.params, `"prompt"`) || !slices.Contains(n.params, `"file:///r"`) {
		t.Errorf("params %q", n.params)
	}
	wantLen(t, n.sessions, 1, "sessions")
	assert.OK(t, n.sessions[0].Err)
	assert.Equal(t, n.sessions[0].Connection.ProtocolVersion, mcp.Revision20260728, "protocol version")
}

// The older handshake, what the server asks and tells, and what becomes of it.
func TestTracerSeesOlderServer(t *testing.T) {
	n := &notebook{}
	server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Notify("notifications/tools/list_changed", `{"_meta":{"traceparent":"note"}}`)
		assert.Is(t, errOf(c.Ask("elicitation/create", `{"_meta":{"traceparent":"theirs"},"message":"?","requestedSchema":{"type":"object","properties":{}}}`)), nil)
		assert.Fails(t, errOf(c.Ask("sampling/createMessage", `{}`)), "there is a model")
		assert.Is(t, errOf(c.Ask("ping", `{}`)), nil)
		c.Result(`{"content":[],"isError":true}`)
	}})
	var inside any
	c := newClient(t, server, &mcp.ClientOptions{Tracer: n, Roots: []*mcp.Root{}, Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		inside = ctx.Value(noteKey{})
		return accept(map[string]any{}), nil
	}})
	mustCall(t, c, "x")
	assert.OK(t, c.SetRoots(t.Context(), nil))
	server.Await("notifications/roots/list_changed", 1)
	assert.OK(t, c.Close())
	n.closed(t)
	r := n.one(t, "initialize")
	assert.OK(t, r.Err, "initialize")
	assert.Equal(t, [...]any{r.Connection.ProtocolVersion, r.Incoming}, [...]any{mcp.Revision20251125, false}, "initialize")
	wantOther(t, r.ID, "", "initialize: ID")
	// The roots that change while a connection is being made may be told of twice, of which
	// Close may cut off the second.
	told := 0
	for _, r := range append(n.of("notifications/roots/list_changed"), n.one(t, "notifications/initialized")) {
		assert.Equal(t, [...]any{r.Notification, r.Incoming, r.ID}, [...]any{true, false, ""}, "%s", r.Method)
		if r.Err == nil {
			told++
		} else if !errors.Is(r.Err, context.Canceled) {
			t.Errorf("%s: got the error %v, want none", r.Method, r.Err)
		}
	}
	wantBetween(t, told, 2, math.MaxInt, "told")
	note := n.one(t, "notifications/tools/list_changed")
	if got, _ := note.Meta("traceparent"); !note.Notification || !note.Incoming || got != "note" {
		t.Errorf("the notification: %+v, traceparent %q", note, got)
	}
	asked := n.one(t, "elicitation/create")
	if got, _ := asked.Meta("traceparent"); got != "theirs" || asked.Err != nil || asked.ID == "" || !asked.Incoming || asked.Result == nil {
		t.Errorf("the elicitation: %+v, traceparent %q", asked, got)
	}
	assert.Equal(t, cast[*mcp.RequestInfo](t, inside).Method, "elicitation/create", "method")
	r = n.one(t, "sampling/createMessage")
	assert.As[*mcp.JSONRPCError](t, r.Err, "the refused request")
	assert.Equal(t, r.Result == nil, true, "the refused request: result")
	r = n.one(t, "ping")
	assert.OK(t, r.Err, "ping")
	assert.Equal(t, r.Incoming, true, "ping: incoming")
	r = n.one(t, "tools/call")
	assert.OK(t, r.Err, "the call")
	assert.Contains(t, string(r.Result), `"isError":true`, "the call")
}

// What a tracer adds to _meta and to the header arrives, on both planes; what the
// caller and the protocol put there stays.
func TestTracerAdds(t *testing.T) {
	tag := func(ctx context.Context, r *mcp.RequestInfo) context.Context {
		r.AddMeta("traceparent", "00-\""+r.Method)
		r.AddMeta("traceparent", "twice")
		r.AddMeta("tracestate", "ours")
		r.AddMeta("progressToken", "ours")
		r.AddMeta("io.modelcontextprotocol/protocolVersion", "ours")
		r.AddHeader("traceparent", "00-"+r.Method)
		r.AddHeader("User", "ours")
		r.AddHeader("bad name", "x")
		r.AddHeader("Bad-Value", "a\nb")
		r.AddHeader("Mcp-Protocol-Version", "ours")
		return ctx
	}
	everyRevision(t, func(t *testing.T, revision string) {
		s := newSite(t, revision, map[string]func(*visit){
			"tools/call":      result(`{"resultType":"complete","content":[]}`),
			"server/discover": result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`),
		})
		if revision == mcp.Revision20251125 {
			s.script["initialize"] = result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
			delete(s.script, "server/discover")
		}
		s.HTTP.Header = map[string][]string{"User": {"theirs"}}
		n := &notebook{start: tag}
		c := newClient(t, &s.HTTP, &mcp.ClientOptions{Tracer: n})
		assert.Value(c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Meta: mcp.Meta{"tracestate": "theirs", "own": 1}}))(t)
		assert.OK(t, c.Close())
		n.closed(t)
		greeting := "initialize"
		if revision == mcp.Revision20260728 {
			greeting = "server/discover"
		}
		for _, method := range []string{greeting, "tools/call"} {
			v := s.of(method)[0]
			var params struct {
				Meta map[string]any `json:"_meta"`
			}
			assert.OK(t, json.Unmarshal(v.Params, &params))
			want := map[string]any{"traceparent": "00-\"" + method, "tracestate": "ours"}
			if method == "tools/call" {
				want["tracestate"], want["own"] = "theirs", 1.0
				if _, ok := params.Meta["progressToken"].(float64); !ok {
					t.Errorf("progress token %v", params.Meta["progressToken"])
				}
			}
			if v := params.Meta["io.modelcontextprotocol/protocolVersion"]; v != nil && v != mcp.Revision20260728 {
				t.Errorf("version %v", v)
			}
			maps.DeleteFunc(params.Meta, func(key string, _ any) bool {
				return key == "progressToken" || strings.Contains(key, "/")
			})
			assert.Equal(t, fmt.Sprint(params.Meta), fmt.Sprint(want), "%s: fmt", method)
			assert.Equal(t, strings.Count(string(v.Params), `"traceparent"`), 1, "%s: \"traceparent\"", method)
			for field, want := range map[string]string{"Traceparent": "00-" + method, "User": "theirs", "Bad-Value": "", "Bad Name": ""} {
				assert.Equal(t, v.Header.Get(field), want, "%s: header %s", method, field)
			}
			if v.Header.Get("Mcp-Protocol-Version") == "ours" && method == "tools/call" {
				t.Error("the tracer replaced the version")
			}
		}
	})
}

// A request that is sent twice is one, with two attempts; one that is never sent
// has none.
func TestTracerCountsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notebook{}
		c := newClient(t, legacy(t, mcptest.Script{
			"prompts/get": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"messages":[]}`)),
			"tools/call":  mcptest.Disconnect,
		}), &mcp.ClientOptions{Tracer: n, MaxInFlight: 1, MaxQueued: -1})
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
		assert.Fails(t, errOf(c.GetPrompt(ctx, "p", nil, nil)))
		for _, r := range n.of("prompts/get")[1:] {
			assert.Is(t, r.Err, context.Canceled)
			assert.Equal(t, [...]any{r.Attempts, r.ID, r.SentAt.IsZero()}, [...]any{0, "", true})
		}
		away := newClient(t, transportFunc(func(context.Context) (mcp.Conn, error) { return nil, errors.New("away") }), &mcp.ClientOptions{Tracer: n})
		_, err = call(t, away, "x")
		_, toolsErr := away.Tools(t.Context())
		pingErr := away.Ping(t.Context())
		_, promptsErr := collect(away.Prompts(t.Context()))
		for method, want := range map[string]error{"tools/call": err, "tools/list": toolsErr, "ping": pingErr, "prompts/list": promptsErr} {
			all := n.of(method)
			assert.Fails(t, want, "%s", method)
			assert.Equal(t, [...]any{all[len(all)-1].Err, all[len(all)-1].Attempts}, [...]any{want, 0}, "%s", method)
			wantOther(t, len(all), 0, "%s", method)
		}
		_ = c.Close()
		n.closed(t)
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.sessions) < 2 || n.sessions[0].Err == nil {
			t.Errorf("sessions %+v", n.sessions)
		}
	})
}

// A cancelled call ends, and so does what the server asked meanwhile.
func TestTracerSeesCancelledCall(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		n := &notebook{}
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": mcptest.Hang})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tracer: n})
		ready(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			server.Await("tools/call", 1)
			cancel()
		}()
		assert.Is(t, errOf(c.CallTool(ctx, "x", nil, nil)), context.Canceled)
		r := n.one(t, "tools/call")
		assert.Is(t, r.Err, context.Canceled)
		assert.Equal(t, r.Attempts, 1, "attempts")
		wantOther(t, r.ID, "", "ID")
		_ = c.Close()
		n.closed(t)
	})
}

// A handshake that fails ends as well.
func TestTracerSeesFailedHandshake(t *testing.T) {
	for name, script := range map[string]mcptest.Script{
		"refused": {"initialize": mcptest.Error(-1, "no")},
		"gone":    {"initialize": mcptest.Disconnect},
		"silent":  {"initialize": mcptest.Hang},
	} {
		t.Run(name, func(t *testing.T) {
			n := &notebook{}
			server, c := withClient(t, legacy(t, script), &mcp.ClientOptions{Tracer: n})
			done := inBackground(func() error { return c.Ready(t.Context()) })
			server.Await("initialize", 1)
			if name == "silent" {
				_ = c.Close()
			}
			assert.Fails(t, <-done)
			_ = c.Close()
			n.closed(t)
			if all := n.of("initialize"); len(all) == 0 || all[0].Err == nil {
				t.Errorf("%+v", all)
			}
			assert.Equal(t, len(n.sessions), 0, "sessions")
		})
	}
}

// A rowdy panics everywhere, or returns no context.
type rowdy struct{ silent bool }

func (r *rowdy) RequestStart(context.Context, *mcp.RequestInfo) context.Context {
	if !r.silent {
		panic("start")
	}
	return nil
}

func (*rowdy) RequestEnd(context.Context, *mcp.RequestInfo) { panic("end") }

func (*rowdy) RequestRetry(context.Context, *mcp.RequestInfo, error) { panic("retry") }

func (*rowdy) SessionEnd(*mcp.SessionInfo) { panic("session") }

// A tracer that panics harms nobody.
func TestTracerPanics(t *testing.T) {
	for _, silent := range []bool{false, true} {
		c := newClient(t, legacy(t, mcptest.Script{
			"prompts/get": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"messages":[]}`)),
			"tools/call":  text("fine"),
		}), &mcp.ClientOptions{Tracer: &rowdy{silent}})
		mustCall(t, c, "x")
		assert.OK(t, errOf(c.GetPrompt(t.Context(), "p", nil, nil)))
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
	n := &notebook{start: func(ctx context.Context, r *mcp.RequestInfo) context.Context {
		r.AddMeta("traceparent", "tp")
		return ctx
	}}
	for name, to := range map[string]mcp.Transport{"pipe": &transport.Pipe{Serve: server.Run}, "HTTP": &transport.HTTP{URL: web.URL}} {
		c := newClient(t, to, &mcp.ClientOptions{Tracer: n})
		mustCall(t, c, "x")
		assert.Equal(t, <-got, "tp", "%s", name)
	}
}
