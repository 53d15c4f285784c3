package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/clients"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A scripted client has a name, and speaks one revision at one path of a site.
type scripted struct {
	site                          *site
	name, version, revision, path string
	session                       string
	caps                          string
	header                        map[string]string
}

// client begins a session, unless the revision has none.
func (s *site) scripted(t testing.TB, c scripted) *scripted {
	t.Helper()
	c.site = s
	if c.caps == "" {
		c.caps = `{"elicitation":{}}`
	}
	if c.path == "" {
		c.path = "/mcp"
	}
	if c.revision != mcp.Revision20260728 {
		r := s.do(t, shot{path: c.path, user: "a", header: c.header, body: callOf(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":%q,"version":%q}}`, c.revision, c.caps, c.name, c.version))})
		if r.status != http.StatusOK {
			t.Fatalf("initialize at %s: got %d %s, want 200", c.path, r.status, cut(r.body))
		}
		c.session = r.header.Get("Mcp-Session-Id")
	}
	return &c
}

// shot returns a request of the client. Params are without their braces.
func (c *scripted) shot(method, params string) shot {
	if c.session != "" {
		return shot{path: c.path, user: "a", header: c.header, session: c.session, body: callOf(2, method, "{"+params+"}")}
	}
	if params != "" {
		params += ","
	}
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	var p struct{ Name string }
	_ = json.Unmarshal([]byte("{"+strings.TrimSuffix(params, ",")+"}"), &p)
	if p.Name != "" {
		header["Mcp-Name"] = p.Name
	}
	for key, value := range c.header {
		header[key] = value
	}
	meta := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":%q},"io.modelcontextprotocol/clientCapabilities":%s}`, c.name, c.version, c.caps)
	return shot{path: c.path, user: "a", header: header, body: callOf(2, method, "{"+params+meta+"}")}
}

// list returns the tools that the client is shown, by name, and the bytes of the result.
func (c *scripted) list(t testing.TB) (tools map[string]json.RawMessage, raw json.RawMessage) {
	t.Helper()
	m := c.site.do(t, c.shot("tools/list", "")).message(t)
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(m.Result, &list); err != nil {
		t.Fatalf("got %s %+v, want a list", m.Result, m.Error)
	}
	tools = map[string]json.RawMessage{}
	for _, tool := range list.Tools {
		var named struct{ Name string }
		assert.OK(t, json.Unmarshal(tool, &named))
		tools[named.Name] = tool
	}
	return tools, m.Result
}

// call calls a tool, and returns the message and the text of its result.
func (c *scripted) call(t testing.TB, tool, args string) (rpc, string) {
	t.Helper()
	m := c.site.do(t, c.shot("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))).message(t)
	var res struct{ Content []struct{ Text string } }
	_ = json.Unmarshal(m.Result, &res)
	var all []string
	for _, block := range res.Content {
		all = append(all, block.Text)
	}
	return m, strings.Join(all, "\n")
}

// mode returns the mode of a client by what it is shown.
func modeOf(tools map[string]json.RawMessage) string {
	switch {
	case tools["call_tool"] != nil:
		return "search"
	case tools["code_execution"] != nil:
		return "code"
	}
	return "direct"
}

func namesOf(tools map[string]json.RawMessage) (names []string) {
	for name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// addHinted adds a tool with hints, which answers with its name.
func addHinted(u *upstream, name string, hints *sdk.ToolAnnotations) {
	sdk.AddTool(u.Server, &sdk.Tool{Name: name, Annotations: hints, Description: "A tool that is called " + name}, func(context.Context, *sdk.CallToolRequest, anyInput) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "did " + name}}}, nil, nil
	})
}

// openHinted opens a site with tools that read, write and destroy, and results that are bounded.
func openHinted(t testing.TB, o *gateway.Options, names ...string) *site {
	t.Helper()
	if o.Authenticate == nil {
		o.Authenticate = userOfField
	}
	s := &site{server: newUpstream()}
	no, yes := false, true
	addHinted(s.server, "reads", &sdk.ToolAnnotations{ReadOnlyHint: true})
	addHinted(s.server, "writes", &sdk.ToolAnnotations{DestructiveHint: &no})
	addHinted(s.server, "destroys", &sdk.ToolAnnotations{DestructiveHint: &yes})
	ho := s.hostOptions()
	ho.Registry = registry.New(&registry.Options{Results: &result.Options{}})
	if names == nil {
		names = []string{"one"}
	}
	return s.open(t, ho, o, names)
}

// Each client of the data file gets its mode, and what else is known of it, by its name.
func TestClientRows(t *testing.T) {
	s := openHinted(t, &gateway.Options{})
	long := strings.Repeat("n", 70)
	addEmptyTool(s.server, long)
	eventually(t, "the long name is listed", func() bool { return len(s.host.Registry().Snapshot().Tools()) == 0 || hasTool(s.host, long) })
	rows := assert.Value(clients.Read())(t)
	for _, row := range rows {
		name, version := strings.ToUpper(strings.ReplaceAll(row.Name, "*", "x")), row.From
		for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
			c := s.scripted(t, scripted{name: name, version: version, revision: revision})
			tools, _ := c.list(t)
			at := func(format string, args ...any) {
				t.Helper()
				t.Errorf("%s %s in %s: %s", name, version, revision, fmt.Sprintf(format, args...))
			}
			if got := modeOf(tools); got != row.Mode {
				at("got the mode %s, want %s", got, row.Mode)
			}
			if got, want := tools["await_call"] != nil, row.AnswerWithinSeconds > 0; got != want {
				at("got await_call %t, want %t", got, want)
			}
			if got := strings.Contains(string(tools["one__destroys"]), `"anthropic/requiresUserInteraction":true`); got != (row.Mode == "direct" && row.RequiresUserInteraction) {
				at("got the destructive tool as %s, want it marked: %t", tools["one__destroys"], row.RequiresUserInteraction)
			}
			for _, harmless := range []string{"one__reads", "one__writes", "one__echo"} {
				if strings.Contains(string(tools[harmless]), "requiresUserInteraction") {
					at("got %s, want no such mark", tools[harmless])
				}
			}
			if got, want := strings.Contains(string(tools["one__echo"]), fmt.Sprintf(`"anthropic/maxResultSizeChars":%d`, row.MaxResultSizeChars)), row.Mode == "direct" && row.MaxResultSizeChars > 0; got != want {
				at("got %s, want the size of results: %t", tools["one__echo"], want)
			}
			if row.Mode == "search" {
				for name, tool := range tools {
					if !strings.Contains(string(tool), `"anthropic/alwaysLoad":true`) {
						at("got %s without alwaysLoad, want it", name)
					}
				}
			}
			ask := fmt.Sprintf(`"name":%q,"arguments":{}`, "one__ask")
			if row.NoElicitation {
				if m := s.do(t, c.shot("tools/call", ask)).message(t); !strings.Contains(string(m.Result), "isError") {
					at("got %s %+v, want that the user is not asked", m.Result, m.Error)
				}
			}
		}
	}
	c := s.scripted(t, scripted{name: "mcp-inspector", version: "2.12", revision: "2025-11-25"})
	if tools, _ := c.list(t); modeOf(tools) != "direct" || strings.Contains(string(tools["one__destroys"]), "anthropic/") {
		t.Errorf("got %s, want the tool of a client that is not known as its server sent it", tools["one__destroys"])
	}
}

// hasTool reports whether the host has a tool whose own name begins so.
func hasTool(h *host.Host, name string) bool {
	return slices.ContainsFunc(h.Registry().Snapshot().Tools(), func(t registry.Tool) bool { return strings.HasPrefix(t.Definition().Origin.Tool, name) })
}

// The names of tools leave the room that a client has for them and the name of its server.
func TestNameRoomOfClients(t *testing.T) {
	s := openHinted(t, &gateway.Options{ClientPrefix: -1})
	addEmptyTool(s.server, strings.Repeat("n", 70))
	eventually(t, "the long name is listed", func() bool { return hasTool(s.host, "nnn") })
	for client, want := range map[string]int{"cursor-vscode": 60, "codex-mcp-client": 64} {
		tools, _ := s.scripted(t, scripted{name: client, revision: "2025-11-25"}).list(t)
		longest := 0
		for name := range tools {
			longest = max(longest, len(name))
		}
		assert.Equal(t, longest, want, "%s: got a name of bytes", client)
	}
}

// A client that is not known gets the list while that is small, and keeps what it got first.
func TestUnknownClient(t *testing.T) {
	s := openHinted(t, &gateway.Options{})
	small := map[string]*scripted{}
	for _, revision := range both {
		small[revision] = s.scripted(t, scripted{name: "early", revision: revision})
		if tools, _ := small[revision].list(t); modeOf(tools) != "direct" {
			t.Errorf("%s: got %v, want the tools", revision, namesOf(tools))
		}
	}
	about := strings.Repeat("It has a description that takes its part of a context window. ", 20)
	for i := range 100 {
		sdk.AddTool(s.server.Server, &sdk.Tool{Name: fmt.Sprintf("tool%03d", i), Description: about}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	eventually(t, "all tools are there", func() bool { return len(s.host.Registry().Snapshot().Tools()) > 100 })
	for _, revision := range both {
		if tools, _ := small[revision].list(t); modeOf(tools) != "direct" || len(tools) < 100 {
			t.Errorf("%s: got %v for the client that had the list, want all tools", revision, namesOf(tools))
		}
		late := s.scripted(t, scripted{name: "late", revision: revision})
		if tools, _ := late.list(t); modeOf(tools) != "search" {
			t.Errorf("%s: got %d tools for a new client, want those to search with", revision, len(tools))
		}
		known := s.scripted(t, scripted{name: "codex-mcp-client", revision: revision})
		if tools, _ := known.list(t); len(tools) < 100 {
			t.Errorf("%s: got %d tools for a client that searches itself, want all", revision, len(tools))
		}
	}
}

// A URL, a grant and an option say which mode it is, in this order; and a mode that there is not is refused by all the names.
func TestModeIsSaid(t *testing.T) {
	grants := map[string]*access.Grant{"s": {Mode: "search"}, "d": {Mode: "direct"}, "bad": {Mode: "sarch"}, "code": {Mode: "code"}}
	s := openHinted(t, &gateway.Options{
		Mode:     "search",
		Profiles: map[string]gateway.Profile{"office": {}},
		Authenticate: func(r *http.Request) (*access.Caller, error) {
			return &access.Caller{Grant: grants[r.Header.Get("X-Key")]}, nil
		},
	})
	for _, c := range []struct {
		client, path, key string
		want              string
	}{
		{"x", "/mcp", "", "search"},
		{"x", "/mcp?mode=auto", "", "direct"},
		{"x", "/mcp", "d", "direct"},
		{"claude-ai", "/mcp", "d", "direct"},
		{"claude-ai", "/mcp/direct", "s", "direct"},
		{"claude-ai", "/mcp?mode=direct", "s", "direct"},
		{"codex", "/mcp/search?mode=direct", "d", "search"},
		{"codex", "/mcp/auto/", "s", "direct"},
		{"codex", "/p/office/mcp/search", "d", "search"},
		{"codex", "/p/office/mcp/direct/", "s", "direct"},
		{"codex", "/s/one/mcp/search", "d", "search"},
		{"x", "/s/one/mcp/direct", "s", "direct"},
	} {
		for _, revision := range both {
			tools, _ := s.scripted(t, scripted{name: c.client, path: c.path, revision: revision, header: map[string]string{"X-Key": c.key}}).list(t)
			assert.Equal(t, modeOf(tools), c.want, "%s at %s with the key %q in %s: the mode", c.client, c.path, c.key, revision)
		}
	}
	for _, c := range []struct {
		path, key string
		status    int
		want      string
	}{
		{"/mcp/sarch", "", 404, "there are auto, direct, search and code"},
		{"/p/office/mcp/sarch", "", 404, "there are auto, direct, search and code"},
		{"/s/one/mcp/SEARCH", "", 404, "there are auto, direct, search and code"},
		{"/mcp/search/x", "", 404, "there are auto, direct, search and code"},
		{"/mcp?mode=x", "", 400, "there are auto, direct, search and code"},
		{"/mcp/direct?mode=x", "", 400, "there are auto, direct, search and code"},
		{"/mcp/code", "", 404, "the mode code is off"},
		{"/mcp?mode=code", "", 400, "the mode code is off"},
		{"/mcp", "code", 400, "the mode code is off"},
		{"/mcp", "bad", 400, "there are auto, direct, search and code"},
		{"/mcp/tools/x", "", 404, "no such path"},
	} {
		r := s.do(t, shot{path: c.path, header: map[string]string{"X-Key": c.key}, body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`)})
		if r.status != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s with the key %q: got %d %q, want %d and %q", c.path, c.key, r.status, r.body, c.status, c.want)
		}
	}
	h := hosttest.Open(t, hosttest.Write(t), &host.Options{StateDir: host.NoState})
	for _, mode := range []string{"code", "x"} {
		if _, err := gateway.New(h, &gateway.Options{Mode: mode}); err == nil {
			t.Errorf("got a gateway of the mode %s, want an error", mode)
		}
	}
	pipe := newPipeClient(t, s.gateway, "/mcp/direct")
	assert.Contains(t, string(pipe.send(t, "tools/list", "{}")), "one__echo", "over stdio")
	if err := s.gateway.ServeStdio(t.Context(), "/mcp/sarch", strings.NewReader(""), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "there are auto") {
		t.Errorf("got %v over stdio, want the names of the modes", err)
	}
}
