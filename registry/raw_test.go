package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/wildtest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Whatever a server sends in results and definitions, and whatever a caller sends as
// arguments, comes out token by token as it went in, through the whole way: client,
// ledger, policy, middleware and observers. MCPBELT_SOAK=1 makes 100,000 of each.
func TestRawIsKept(t *testing.T) {
	count := 2 * wildtest.Page
	switch {
	case os.Getenv("MCPBELT_SOAK") != "":
		count = 200 * wildtest.Page
	case testing.Short():
		count = wildtest.Page / 5
	}
	for _, way := range []string{"stdio", "json", "sse"} {
		t.Run(way, func(t *testing.T) {
			for first := 0; first < count; first += wildtest.Page {
				keepsRaw(t, wildtest.Transports(t, uint64(first))[way], uint64(first), min(count, wildtest.Page))
			}
		})
	}
}

// keepsRaw checks as many results and definitions of a server.
func keepsRaw(t *testing.T, to mcp.Transport, first uint64, count int) {
	c := mcp.NewClient("wild", to, nil)
	defer func() { _ = c.Close() }()
	listed := assert.Value(c.Tools(t.Context()))(t)
	r := registry.New(&registry.Options{Ledger: ledger.New(nil), Approver: policy.Cautious(), Results: &result.Options{MaxBytes: -1, MaxMedia: -1}})
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) { return next(ctx, call) }
	})
	observed := 0
	defer r.Observe(func(context.Context, *registry.Observation) { observed++ })()
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote("wild", tool, c.CallTool))
	}
	diff := assert.Value(r.Replace(registry.Server{Name: "wild", Trusted: true}, tools))(t)
	if len(diff.Rejected) > 0 {
		t.Fatalf("got the rejection %v, want none", diff.Rejected[0])
	}
	for i := range uint64(count) {
		seed := first + i
		called := fmt.Sprintf("wild__t%d", seed)
		def, ok := r.Snapshot().Lookup(called)
		if !ok {
			t.Fatalf("got no tool %s", called)
		}
		if err := wildtest.SameTokens(def.Definition().Raw, []byte(wildtest.Tool(seed))); err != nil {
			t.Fatalf("definition %d: %v", seed, err)
		}
		args := wildtest.Arguments(seed)
		res, err := r.Call(t.Context(), called, json.RawMessage(args))
		if err != nil {
			t.Fatalf("call %d: %v", seed, err)
		}
		if err := wildtest.SameTokens(res.Raw(), []byte(wildtest.Result(seed, args))); err != nil {
			t.Fatalf("result %d: %v", seed, err)
		}
	}
	assert.Equal(t, observed, count, "calls observed")
}

// Arguments on several lines are one message to a server that reads lines, whatever stands
// on the lines.
func TestArgumentsOnSeveralLinesAreOneMessage(t *testing.T) {
	const args = `{"a":[
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b","arguments":{}}}
],"s":"\n"}`
	for _, line := range []string{"\n", "\r", "\r\n"} {
		c := mcp.NewClient("wild", wildtest.Transports(t, 0)["stdio"], &mcp.ClientOptions{CallTimeout: 30 * time.Second})
		defer func() { _ = c.Close() }()
		sent := strings.ReplaceAll(args, "\n", line)
		res, err := c.CallTool(t.Context(), "any", json.RawMessage(sent), nil)
		if err != nil {
			t.Fatalf("%q: got the error %v, want an answer", line, err)
		}
		if err := wildtest.SameTokens(res.Raw(), []byte(wildtest.Result(0, sent))); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// rawAnswer returns a tool of a server that answers each call with the same result.
func rawAnswer(t *testing.T, answer string) registry.Tool {
	t.Helper()
	c := mcp.NewClient("s", mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": mcptest.Result(answer)}), nil)
	t.Cleanup(func() { _ = c.Close() })
	return registry.Remote("s", &mcp.Tool{Name: "a"}, c.CallTool)
}

// A result that a layer changes or looks into for secrets and hidden characters does not
// say by its raw form what the fields do not say any more.
func TestRawOfShapedResults(t *testing.T) {
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	text := func(more string) string { return `{"content":[{"type":"text","text":"hello"` + more + `}]}` }
	long := `{"content":[{"type":"text","text":"` + strings.Repeat("long ", 1000) + `"}]}`
	edit := func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			res, err := next(ctx, call)
			if err == nil {
				res.Content[0].(*mcp.TextContent).Text = "edited"
			}
			return res, err
		}
	}
	redacts, bounded := &result.Options{Redact: true}, &result.Options{MaxBytes: 1 << 10}
	for _, c := range []struct {
		name    string
		results *result.Options
		use     registry.Middleware
		trusted bool
		answer  string
		want    bool
	}{
		{name: "untouched", answer: text(`,"x":0.10`), want: true},
		{name: "untouched, bounded", results: bounded, answer: text(`,"x":0.10`), want: true},
		{name: "untouched, redacted", results: redacts, answer: text(`,"x":0.10`), want: true},
		{name: "edited by middleware", use: edit, answer: text("")},
		{name: "cut", results: bounded, answer: long},
		{name: "wrapped", results: &result.Options{Wrap: true}, answer: text("")},
		{name: "in another form", results: &result.Options{Form: result.FormContent}, answer: `{"content":[],"structuredContent":{}}`},
		{name: "a secret in a text", results: redacts, answer: `{"content":[{"type":"text","text":"` + token + `"}]}`},
		{name: "a secret in structured content", results: redacts, answer: `{"content":[],"structuredContent":{"a":"` + token + `"}}`},
		{name: "a secret in an unknown member", results: redacts, answer: text(`,"x":"` + token + `"`)},
		{name: "a secret in the _meta", results: redacts, answer: `{"content":[],"_meta":{"a":"` + token + `"}}`},
		{name: "a secret in an unknown block", results: redacts, answer: `{"content":[{"type":"x","a":"` + token + `"}]}`},
		{name: "hidden in a text", answer: `{"content":[{"type":"text","text":"a\u200b"}]}`},
		{name: "hidden in an unknown member", answer: text(`,"x":"a\u200b"`)},
		{name: "hidden by a trusted server", trusted: true, answer: text(`,"x":"a\u200b"`), want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := registry.New(&registry.Options{Results: c.results})
			if c.use != nil {
				r.Use(c.use)
			}
			assert.Value(r.Replace(registry.Server{Name: "s", Trusted: c.trusted}, []registry.Tool{rawAnswer(t, c.answer)}))(t)
			res := assert.Value(r.Call(t.Context(), "s__a", nil))(t)
			if got := res.Raw(); (got != nil) != c.want {
				t.Errorf("got the raw form %s, want one: %t", got, c.want)
			}
			forwarded := assert.Value(r.Forward(t.Context(), "s__a", nil))(t)
			assert.Equal(t, string(forwarded.Raw()), string(res.Raw()), "the raw form of a result to be forwarded")
			skips := c.want && c.results == nil
			if got := len(forwarded.Content); got != len(res.Content) && !skips {
				t.Errorf("got %d blocks of a result to be forwarded, want %d", got, len(res.Content))
			} else if got != 0 && skips {
				t.Errorf("got %d blocks of a result that no one looks at, want none", got)
			}
		})
	}
}

// A definition has its raw form for as long as models are told what the server said.
func TestRawOfDefinitions(t *testing.T) {
	const sent = `{"x":0.10,"name":"a","description":"d","inputSchema":{ "type":"object"},"annotations":{"readOnlyHint":true,"y":1.0}}`
	tool := new(mcp.Tool)
	assert.OK(t, json.Unmarshal([]byte(sent), tool))
	refuse := func(context.Context, string, json.RawMessage, *mcp.CallToolOptions) (*mcp.CallToolResult, error) {
		return nil, mcp.ErrClosed
	}
	remote := registry.Remote("s", tool, refuse)
	for what, c := range map[string]struct {
		edit func(*registry.Definition)
		want string
	}{
		"nothing":     {func(*registry.Definition) {}, sent},
		"alias":       {func(d *registry.Definition) { d.Alias = "b" }, sent},
		"title":       {func(d *registry.Definition) { d.Title = "A" }, ""},
		"description": {func(d *registry.Definition) { d.Description = "e" }, ""},
		"schema":      {func(d *registry.Definition) { d.InputSchema = json.RawMessage(`{"type":"object"}`) }, ""},
		"output":      {func(d *registry.Definition) { d.OutputSchema = json.RawMessage(`{}`) }, ""},
		"annotations": {func(d *registry.Definition) { d.Annotations = nil }, ""},
	} {
		edited := assert.Value(registry.With(remote, c.edit))(t)
		assert.Equal(t, string(edited.Definition().Raw), c.want, "%s", what)
	}

	own := *tool
	own.Description = "e"
	def := registry.Remote("s", &own, refuse).Definition()
	if def.Raw != nil {
		t.Errorf("got %s of a copy that was changed, want nothing", def.Raw)
	}
	assert.Equal(t, def.Description, "e", "the description")
	assert.Equal(t, string(remote.Definition().RawAnnotations), `{"readOnlyHint":true,"y":1.0}`, "the annotations")

	for _, c := range []struct {
		trusted bool
		want    bool
	}{{false, false}, {true, true}} {
		hidden := new(mcp.Tool)
		assert.OK(t, json.Unmarshal([]byte(`{"name":"a","x":"\u200b"}`), hidden))
		r := registry.New(nil)
		assert.Value(r.Replace(registry.Server{Name: "s", Trusted: c.trusted}, []registry.Tool{registry.Remote("s", hidden, refuse)}))(t)
		if got := r.Snapshot().Tools()[0].Definition().Raw; (got != nil) != c.want {
			t.Errorf("trusted %t: got %s, want one: %t", c.trusted, got, c.want)
		}
	}
}

// Content is skipped although middleware looks at errors, and not if it looks at results.
func TestForwardThroughMiddleware(t *testing.T) {
	passes := func(next registry.Handler) registry.Handler { return next }
	r := registry.New(nil)
	mustReplace(t, r, "s", rawAnswer(t, `{"content":[{"type":"text","text":"hello"}]}`))
	for _, step := range []struct {
		use  func(...registry.Middleware)
		want int
	}{{r.UseForErrors, 0}, {r.Use, 1}, {r.UseForErrors, 1}} {
		step.use(passes)
		res := assert.Value(r.Forward(t.Context(), "s__a", nil))(t)
		assert.Equal(t, len(res.Content), step.want, "blocks")
	}
}

// Content is skipped for the caller of Forward alone.
func TestSkipContentOfContext(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "s", rawAnswer(t, `{"content":[{"type":"text","text":"hello"}]}`))
	ctx := registry.WithCallOptions(t.Context(), &mcp.CallToolOptions{SkipContent: true})
	res := assert.Value(r.Call(ctx, "s__a", nil))(t)
	assert.Equal(t, res.Text(), "hello")
}
