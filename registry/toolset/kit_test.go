package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A belt is a registry with its Finder.
type belt struct {
	*registry.Registry
	*toolset.Finder
}

// newBelt returns a registry with its Finder.
func newBelt(t testing.TB, of *registry.Options, opts *toolset.Options) *belt {
	t.Helper()
	r := registry.New(of)
	return &belt{r, assert.Value(toolset.New(r, opts))(t)}
}

// A plainTool is a Tool of which everything can be chosen.
type plainTool struct {
	def    *registry.Definition
	answer *mcp.CallToolResult
}

func (t *plainTool) Definition() *registry.Definition { return t.def }

func (t *plainTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return t.answer, nil
}

func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// textOf returns the text of a result that is one block of text.
func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	block, ok := assert.Only(t, res.Content).(*mcp.TextContent)
	if !ok {
		t.Fatalf("got content of type %T, want a text", res.Content[0])
	}
	return block.Text
}

// native returns a native tool that answers with its name.
func native(name string) *plainTool { return serverTool("", name, "") }

// serverTool returns a tool of a server, under the name that Remote would give
// it, that answers with its name and description.
func serverTool(server, name, description string) *plainTool {
	def := &registry.Definition{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
	if server != "" {
		def.Name = server + "__" + name
		def.Origin = registry.Origin{Server: server, Tool: name}
	}
	return &plainTool{def, textResult(def.Name + description)}
}

func mustAdd(t testing.TB, r *belt, tools ...registry.Tool) {
	t.Helper()
	assert.OK(t, r.Add(tools...))
}

func mustReplace(t testing.TB, r *belt, server string, tools ...registry.Tool) registry.Diff {
	t.Helper()
	return assert.Value(r.Replace(registry.Server{Name: server}, tools))(t)
}

func mustPolicy(t testing.TB, byDefault approval.Verdict, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	return assert.Value(policy.New(byDefault, rules...))(t)
}

func ptr[T any](v T) *T { return &v }

// found returns the names of the tools that a search finds, the best first.
func found(t testing.TB, r *belt, q toolset.Query) []string {
	t.Helper()
	matches := assert.Value(r.Search(t.Context(), q))(t)
	names := []string{}
	for i, m := range matches {
		names = append(names, m.Tool.Definition().Name)
		assert.False(t, m.Score <= 0 || i > 0 && m.Score > matches[i-1].Score, "scores out of order: %v", matches)
	}
	return names
}

func wantFound(t testing.TB, r *belt, query string, want ...string) {
	t.Helper()
	assert.List(t, found(t, r, toolset.Query{Text: query}), want, "%q finds", query)
}

// wantFirst checks which tool a search finds first.
func wantFirst(t testing.TB, r *belt, query, want string) {
	t.Helper()
	first, _, _ := strings.Cut(strings.Join(found(t, r, toolset.Query{Text: query}), " "), " ")
	assert.Equal(t, first, want, "%.60q finds first", query)
}

// shownIn returns a tool that a model is shown.
func shownIn(t testing.TB, r *belt, opts *toolset.SetOptions, name string) registry.Tool {
	t.Helper()
	tools := r.Toolset(t.Context(), opts).Tools
	at := slices.IndexFunc(tools, func(tool registry.Tool) bool { return tool.Definition().Name == name })
	if at < 0 {
		t.Fatalf("got the tools %s, want %s among them", toolNames(tools), name)
	}
	return tools[at]
}

// numbered returns n tools of a server, called as the format says.
func numbered(server string, n int, format, description string) []registry.Tool {
	tools := make([]registry.Tool, n)
	for i := range tools {
		tools[i] = serverTool(server, fmt.Sprintf(format, i), description)
	}
	return tools
}

// none are the tools that are always shown to a model that searches.
func none(*registry.Definition, registry.Hints) bool { return false }

// manyTools returns a registry with 500 tools of servers of 40, each for a verb and a
// thing, such as delete_invoice.
func manyTools(t testing.TB) *belt {
	t.Helper()
	verbs := []string{"create", "get", "list", "update", "delete", "search", "archive", "restore", "export", "import", "share", "copy", "approve", "assign", "count", "lock", "merge", "tag", "validate", "watch"}
	things := []string{"invoice", "ticket", "event", "customer", "contract", "repository", "folder", "message", "channel", "page", "report", "dataset", "branch", "campaign", "coupon", "device", "employee", "warehouse", "shipment", "quote", "meeting", "lead", "image", "playlist", "survey"}
	servers := []string{"billing", "helpdesk", "calendar", "crm", "legal", "forge", "drive", "mail", "chat", "wiki", "ledger", "lake", "builds", "ads"}
	tools := make(map[string][]registry.Tool)
	for i := range 500 {
		verb, thing := verbs[i%len(verbs)], things[i/len(verbs)]
		server := servers[i/len(verbs)%len(servers)]
		tool := serverTool(server, verb+"_"+thing, fmt.Sprintf("Use this to %s one %s or more of the %s service. Returns what has become of each.", verb, thing, server))
		tool.def.InputSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{
			"%[1]s_id":{"type":"string","description":"The id of the %[1]s to %[2]s, as another tool has returned it"},
			"dry_run":{"type":"boolean","description":"Only say what would happen"},
			"fields":{"type":"array","items":{"type":"string"},"description":"What to return of the %[1]s; by default all"}},"required":["%[1]s_id"]}`, thing, verb))
		tools[server] = append(tools[server], tool)
	}
	r := newBelt(t, nil, nil)
	for server, tools := range tools {
		mustReplace(t, r, server, tools...)
	}
	return r
}

// realTools returns a registry with the tools of real servers, which all tests share.
func realTools(t testing.TB) *belt {
	t.Helper()
	if realBelt != nil {
		return realBelt
	}
	r := newBelt(t, nil, nil)
	for _, s := range toolcorpus.Servers() {
		var tools []registry.Tool
		for _, tool := range s.Tools {
			listed := serverTool(s.Name, tool.Name, tool.Description)
			listed.def.Title, listed.def.InputSchema, listed.def.RawAnnotations = tool.Title, tool.InputSchema, tool.Annotations
			tools = append(tools, listed)
		}
		mustReplace(t, r, s.Name, tools...)
	}
	realBelt = r
	return r
}

var realBelt *belt

// ask calls a tool with arguments, and returns the text of its result.
func ask(t testing.TB, r *belt, tool, args string) string {
	t.Helper()
	return result.Text(assert.Value(r.Call(t.Context(), tool, json.RawMessage(args)))(t))
}

// described returns a tool of a server with a schema and annotations.
func described(server, name, description, schema string, annotations *mcp.ToolAnnotations) *plainTool {
	t := serverTool(server, name, description)
	t.def.InputSchema = json.RawMessage(schema)
	t.def.Annotations = annotations
	return t
}

// searching returns a registry whose models can search, with tools of three servers
// and a native one.
func searching(t testing.TB, o registry.Options) *belt {
	t.Helper()
	r := newBelt(t, &o, nil)
	mustAdd(t, r, native("clock"))
	mustReplace(t, r, "github",
		serverTool("github", "create_issue", "Create an issue in a repository."),
		serverTool("github", "archive", "Archive what belongs to an issue."))
	mustReplace(t, r, "notes", serverTool("notes", "create", "Write a note."), serverTool("notes", "delete", "Delete a note."))
	mustReplace(t, r, "weather", serverTool("weather", "forecast", "Tell the weather of the next days."))
	return r
}

// always makes a model search.
var always = &toolset.SetOptions{MaxTokens: 1}

func toolNames(tools []registry.Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Definition().Name)
	}
	return strings.Join(names, " ")
}

// A definition as describe_tool shows it.
type shownTool struct {
	Name, Title, Server, Description, Effects string
	InputSchema, OutputSchema                 json.RawMessage
}

type shownTools struct {
	Tools   []shownTool
	Missing []struct{ Name, Reason string }
}

// names returns the names of the tools.
func (s *shownTools) names() string {
	var names []string
	for _, tool := range s.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// missing returns what is missing, and why.
func (s *shownTools) missing() string {
	var missing []string
	for _, m := range s.Missing {
		missing = append(missing, m.Name+": "+m.Reason)
	}
	return strings.Join(missing, "\n")
}

// show calls describe_tool.
func show(t *testing.T, r *belt, args string) (*mcp.CallToolResult, shownTools) {
	t.Helper()
	res := assert.Value(r.Call(t.Context(), "describe_tool", json.RawMessage(args)))(t)
	var shown shownTools
	assert.OK(t, json.Unmarshal([]byte(textOf(t, res)), &shown), "%s", args)
	return res, shown
}

// recorded returns a tool of a server that answers with its arguments, and where
// they are noted.
func recorded(server, name, schema string) (registry.Tool, *[]string) {
	calls := new([]string)
	t := serverTool(server, name, "")
	t.def.InputSchema = json.RawMessage(schema)
	return &recordedTool{t.def, func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		*calls = append(*calls, string(args))
		return textResult("got " + string(args)), nil
	}}, calls
}

type recordedTool struct {
	def  *registry.Definition
	call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
}

func (t *recordedTool) Definition() *registry.Definition { return t.def }

func (t *recordedTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.call(ctx, args)
}

const titled = `{"type":"object","properties":{"title":{"type":"string"},"draft":{"type":"boolean","default":true}},"required":["title"],"additionalProperties":false}`
