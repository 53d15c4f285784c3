// Tests of view.go and catalogue.go: what is in a view, and how it is listed.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A view shows what is to be in it, and nothing else can be called there.
func TestViews(t *testing.T) {
	server := newSDKServer()
	for _, name := range []string{"read", "write"} {
		addHinted(server, name, "", &sdk.ToolAnnotations{ReadOnlyHint: name == "read"}, func(context.Context, *sdk.CallToolRequest, anyInput) string { return name })
	}
	s := openServer(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"reading": {ReadOnly: true},
		"some":    {Servers: []string{"b*"}, Tools: []string{"*__write"}, Names: map[string]string{"belt__write": "put"}},
		"none":    {Servers: []string{"other"}},
	}}, server)
	addNative(t, s, "own")
	for path, c := range map[string]struct{ tools, refused string }{
		"/mcp":           {"belt__read belt__write own", "other"},
		"/s/belt/mcp":    {"read write", "own"},
		"/p/reading/mcp": {"belt__read", "belt__write"},
		"/p/some/mcp":    {"put", "belt__read"},
		"/p/none/mcp":    {"", "belt__read"}, // though the registry would take a name for another
	} {
		for _, revision := range both {
			user := s.connect(t, &client{path: path, revision: revision})
			assert.Equal(t, user.names(t), c.tools, "%s, %s: the tools", path, revision)
			for name := range strings.FieldsSeq(c.tools) {
				assert.Lacks(t, string(user.want(t, 0, "tools/call", toolParams(name, `{}`)).Result), `"isError":true`, "%s, %s: %s", path, revision, name)
			}
			user.want(t, -32602, "tools/call", toolParams(c.refused, `{}`))
		}
	}
}

// No name leads out of a view: not that of a tool elsewhere, nor a near one, nor a tool that calls others.
func TestOutOfTheView(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one":   {Servers: []string{"one"}, Names: map[string]string{"one__echo": "say"}},
		"echo":  {Tools: []string{"one__echo", "*_tool", "*_tools"}},
		"reads": {ReadOnly: true},
	}}, "one", "two")
	assert.Value(toolset.New(s.host.Registry(), nil))(t)
	const text, argument = `{"text":"x"}`, `,"argument":{"name":"who","value":"a"}`
	relay := toolParams("call_tool", `{"name":"two__echo","arguments":`+text+`}`)
	for _, c := range []struct {
		path, method, params string
		known                bool
	}{
		{"/mcp", "tools/call", toolParams("two__echo", text), true},
		{"/mcp", "tools/call", relay, true},
		{"/mcp", "tools/call", toolParams("search_tools", `{"query":"echo"}`), true},
		{"/p/one/mcp", "tools/call", toolParams("one__echo", text), true},
		{"/p/one/mcp", "tools/call", toolParams("say", text), true},
		{"/p/one/mcp", "tools/call", toolParams("two__echo", text), false},
		{"/p/one/mcp", "tools/call", toolParams("Two__Echo", text), false},
		{"/p/one/mcp", "tools/call", toolParams("two-echo", text), false},
		{"/p/one/mcp", "tools/call", relay, false},
		{"/p/echo/mcp", "tools/call", toolParams("one__echo", text), true},
		{"/p/echo/mcp", "tools/call", toolParams("one__wait", "{}"), false},
		{"/p/echo/mcp", "tools/call", relay, false},
		{"/p/echo/mcp", "tools/call", toolParams("describe_tool", `{"name":"two__echo"}`), false},
		{"/p/reads/mcp", "tools/call", toolParams("one__echo", text), false},
		{"/p/reads/mcp", "tools/call", toolParams("search_tools", `{"query":"echo"}`), false},
		{"/p/reads/mcp", "tools/call", relay, false},
		{"/s/one/mcp", "tools/call", toolParams("echo", text), true},
		{"/s/one/mcp", "tools/call", toolParams("one__echo", text), false},
		{"/s/one/mcp", "tools/call", toolParams("two__echo", text), false},
		{"/s/one/mcp", "tools/call", toolParams("../two__echo", text), false},
		{"/s/one/mcp", "tools/call", relay, false},
		{"/mcp", "resources/read", `"uri":"two://note://1"`, true},
		{"/p/one/mcp", "resources/read", `"uri":"two://note://1"`, false},
		{"/p/one/mcp", "resources/subscribe", `"uri":"two://note://1"`, false},
		{"/p/one/mcp", "resources/read", `"uri":"one://note://1"`, true},
		{"/s/one/mcp", "resources/read", `"uri":"two://note://1"`, false},
		{"/s/one/mcp", "resources/read", `"uri":"note://1"`, true},
		{"/mcp", "prompts/get", `"name":"two__greet"`, true},
		{"/p/one/mcp", "prompts/get", `"name":"two__greet"`, false},
		{"/p/one/mcp", "prompts/get", `"name":"one__greet"`, true},
		{"/s/one/mcp", "prompts/get", `"name":"two__greet"`, false},
		{"/s/one/mcp", "prompts/get", `"name":"greet"`, true},
		{"/mcp", "completion/complete", `"ref":{"type":"ref/prompt","name":"two__greet"}` + argument, true},
		{"/p/one/mcp", "completion/complete", `"ref":{"type":"ref/prompt","name":"two__greet"}` + argument, false},
		{"/p/one/mcp", "completion/complete", `"ref":{"type":"ref/prompt","name":"one__greet"}` + argument, true},
		{"/mcp", "completion/complete", `"ref":{"type":"ref/resource","uri":"two://note://{n}"}` + argument, true},
		{"/p/one/mcp", "completion/complete", `"ref":{"type":"ref/resource","uri":"two://note://{n}"}` + argument, false},
		{"/p/one/mcp", "completion/complete", `"ref":{"type":"ref/resource","uri":"one://note://{n}"}` + argument, true},
	} {
		m := s.connect(t, &client{path: c.path}).do(t, c.method, c.params)
		assert.Equal(t, m.Error == nil, c.known, "%s %s %s: it is known", c.path, c.method, c.params)
	}
}

// A name that no tool has is answered with those that may be meant, as the view calls them, and with no
// name of another view.
func TestUnknownTool(t *testing.T) {
	server := newSDKServer()
	addTool(server, "create_issue", nil)
	s := openServer(t, &gateway.Options{Profiles: map[string]gateway.Profile{"none": {Servers: []string{"other"}}}}, server)
	for _, c := range []struct{ path, name, suggestion string }{
		{"/mcp", "belt__create_isue", `; did you mean "belt__create_issue"?`},
		{"/s/belt/mcp", "belt__create_isue", ""},
		{"/p/none/mcp", "belt__create_isue", ""},
		{"/s/belt/mcp", "create_isue", `; did you mean "create_issue"?`},
	} {
		m := s.connect(t, &client{path: c.path}).want(t, -32602, "tools/call", toolParams(c.name, `{}`))
		assert.Equal(t, m.Error.Message, fmt.Sprintf("unknown tool %q", c.name)+c.suggestion, "%s", c.path)
	}
}

// A tool that was changed is neither found nor called. The answer is what changed.
func TestQuarantinedTool(t *testing.T) {
	server := newSDKServer()
	called := false
	add := func(description string) {
		addHinted(server, "mail", description, nil, func(context.Context, *sdk.CallToolRequest, anyInput) string {
			called = true
			return ""
		})
	}
	add("Send a mail")
	ho := hosttest.InProcess(server)
	ho.StateDir, ho.OpenWait, ho.Registry = host.NoState, -1, hosttest.Pinned(t, filepath.Join(t.TempDir(), "mcp.lock.json"))
	s := new(site).open(t, ho, nil, commands("belt")...)
	add("Send a mail, and a copy to me")
	hosttest.Eventually(t, "the tool is in quarantine", func() bool { return len(s.host.Registry().Snapshot().Quarantined()) == 1 })
	for path, name := range map[string]string{"/mcp": "belt__mail", "/s/belt/mcp": "mail"} {
		s.connect(t, &client{path: path + "/direct"}).wantText(t, name, `{}`, "copy")
		c := s.connect(t, &client{path: path + "/search"})
		c.wantText(t, "retrieve_tools", `{"query":"send a mail"}`, "No tool fits")
		assert.Lacks(t, c.wantText(t, "describe_tool", fmt.Sprintf(`{"names":[%q]}`, name), "quarantine").text(), "copy", "%s: the definition", path)
		for _, tool := range []string{"call_tool", "call_tool_read", "call_tool_destructive"} {
			for _, args := range []string{fmt.Sprintf(`{"tool":%q}`, name), `{"server":"belt","tool":"mail"}`} {
				assert.Equal(t, c.wantText(t, tool, args, "copy").at("isError"), "true", "%s: %s %s: an error", path, tool, args)
			}
		}
	}
	assert.False(t, called, "the tool was called")
}

// addNative adds a tool of the program that returns its name.
func addNative(t testing.TB, s *site, name string) {
	t.Helper()
	tool := registry.MustFunc(name, "Does nothing.", func(context.Context, struct{}) (string, error) { return name, nil })
	assert.OK(t, s.host.Registry().Add(tool))
}

// A tool's name leaves the room that clients take, and leads to the tool; the gateway says of itself what the
// options say.
func TestNames(t *testing.T) {
	//report: Gateway | sparfenyuk/mcp-proxy#45, microsoft/vscode#243602, BerriAI/litellm#26733, anthropics/claude-code#19882, redpanda-data/ai-sdk-go#133 | the name of a server before that of a tool makes more than 64 bytes, and the model refuses the request | names are cut to what is left beside the prefix of the client, with a hash, and lead to their tools
	for prefix, most := range map[int]int{11: 53, 20: 44, 0: 64, 60: 24} {
		s := openSite(t, gateway.WithLimits(&gateway.Options{Implementation: &mcp.Implementation{Name: "me", Version: "7"}, Instructions: "Be kind."}, func(l *gateway.Limits) { l.ClientPrefix = prefix }))
		long := strings.Repeat("a", 70)
		addTool(s.server.Server, long+"1", nil)
		addTool(s.server.Server, long+"2", nil)
		c := s.modern("a", "")
		m := s.do(t, query{user: "a", body: callOf(1, "initialize", `{}`)}).message(t)
		assert.Equal(t, m.at("serverInfo", "name")+m.at("serverInfo", "version")+m.at("instructions"), "me7Be kind.")
		var names []string
		hosttest.Eventually(t, "the long names are listed", func() bool {
			names = nil
			for name := range c.tools(t) {
				if strings.Contains(name, "aaa") {
					names = append(names, name)
				}
			}
			return len(names) == 2
		})
		for _, name := range names {
			assert.Equal(t, len(name), most, "prefix %d: bytes of the name", prefix)
			c.want(t, 0, "tools/call", toolParams(name, `{}`))
		}
	}
}

// A client learns what the servers of its view offer and say of themselves, and no more.
func TestViewsOfServers(t *testing.T) {
	about := func(capabilities, instructions string) *rawServer {
		return &rawServer{results: map[string]string{"tools/list": toolsNamed("t"), "initialize": fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"raw","version":"1"},"instructions":%q}`, capabilities, instructions)}}
	}
	s := openRaw(t, map[string]*rawServer{"one": about(`{"tools":{}}`, "Use one."), "two": about(`{"tools":{},"prompts":{}}`, "Use two.")})
	hello := func(path string) rpc {
		return s.do(t, query{path: path, user: "a", body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25"}`)}).message(t)
	}
	//report: Gateway | maximhq/bifrost#4743, sparfenyuk/mcp-proxy#206, PrefectHQ/fastmcp#4511, agentgateway/agentgateway#1346, BerriAI/litellm#28231 | a gateway keeps the instructions of its servers to itself, or has them only once a list was read | initialize has those of all servers of the view, each under the name of its server, and in the view of one server those alone
	assert.Contains(t, hello("/mcp").at("instructions"), "# one\n\nUse one.")
	assert.Contains(t, hello("/mcp").at("instructions"), "# two\n\nUse two.")
	assert.Equal(t, hello("/s/one/mcp").at("instructions"), "Use one.")
	//report: Gateway | PrefectHQ/fastmcp#3948 | a proxy declares prompts and resources whatever its server has | what is declared is what the servers of the view offer
	assert.Equal(t, hello("/s/one/mcp").at("capabilities", "prompts"), "", "prompts of a server without")
	assert.True(t, hello("/mcp").at("capabilities", "prompts") != "", "prompts of both are declared")
	//report: Gateway | DeusData/codebase-memory-mcp#1015, upstash/context7#2534, gustavoeenriquez/MakerAi#109 | Cline and opencode ask for prompts and resources whatever is declared, and drop a server that does not know the method | a client with a session gets an empty list; revision 2026-07-28 wants the error
	for _, revision := range both {
		c := s.connect(t, &client{path: "/s/one/mcp", revision: revision})
		for method, member := range map[string]string{"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
			if m := c.do(t, method, ""); revision == both[0] {
				assert.Equal(t, string(m.Result), `{"`+member+`":[]}`, "%s in %s", method, revision)
			} else {
				assert.Equal(t, m.code(), -32601, "%s in %s", method, revision)
			}
		}
	}
}

// page reads a page of the list of tools: their names, and the cursor of the next one.
func (c *client) page(t *testing.T, cursor string) (names []string, next string) {
	t.Helper()
	params := ""
	if cursor != "" {
		params = fmt.Sprintf(`"cursor":%q`, cursor)
	}
	m := c.want(t, 0, "tools/list", params)
	var tools []struct{ Name string }
	assert.OK(t, json.Unmarshal([]byte(m.at("tools")), &tools))
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names, m.at("nextCursor")
}

// A list above PageBytes comes in pages that have each tool once, and a cursor is good for its list alone.
func TestPageBytes(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{Profiles: map[string]gateway.Profile{"echo": {Tools: []string{"*echo", "*big"}}}}, func(l *gateway.Limits) { l.PageBytes = 300 }))
	c := s.connect(t, &client{})
	all, cursor := c.page(t, "")
	assert.True(t, len(all) < 5, "the first page is not all")
	for next := cursor; next != ""; {
		var names []string
		names, next = c.page(t, next)
		all = append(all, names...)
	}
	assert.Equal(t, strings.Join(all, " "), "one__ask one__big one__echo one__flood one__wait")
	params := fmt.Sprintf(`"cursor":%q`, cursor)
	s.connect(t, &client{path: "/p/echo/mcp"}).want(t, -32602, "tools/list", params, "of another view")
	addTool(s.server.Server, "later", nil)
	hosttest.Eventually(t, "the cursor is old", func() bool { return c.do(t, "tools/list", params).code() == -32602 })
}

// A client that reads one page of a list sees all of it, and names that every client can use.
func TestListIsOnePage(t *testing.T) {
	tools := assert.Cases(200, 2000)
	server := newSDKServer()
	for i := range tools {
		server.AddTool(&sdk.Tool{Name: fmt.Sprintf("tool_with_a_name_that_is_rather_long_for_its_number_%04d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
	}
	s := openServer(t, nil, server)
	for _, revision := range both {
		names, next := s.connect(t, &client{path: "/mcp/direct", revision: revision}).page(t, "")
		assert.Equal(t, fmt.Sprint(len(names), next), fmt.Sprint(tools, ""), "%s: the tools and the cursor", revision)
		different := map[string]bool{}
		for _, name := range names {
			different[name] = true
			assert.True(t, len("mcp__belt__"+name) <= 64, "%s: %s is short enough", revision, name)
		}
		assert.Equal(t, len(different), tools, "%s: names", revision)
	}
}

// Tools that a server has for its apps are for clients that show these and keep them from their
// models, in the list that such clients get whole.
func TestToolsForAppsAreForClientsThatShowThem(t *testing.T) {
	//report: Gateway | modelcontextprotocol/ext-apps#745, modelcontextprotocol/ext-apps#753 | a tool is for the page of an app alone, and a gateway shows it to models, or to nobody | clients that show such pages are given it and call it; others and searches are not
	server := newSDKServer()
	server.AddTool(&sdk.Tool{Name: "poll", InputSchema: map[string]any{"type": "object"}, Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}}},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("polled ", r.ClientCapabilities().Extensions != nil)}}}, nil
		})
	s := openServer(t, nil, server)
	for _, revision := range both {
		for caps, shown := range map[string]bool{`{}`: false, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`: true} {
			c := s.connect(t, &client{revision: revision, caps: caps})
			var name string
			for tool := range c.tools(t) {
				if strings.HasSuffix(tool, "__poll") {
					name = tool
				}
			}
			assert.Equal(t, name != "", shown, "%s: poll is listed for %s", revision, caps)
			if shown {
				c.wantText(t, name, `{}`, fmt.Sprint("polled ", revision == mcp.Revision20260728)) // its server is told, too
			} else {
				c.want(t, -32602, "tools/call", toolParams("s__poll", `{}`))
			}
			search := s.connect(t, &client{revision: revision, caps: caps, path: "/mcp/search"})
			assert.False(t, strings.Contains(search.call(t, "retrieve_tools", `{"query":"poll"}`).text(), "__poll"), "%s: a search finds poll", revision)
		}
	}
}
