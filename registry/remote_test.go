package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/wildtest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/transport"
)

// createSchema has an order and numbers that no re-encoding would keep.
const createSchema = `{"type":"object","properties":{"title":{"type":"string"},"n":{"maximum":9007199254740993.00}},"additionalProperties":false}`

// notesServer returns a server whose tool "create" reports its progress and
// answers with its arguments and mark.
func notesServer(mark string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{
		Name:        "create",
		Title:       "Create",
		InputSchema: json.RawMessage(createSchema),
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			for i := range 3 {
				if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1)}); err != nil {
					return nil, err
				}
			}
		}
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: mark + string(req.Params.Arguments)}},
			StructuredContent: json.RawMessage(`{"n":9007199254740993}`),
		}, nil
	})
	s.AddTool(&sdk.Tool{Name: "fail", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := servedText("no such note")
		res.IsError = true
		return res, nil
	})
	return s
}

// connect lists the tools of server in r, through a new client.
func connect(t *testing.T, r *registry.Registry, server *sdk.Server) (*mcp.Client, registry.Diff) {
	t.Helper()
	c := newClient(t, "notes", &transport.Pipe{Serve: server.Run})
	return c, mustReplace(t, r, "notes", remotes(t, "notes", c)...)
}

func TestRemoteCalls(t *testing.T) {
	r := registry.New(nil)
	_, diff := connect(t, r, notesServer("one "))
	assert.List(t, diff.Added, []string{"notes__create", "notes__fail"}, "diff")
	create, _ := r.Snapshot().Lookup("notes__create")
	d := create.Definition()
	assert.Equal(t, fmt.Sprintf("%s %t %s %t", d.InputSchema, d.OutputSchema == nil, d.Title, d.Annotations.IdempotentHint), createSchema+" true Create true", "the definition")

	var progress []float64
	ctx := registry.WithProgress(t.Context(), func(p *mcp.ProgressParams) { progress = append(progress, p.Progress) })
	res := assert.Value(r.Call(ctx, "notes__create", json.RawMessage(`{"title":"x","n":9007199254740993}`)))(t)
	assert.Equal(t, textOf(t, res), `one {"title":"x","n":9007199254740993}`)
	raw, _ := res.StructuredContent.(json.RawMessage)
	assert.Equal(t, string(raw), `{"n":9007199254740993}`, "structured content")
	assert.List(t, progress, []float64{1, 2, 3}, "progress")

	failed := assert.Value(r.Call(t.Context(), "notes__fail", nil))(t)
	assert.Equal(t, fmt.Sprint(failed.IsError, ", ", textOf(t, failed)), "true, no such note", "a failing tool")
	for _, args := range []string{"", "null", " null "} {
		assert.Equal(t, textOf(t, assert.Value(create.Call(t.Context(), json.RawMessage(args)))(t)), "one {}")
	}

	renamed := assert.Value(registry.With(create, func(d *registry.Definition) { d.Name, d.Origin.Tool = "note", "note" }))(t)
	assert.Equal(t, textOf(t, assert.Value(renamed.Call(t.Context(), nil))(t)), "one {}", "Call of a renamed tool")
}

// A server comes back, with the same tools, behind another client.
func TestRemoteAfterARenewedClient(t *testing.T) {
	r := registry.New(nil)
	first, _ := connect(t, r, notesServer("one "))
	before := r.Snapshot()
	_, diff := connect(t, r, notesServer("two "))
	assert.Equal(t, fmt.Sprint(diff.Added, diff.Removed, diff.Changed, r.Snapshot().Version() == before.Version()), "[] [] [] true", "what changed")
	assert.OK(t, first.Close())
	assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "notes__create", nil))(t)), "two {}")
	stale, _ := before.Lookup("notes__create")
	assert.Is(t, assert.Err(stale.Call(t.Context(), nil)), mcp.ErrClosed, "Call of the old tool")
}

func TestRemoteDefinition(t *testing.T) {
	const input = `{ "type":"object", "properties": {"b":{},"a":{}}, "n": 1.00 }`
	const output = `{"type" : "object"}`
	tool := &mcp.Tool{
		Name: "create", Title: "Create", Description: "Make a note",
		InputSchema: json.RawMessage(input), OutputSchema: json.RawMessage(output),
		Annotations: &mcp.ToolAnnotations{Title: "Note", DestructiveHint: ptr(false)},
	}
	d := registry.Remote("notes", tool, new(mcp.Client).CallTool).Definition()

	// Whatever happens to the server's tool later, the definition stands.
	tool.Name, tool.Annotations.Title = "x", "x"
	*tool.Annotations.DestructiveHint = true
	tool.InputSchema[0] = 'x'

	assert.Equal(t, fmt.Sprintf("%s %s, %s, %v\n%s\n%s", d.Name, d.Title, d.Description, d.Origin, d.InputSchema, d.OutputSchema),
		"notes__create Create, Make a note, tool \"create\" of server \"notes\"\n"+input+"\n"+output)
	a := d.Annotations
	assert.Equal(t, fmt.Sprintf("%s %t %t", a.Title, *a.DestructiveHint, a.OpenWorldHint == nil), "Note false true", "annotations")
}

func TestRemoteSchemas(t *testing.T) {
	const absent = `{"type":"object"}`
	for what, test := range map[string]struct {
		schema        json.RawMessage
		input, output string
	}{
		"nil":   {nil, absent, ""},
		"empty": {json.RawMessage{}, absent, ""},
		"null":  {json.RawMessage(" null"), absent, ""},
		"true":  {json.RawMessage("true"), "true", "true"},
	} {
		d := registry.Remote("s", &mcp.Tool{Name: "a", InputSchema: test.schema, OutputSchema: test.schema}, new(mcp.Client).CallTool).Definition()
		assert.Equal(t, string(d.InputSchema), test.input, "%s", what)
		assert.Equal(t, string(d.OutputSchema), test.output, "%s", what)
	}
}

func TestRemoteOfNothing(t *testing.T) {
	assert.False(t, registry.Remote("s", &mcp.Tool{}, nil) != nil, "Remote without a client")
	assert.False(t, registry.Remote("s", nil, new(mcp.Client).CallTool) != nil, "Remote without a tool")
}

// Whatever a server sends in results and definitions, and whatever a caller sends as
// arguments, comes out token by token as it went in, through the whole way: client,
// ledger, policy, middleware and observers. MCPBELT_SOAK=1 makes 100,000 of each.
func TestRawIsKept(t *testing.T) {
	pages, count := 1, assert.Cases(wildtest.Page/10, wildtest.Page)
	if os.Getenv("MCPBELT_SOAK") != "" {
		pages, count = 200, wildtest.Page
	}
	for _, way := range []string{"stdio", "json", "sse"} {
		for page := range uint64(pages) {
			t.Run(fmt.Sprint(way, page), func(t *testing.T) { keepsRaw(t, way, page*wildtest.Page, count) })
		}
	}
}

// wildTransport returns a way to a server of wildtest. A server that is a process ends at
// once, although it was built with the race detector.
func wildTransport(t *testing.T, way string, first uint64) mcp.Transport {
	to := wildtest.Transports(t, first)[way]
	if command, ok := to.(*transport.Command); ok {
		command.Env = append(command.Env, "GORACE=atexit_sleep_ms=10")
	}
	return to
}

// keepsRaw checks as many results and definitions of a server.
func keepsRaw(t *testing.T, way string, first uint64, count int) {
	tools := remotes(t, "wild", newClient(t, "wild", wildTransport(t, way, first)))
	r := registry.New(&registry.Options{Ledger: ledger.New(nil), Approver: policy.Cautious(), Results: &result.Options{MaxBytes: -1}})
	r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		return next(ctx, call)
	}))
	observed := 0
	defer r.Observe(func(context.Context, *registry.Observation) { observed++ })()
	assert.Equal(t, len(assert.Value(r.Replace(registry.Server{Name: "wild", Trusted: true}, tools[:count+1]))(t).Rejected), 0, "rejected tools")
	for seed := first; seed < first+uint64(count); seed++ {
		called := fmt.Sprintf("wild__t%d", seed)
		def, _ := r.Resolve(called)
		assert.OK(t, wildtest.SameTokens(def.Raw, []byte(wildtest.Tool(seed))), "definition %d", seed)
		args := wildtest.Arguments(seed)
		assert.OK(t, wildtest.SameTokens(assert.Value(r.Call(t.Context(), called, json.RawMessage(args)))(t).Raw(), []byte(wildtest.Result(seed, args))), "result %d", seed)
	}
	assert.Equal(t, observed, count, "calls observed")
}

// Arguments on several lines are one message to a server that reads lines, whatever stands
// on the lines.
func TestArgumentsOnSeveralLinesAreOneMessage(t *testing.T) {
	const args = `{"a":[
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b","arguments":{}}}
],"s":"\n"}`
	c := newClient(t, "wild", wildTransport(t, "stdio", 0))
	for _, line := range []string{"\n", "\r", "\r\n"} {
		sent := strings.ReplaceAll(args, "\n", line)
		assert.OK(t, wildtest.SameTokens(assert.Value(c.CallTool(t.Context(), "any", json.RawMessage(sent), nil))(t).Raw(), []byte(wildtest.Result(0, sent))), "%q", line)
	}
}

// rawAnswer returns a tool of a server that answers each call with the same result.
func rawAnswer(t *testing.T, answer string) registry.Tool {
	t.Helper()
	c := newClient(t, "s", mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/call": mcptest.Result(answer)}))
	return registry.Remote("s", &mcp.Tool{Name: "a"}, c.CallTool)
}

// A result that a layer changes or looks into for secrets and hidden characters does not
// say by its raw form what the fields do not say any more.
func TestRawOfShapedResults(t *testing.T) {
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	text := func(more string) string { return `{"content":[{"type":"text","text":"hello"` + more + `}]}` }
	long := `{"content":[{"type":"text","text":"` + strings.Repeat("long ", 1000) + `"}]}`
	edit := around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		res, err := next(ctx, call)
		if err == nil {
			res.Content[0].(*mcp.TextContent).Text = "edited"
		}
		return res, err
	})
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
			r.Use(c.use)
			assert.Value(r.Replace(registry.Server{Name: "s", Trusted: c.trusted}, []registry.Tool{rawAnswer(t, c.answer)}))(t)
			res := assert.Value(r.Call(t.Context(), "s__a", nil))(t)
			assert.Equal(t, res.Raw() != nil, c.want, "raw form")
			forwarded := assert.Value(r.Forward(t.Context(), "s__a", nil))(t)
			assert.Equal(t, string(forwarded.Raw()), string(res.Raw()), "the raw form of a result to be forwarded")
			blocks := len(res.Content)
			if c.want && c.results == nil {
				blocks = 0 // no one looks at them
			}
			assert.Equal(t, len(forwarded.Content), blocks, "blocks of a result to be forwarded")
		})
	}
}

// A definition has its raw form for as long as models are told what the server said.
func TestRawOfDefinitions(t *testing.T) {
	const sent = `{"x":0.10,"name":"a","description":"d","inputSchema":{ "type":"object"},"annotations":{"readOnlyHint":true,"y":1.0}}`
	tool := new(mcp.Tool)
	assert.OK(t, json.Unmarshal([]byte(sent), tool))
	refuse := func(context.Context, string, json.RawMessage, *mcp.RequestOptions) (*mcp.CallToolResult, error) {
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
		assert.Equal(t, string(assert.Value(registry.With(remote, c.edit))(t).Definition().Raw), c.want, "%s", what)
	}

	own := *tool
	own.Description = "e"
	def := registry.Remote("s", &own, refuse).Definition()
	assert.True(t, def.Raw == nil, "raw")
	assert.Equal(t, def.Description, "e", "the description")
	assert.Equal(t, string(remote.Definition().RawAnnotations), `{"readOnlyHint":true,"y":1.0}`, "the annotations")

	for _, c := range []struct{ trusted, want bool }{{false, false}, {true, true}} {
		hidden := new(mcp.Tool)
		assert.OK(t, json.Unmarshal([]byte(`{"name":"a","x":"\u200b"}`), hidden))
		r := registry.New(nil)
		assert.Value(r.Replace(registry.Server{Name: "s", Trusted: c.trusted}, []registry.Tool{registry.Remote("s", hidden, refuse)}))(t)
		assert.Equal(t, r.Snapshot().Tools()[0].Definition().Raw != nil, c.want, "trusted %t", c.trusted)
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
		assert.Equal(t, len(assert.Value(r.Forward(t.Context(), "s__a", nil))(t).Content), step.want, "blocks")
	}
}

// Content is skipped for the caller of Forward alone.
func TestSkipContentOfContext(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "s", rawAnswer(t, `{"content":[{"type":"text","text":"hello"}]}`))
	ctx := registry.WithCallOptions(t.Context(), &mcp.RequestOptions{SkipContent: true})
	assert.Equal(t, assert.Value(r.Call(ctx, "s__a", nil))(t).Text(), "hello")
}

const (
	hides     = "pay\u200b to\u00ad\u2060 ann\ue000\u3164 \U0001f468\u200d\U0001f4bb"
	hidesNone = "pay to ann \U0001f468\u200d\U0001f4bb"
)

// hiding is a tool whose server hides characters wherever it can, and what it was called
// with last.
func hiding(t *testing.T) registry.Tool {
	t.Helper()
	quoted := `"` + hides + ` \u200b"`
	tool := &mcp.Tool{
		Name: "pay", Title: hides, Description: hides,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","description":` + quoted + `}}}`),
	}
	return registry.Remote("s", tool, func(context.Context, string, json.RawMessage, *mcp.RequestOptions) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content: []mcp.Content{
				&mcp.TextContent{Text: hides},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: hides}},
				&mcp.ResourceLink{URI: "file:///b", Name: "b", Description: hides},
			},
			StructuredContent: json.RawMessage(`{"n": 1.0, "said":` + quoted + `}`),
		}, nil
	})
}

// A model is given nothing of an untrusted server that people cannot see.
func TestHiddenCharactersDoNotReachModels(t *testing.T) {
	const structured = `{"n": 1.0, "said":"` + hidesNone + ` "}`
	for _, opts := range []*result.Options{nil, {}, {Wrap: true}} {
		r := registry.New(&registry.Options{Results: opts, Ledger: ledger.New(nil)})
		var raw string // as middleware gets it
		r.Use(around(func(ctx context.Context, c *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
			res, err := next(ctx, c)
			raw = result.Text(res)
			return res, err
		}))
		// Twice, since the second list is compared with the first.
		for range 2 {
			diff := mustReplace(t, r, "s", hiding(t))
			assert.Equal(t, fmt.Sprint(diff.Rejected, diff.Quarantined, diff.Changed), "[] [] []")
		}
		def, _ := r.Resolve("s__pay")
		assert.List(t, []string{def.Title, def.Description}, []string{hidesNone, hidesNone}, "title and description")
		assert.Contains(t, string(def.InputSchema), hidesNone+` "`, "schema")
		assert.Lacks(t, string(def.InputSchema), "\u200b", "schema")
		assert.False(t, len(r.Snapshot().Findings(def.Name)) == 0, "no findings")
		res := assert.Value(r.Call(t.Context(), def.Name, json.RawMessage(`{}`)))(t)
		assert.False(t, strings.ContainsAny(result.Text(res), "\u200b\u00ad\u2060\ue000\u3164"), "%+v: hides characters", opts)
		if got, ok := res.StructuredContent.(json.RawMessage); ok {
			assert.Equal(t, string(got), structured, "%+v", opts)
		}
		assert.Contains(t, raw, hides, "middleware")
	}
}

// What a trusted server says, and results for users, stay as they came.
func TestHiddenCharactersOfTrustedServersStay(t *testing.T) {
	r := registry.New(nil)
	assert.Value(r.Replace(registry.Server{Name: "s", Trusted: true}, []registry.Tool{hiding(t)}))(t)
	def := r.Snapshot().Tools()[0].Definition()
	assert.Equal(t, def.Description, hides)
	assert.Contains(t, result.Text(assert.Value(r.Call(t.Context(), def.Name, json.RawMessage(`{}`)))(t)), hides)
}

// The ledger goes on comparing what the server says.
func TestLedgerComparesWhatIsHidden(t *testing.T) {
	r, _ := newLedgerRegistry()
	mustReplace(t, r, "s", serverTool("s", "a", "plain"))
	mustReplace(t, r, "s", serverTool("s", "a", "pla\u200bin"))
	assert.Equal(t, len(r.Snapshot().Quarantined()), 1, "tools held back")
}
