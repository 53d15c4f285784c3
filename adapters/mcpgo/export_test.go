package mcpgo_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/session"
)

// A tool is defined and run as the test says.
type tool struct {
	definition registry.Definition
	run        func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error)
}

func (t *tool) Definition() *registry.Definition { return &t.definition }

func (t *tool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	if t.run == nil {
		return text("done"), nil
	}
	return t.run(ctx, args)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func named(name string) *tool {
	return &tool{definition: registry.Definition{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}}
}

func with(t *testing.T, opts *registry.Options, tools ...registry.Tool) *registry.Registry {
	t.Helper()
	r := registry.New(opts)
	if err := r.Add(tools...); err != nil {
		t.Fatal(err)
	}
	return r
}

func listed(t *testing.T, c *client.Client) []string {
	t.Helper()
	res, err := c.ListTools(t.Context(), gomcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func call(t *testing.T, c *client.Client, name string) (*gomcp.CallToolResult, string) {
	t.Helper()
	res, err := c.CallTool(t.Context(), gomcp.CallToolRequest{Params: gomcp.CallToolParams{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range res.Content {
		if text, ok := c.(gomcp.TextContent); ok {
			lines = append(lines, text.Text)
		}
	}
	return res, strings.Join(lines, "\n")
}

// everything is a result with all that a result can have.
func everything() *mcp.CallToolResult {
	size := int64(1 << 60)
	notes := &mcp.Annotations{Audience: []mcp.Role{"user", "assistant"}, Priority: 0.5, LastModified: "2026-01-31T00:00:00Z"}
	meta := mcp.Meta{"example.com/k": "v"}
	return &mcp.CallToolResult{
		Meta: meta, IsError: true, StructuredContent: json.RawMessage(`{"z":1.10,"a":12345678901234567890123}`),
		Content: []mcp.Content{
			&mcp.TextContent{Text: "<&>\u2028", Meta: meta, Annotations: notes},
			&mcp.ImageContent{Data: []byte{0, 255}, MIMEType: "image/png", Meta: meta, Annotations: notes},
			&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav", Meta: meta, Annotations: notes},
			&mcp.ResourceLink{URI: "a:b", Name: "n", Title: "t", Description: "d", MIMEType: "x/y", Size: &size, Meta: meta, Annotations: notes},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", MIMEType: "text/plain", Text: "text", Meta: meta}, Meta: meta, Annotations: notes},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", MIMEType: "x/y", Blob: []byte{1, 2}, Meta: meta}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", Blob: []byte{}}},
			&mcp.TextContent{Text: ""},
		},
	}
}

// A result is shared: whoever serves it must not write into it.
func TestResultsOfToolsStayAsTheyAre(t *testing.T) {
	shared := everything()
	static := named("static")
	static.run = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return shared, nil }
	s := server.NewMCPServer("belt", "1")
	belt.NewExport(s, with(t, nil, static), nil).Refresh()
	c := overHTTP(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { call(t, c, "static") })
	}
	wg.Wait()
	if !reflect.DeepEqual(shared, everything()) {
		t.Errorf("the result of the tool is %+v now", shared)
	}
}

// All content goes through a server and a client of mcp-go, and comes back as it was.
func TestResultsComeBackAsTheyWere(t *testing.T) {
	first := named("all")
	first.run = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return everything(), nil }
	r := with(t, nil, first)
	for name, over := range map[string]func(*testing.T, *server.MCPServer, ...client.ClientOption) *client.Client{"http": overHTTP, "stdio": overStdio} {
		t.Run(name, func(t *testing.T) {
			s := server.NewMCPServer("belt", "1")
			belt.NewExport(s, r, nil).Refresh()
			last := registry.New(nil)
			refresh(t, belt.NewSource(over(t, s), registry.Server{Name: "belt"}, last))
			got, err := last.Call(t.Context(), "belt__all", nil)
			if err != nil {
				t.Fatal(err)
			}
			want := everything()
			delete(got.Meta, "io.modelcontextprotocol/serverInfo") // the server's own
			if !reflect.DeepEqual(got.Meta, want.Meta) || got.IsError != want.IsError || string(got.StructuredContent.(json.RawMessage)) != string(want.StructuredContent.(json.RawMessage)) {
				t.Errorf("the result is %+v", got)
			}
			for i := range want.Content {
				if !reflect.DeepEqual(got.Content[i], want.Content[i]) {
					g, _ := json.Marshal(got.Content[i])
					w, _ := json.Marshal(want.Content[i])
					t.Errorf("block %d is %s, not %s", i, g, w)
				}
			}
		})
	}
}

func TestExportTakesSchemasAsTheyAre(t *testing.T) {
	yes := true
	odd := named("odd")
	odd.definition.InputSchema = json.RawMessage(oddSchema)
	odd.definition.OutputSchema = json.RawMessage(`{"type":["object","null"]}`)
	odd.definition.Annotations = &mcp.ToolAnnotations{Title: "Odd", ReadOnlyHint: true, OpenWorldHint: &yes}
	s := server.NewMCPServer("belt", "1")
	belt.NewExport(s, with(t, nil, odd), nil).Refresh()
	data, err := json.Marshal(s.GetTool("odd").Tool)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"maximum":9223372036854775807`, `"anyOf":[{"required":["zeta"]}`, `"const":1.10`, `"definitions"`, `"type":["object","null"]`, `"readOnlyHint":true`, `"openWorldHint":true`, `"title":"Odd"`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("the tool %s has no %s", data, part)
		}
	}
}

func TestExportLeavesOtherToolsAlone(t *testing.T) {
	s := server.NewMCPServer("belt", "1", server.WithToolCapabilities(true))
	own := func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("own"), nil
	}
	s.AddTool(gomcp.NewTool("own"), own)
	s.AddTool(gomcp.NewTool("both"), own)
	bad := named("bad")
	bad.definition.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"no header"}}}`)
	r := with(t, nil, named("both"), named("ours"), named("left_out"), bad)
	export := belt.NewExport(s, r, &belt.ExportOptions{Keep: func(d *registry.Definition) bool { return d.Name != "left_out" }})
	rejected := export.Refresh()
	if len(rejected) != 2 || rejected[0].Name != "both" || rejected[1].Name != "bad" {
		t.Errorf("rejected are %+v", rejected)
	}
	c := overHTTP(t, s)
	if got := listed(t, c); !slices.Equal(got, []string{"both", "ours", "own"}) {
		t.Errorf("the server has %q", got)
	}
	if _, said := call(t, c, "both"); said != "own" {
		t.Errorf("the tool of the server says %q", said)
	}
	r.Remove("both", "ours", "left_out", "bad")
	export.Refresh()
	if got := listed(t, c); !slices.Equal(got, []string{"both", "own"}) {
		t.Errorf("the server has %q", got)
	}
}

func TestExportTellsOfChangesAlone(t *testing.T) {
	s := server.NewMCPServer("belt", "1", server.WithToolCapabilities(true))
	r := with(t, nil, named("a"), named("b"))
	export := belt.NewExport(s, r, nil)
	export.Refresh()
	heard := make(chan string, 99)
	overStdio(t, s, client.WithProtocolVersion("2025-11-25")).OnNotification(func(n gomcp.JSONRPCNotification) { heard <- n.Method })
	// changes returns how often a client hears of a refresh.
	changes := func() (n int) {
		t.Helper()
		if rejected := export.Refresh(); rejected != nil {
			t.Error(rejected)
		}
		s.SendNotificationToAllClients("over", nil)
		for method := range heard {
			if method == "over" {
				return n
			}
			n++
		}
		return n
	}
	if n := changes(); n != 0 {
		t.Errorf("of nothing it heard %d times", n)
	}
	r.Remove("a")
	other := named("a")
	other.definition.Description = "another"
	if err := r.Add(other, named("c")); err != nil {
		t.Fatal(err)
	}
	if n := changes(); n != 1 || s.GetTool("a").Tool.Description != "another" || s.GetTool("c") == nil {
		t.Errorf("of two tools it heard %d times", n)
	}
	if n := changes(); n != 0 {
		t.Errorf("of nothing it heard %d times", n)
	}
	r.Remove("c")
	if n := changes(); n != 1 {
		t.Errorf("of a tool that is gone it heard %d times", n)
	}
}

func TestToolThatIsGone(t *testing.T) {
	s := server.NewMCPServer("belt", "1")
	r := with(t, nil, named("gone"))
	belt.NewExport(s, r, nil).Refresh()
	r.Remove("gone")
	if res, said := call(t, overHTTP(t, s), "gone"); !res.IsError || !strings.Contains(said, "gone") {
		t.Errorf("the model is told %q", said)
	}
}

func TestUsers(t *testing.T) {
	policy, err := policy.New(approval.Deny, policy.Rule{Verdict: approval.Allow, User: "ada"}, policy.Rule{Verdict: approval.Allow, Tool: "open"})
	if err != nil {
		t.Fatal(err)
	}
	secret := named("secret")
	r := with(t, &registry.Options{Approver: policy}, named("open"), secret)
	var mu sync.Mutex
	user := "ada"
	opts := &belt.ExportOptions{Context: func(ctx context.Context) context.Context {
		mu.Lock()
		defer mu.Unlock()
		return session.WithUser(ctx, user)
	}}
	s := server.NewMCPServer("belt", "1", server.WithToolFilter(belt.Filter(r, opts)))
	s.AddTool(gomcp.NewTool("own"), nil)
	belt.NewExport(s, r, opts).Refresh()
	c := overHTTP(t, s)
	if got := listed(t, c); !slices.Equal(got, []string{"open", "own", "secret"}) {
		t.Errorf("Ada sees %q", got)
	}
	if _, said := call(t, c, "secret"); said != "done" {
		t.Errorf("Ada is told %q", said)
	}
	mu.Lock()
	user = "bob"
	mu.Unlock()
	if got := listed(t, c); !slices.Equal(got, []string{"open", "own"}) {
		t.Errorf("Bob sees %q", got)
	}
	if _, err := c.CallTool(t.Context(), gomcp.CallToolRequest{Params: gomcp.CallToolParams{Name: "secret"}}); err == nil {
		t.Error("Bob may call")
	}
	// Without the filter the registry itself denies.
	s = server.NewMCPServer("belt", "1")
	belt.NewExport(s, r, opts).Refresh()
	if res, said := call(t, overHTTP(t, s), "secret"); !res.IsError || !strings.Contains(said, "not allowed") {
		t.Errorf("Bob is told %q", said)
	}
}

func locked() *tool {
	t := named("locked")
	t.run = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "vault", URL: "https://login.example/?state=4711"}, mcp.NotSent)
	}
	return t
}

// A client that cannot show a page, and a server that must not, tell the model that the
// user has to log in, and not where.
func TestLoginIsNotForModels(t *testing.T) {
	can := client.WithClientCapabilities(gomcp.ClientCapabilities{Elicitation: &gomcp.ElicitationCapability{URL: &struct{}{}}})
	legacy := client.WithProtocolVersion("2025-11-25")
	for name, c := range map[string]struct {
		opts   *belt.ExportOptions
		client []client.ClientOption
	}{
		"not wanted":    {nil, []client.ClientOption{can}},
		"cannot":        {&belt.ExportOptions{Login: true}, nil},
		"cannot legacy": {&belt.ExportOptions{Login: true}, []client.ClientOption{legacy}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server.NewMCPServer("belt", "1")
			belt.NewExport(s, with(t, nil, locked()), c.opts).Refresh()
			if res, said := call(t, overStdio(t, s, c.client...), "locked"); !res.IsError || !strings.Contains(said, "log in") || strings.Contains(said, "4711") {
				t.Errorf("the model is told %q", said)
			}
		})
	}
}

// A user who says no is not asked again and again.
type refusing struct{ asked chan gomcp.ElicitationParams }

func (r refusing) Elicit(_ context.Context, request gomcp.ElicitationRequest) (*gomcp.ElicitationResult, error) {
	r.asked <- request.Params
	return &gomcp.ElicitationResult{ElicitationResponse: gomcp.ElicitationResponse{Action: gomcp.ElicitationResponseActionDecline}}, nil
}

func TestLoginThatIsDeclined(t *testing.T) {
	s := server.NewMCPServer("belt", "1")
	belt.NewExport(s, with(t, nil, locked()), &belt.ExportOptions{Login: true}).Refresh()
	user := refusing{make(chan gomcp.ElicitationParams, 9)}
	c := overHTTP(t, s, client.WithClientCapabilities(gomcp.ClientCapabilities{Elicitation: &gomcp.ElicitationCapability{URL: &struct{}{}}}), client.WithElicitationHandler(user))
	res, said := call(t, c, "locked")
	if !res.IsError || !strings.Contains(said, "log in") || len(user.asked) != 1 {
		t.Errorf("the model is told %q; the user was asked %d times", said, len(user.asked))
	}
	if p := <-user.asked; p.URL != "https://login.example/?state=4711" || !strings.Contains(p.Message, `"locked"`) || p.ElicitationID == "" {
		t.Errorf("the user is asked %+v", p)
	}
}

func TestApprovalWithoutWaiting(t *testing.T) {
	policy, err := policy.New(approval.Ask)
	if err != nil {
		t.Fatal(err)
	}
	r := with(t, &registry.Options{Approver: policy}, named("danger"))
	s := server.NewMCPServer("belt", "1")
	belt.NewExport(s, r, nil).Refresh()
	res, said := call(t, overHTTP(t, s), "danger")
	if !res.IsError || !strings.Contains(said, "has to be approved") || len(r.Approvals(t.Context())) != 1 {
		t.Errorf("the model is told %q", said)
	}
}

func TestProgressGoesThrough(t *testing.T) {
	for name, over := range map[string]func(*testing.T, *server.MCPServer, ...client.ClientOption) *client.Client{"http": overHTTP, "stdio": overStdio} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan float64, 9)
			long := named("long")
			// Mcp-go may tell of progress behind the answer: so this one waits.
			long.run = func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				for i := range 3 {
					registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: float64(i + 1), Total: 3, Message: "working"})
					select {
					case got := <-heard:
						if got != float64(i+1) {
							t.Errorf("the progress is %v", got)
						}
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return text("done"), nil
			}
			s := server.NewMCPServer("belt", "1")
			belt.NewExport(s, with(t, nil, long), nil).Refresh()
			last := registry.New(nil)
			refresh(t, belt.NewSource(over(t, s), registry.Server{Name: "belt"}, last))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only ends what would hang
			defer cancel()
			ctx = registry.WithProgress(ctx, func(p *mcp.ProgressParams) {
				if p.Total == 3 && p.Message == "working" {
					heard <- p.Progress
				}
			})
			if _, err := last.Call(ctx, "belt__long", nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	r := with(t, nil, named("a"))
	s := server.NewMCPServer("belt", "1", server.WithToolCapabilities(true), server.WithToolFilter(belt.Filter(r, nil)))
	export := belt.NewExport(s, r, nil)
	export.Refresh()
	last := registry.New(nil)
	source := belt.NewSource(overHTTP(t, s), registry.Server{Name: "belt"}, last)
	refresh(t, source)
	background(t, func(ctx context.Context) { _ = export.Watch(ctx) })
	background(t, func(ctx context.Context) { _ = source.Watch(ctx) })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := "t" + string(rune('a'+i))
			for range 5 {
				if err := r.Add(named(name)); err != nil {
					t.Error(err)
				}
				export.Refresh()
				if _, err := last.Call(t.Context(), "belt__a", nil); err != nil {
					t.Error(err)
				}
				r.Remove(name)
			}
		})
	}
	wg.Wait()
	export.Refresh()
	if got := s.ListTools(); len(got) != 1 {
		t.Errorf("the server has %d tools", len(got))
	}
}
