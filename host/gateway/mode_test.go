package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/clients"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// modeOf returns the mode of a client by what it is shown.
func modeOf(tools map[string]json.RawMessage) string {
	switch {
	case tools["call_tool"] != nil:
		return "search"
	case tools["code_execution"] != nil:
		return "code"
	}
	return "direct"
}

// openHinted opens a site with tools that read, write and destroy, and results that are bounded.
func openHinted(t testing.TB, o *gateway.Options, names ...string) *site {
	t.Helper()
	s := &site{server: newUpstream()}
	for name, hints := range map[string]*sdk.ToolAnnotations{
		"reads": {ReadOnlyHint: true}, "writes": {DestructiveHint: new(false)}, "destroys": {DestructiveHint: new(true)},
	} {
		addHinted(s.server.Server, name, "A tool that is called "+name, hints, func(context.Context, *sdk.CallToolRequest, anyInput) string { return "did " + name })
	}
	ho := s.hostOptions()
	ho.Registry = registry.New(&registry.Options{Results: &result.Options{}})
	if names == nil {
		names = []string{"one"}
	}
	return s.open(t, ho, o, commands(names...)...)
}

// Each client of the data file gets its mode, and what else is known of it, by its name.
func TestClientRows(t *testing.T) {
	s := openHinted(t, nil)
	for _, row := range assert.Value(clients.Read())(t) {
		for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
			c := s.connect(t, &client{name: strings.ToUpper(strings.ReplaceAll(row.Name, "*", "x")), revision: revision})
			at := fmt.Sprintf("%s %s in %s", c.name, c.version, revision)
			tools := c.tools(t)
			direct := row.Mode == "direct"
			destroys, echo := string(tools["one__destroys"]), string(tools["one__echo"])
			assert.Equal(t, modeOf(tools), row.Mode, "%s: the mode", at)
			assert.Equal(t, tools["await_call"] != nil, row.AnswerWithinSeconds > 0, "%s: await_call", at)
			assert.Equal(t, strings.Contains(destroys, `"anthropic/requiresUserInteraction":true`), direct && row.MaxResultSizeChars > 0, "%s: the mark of %s", at, destroys)
			for _, harmless := range []string{"one__reads", "one__writes", "one__echo"} {
				assert.Lacks(t, string(tools[harmless]), "requiresUserInteraction", "%s", at)
			}
			size := fmt.Sprintf(`"anthropic/maxResultSizeChars":%d`, row.MaxResultSizeChars)
			assert.Equal(t, strings.Contains(echo, size), direct && row.MaxResultSizeChars > 0, "%s: the size of results in %s", at, echo)
			for _, tool := range tools {
				if row.Mode == "search" {
					assert.Contains(t, string(tool), `"anthropic/alwaysLoad":true`, "%s", at)
				}
			}
			if row.NoElicitation {
				c.wantText(t, "one__ask", `{}`, "not asked: ")
			}
		}
	}
	tools := s.connect(t, &client{name: "mcp-inspector", version: "2.12"}).tools(t)
	assert.Equal(t, modeOf(tools), "direct", "the mode of a client that is not known")
	assert.Lacks(t, string(tools["one__destroys"]), "anthropic/", "the tool of a client that is not known")
}

// The names of tools leave the room that a client has for them and the name of its server.
func TestNameRoomOfClients(t *testing.T) {
	//report: Gateway | ChromeDevTools/chrome-devtools-mcp#1169 | a client counts its own name of the server to the 64 bytes, another one 60 of server and tool | the room is what the client is known to leave
	s := openHinted(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.ClientPrefix = 0 }))
	addTool(s.server.Server, strings.Repeat("n", 70), nil)
	hosttest.Eventually(t, "the long name is listed", func() bool { return hasTool(s.host, "nnn") })
	for name, want := range map[string]int{"cursor-vscode": 60, "codex-mcp-client": 64} {
		longest := 0
		for tool := range s.connect(t, &client{name: name}).tools(t) {
			longest = max(longest, len(tool))
		}
		assert.Equal(t, longest, want, "%s: bytes of the longest name", name)
	}
}

// A client that is not known gets the list while that is small, and keeps what it got first.
func TestUnknownClient(t *testing.T) {
	s := openHinted(t, nil)
	early := map[string]*client{}
	for _, revision := range both {
		early[revision] = s.connect(t, &client{name: "early", revision: revision})
		assert.Equal(t, modeOf(early[revision].tools(t)), "direct", "%s", revision)
	}
	about := strings.Repeat("It has a description that takes its part of a context window. ", 20)
	for i := range 100 {
		s.server.AddTool(&sdk.Tool{Name: fmt.Sprintf("tool%03d", i), Description: about, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}
	hosttest.Eventually(t, "all tools are there", func() bool { return len(s.host.Registry().Snapshot().Tools()) > 100 })
	for _, revision := range both {
		for what, c := range map[string]*client{
			"the client that had the list": early[revision], "a client that searches itself": s.connect(t, &client{name: "codex-mcp-client", revision: revision}),
		} {
			assert.True(t, len(c.tools(t)) > 100, "%s: all tools for %s", revision, what)
		}
		assert.Equal(t, modeOf(s.connect(t, &client{name: "late", revision: revision}).tools(t)), "search", "%s: a new client", revision)
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
	for _, c := range []struct{ client, path, key, want string }{
		{"x", "/mcp", "", "search"},
		{"x", "/mcp/auto", "", "direct"},
		{"x", "/mcp", "d", "direct"},
		{"claude-ai", "/mcp", "d", "direct"},
		{"claude-ai", "/mcp/direct", "s", "direct"},
		{"codex", "/mcp/search", "d", "search"},
		{"codex", "/mcp/auto/", "s", "direct"},
		{"codex", "/p/office/mcp/search", "d", "search"},
		{"codex", "/p/office/mcp/direct/", "s", "direct"},
		{"codex", "/s/one/mcp/search", "d", "search"},
		{"x", "/s/one/mcp/direct", "s", "direct"},
	} {
		for _, revision := range both {
			got := modeOf(s.connect(t, &client{name: c.client, path: c.path, revision: revision, header: map[string]string{"X-Key": c.key}}).tools(t))
			assert.Equal(t, got, c.want, "%s at %s with the key %q in %s: the mode", c.client, c.path, c.key, revision)
		}
	}
	const all = "there are auto, direct, search and code"
	for _, c := range []struct {
		path, key string
		status    int
		want      string
	}{
		{"/mcp/sarch", "", 404, all},
		{"/s/one/mcp/SEARCH", "", 404, all},
		{"/mcp/code", "", 404, "the mode code is off"},
		{"/mcp", "code", 400, "the mode code is off"},
		{"/mcp", "bad", 400, all},
		{"/mcp/tools/x", "", 404, all},
	} {
		q := query{path: c.path, body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`)}.with("X-Key", c.key)
		assert.Contains(t, s.wantStatus(t, c.status, q, "%s with the key %q", c.path, c.key).body, c.want, "%s with the key %q", c.path, c.key)
	}
	h := hosttest.Open(t, hosttest.Write(t), &host.Options{StateDir: host.NoState})
	for _, mode := range []string{"code", "x"} {
		assert.Fails(t, assert.Err(gateway.New(h, &gateway.Options{Mode: mode})), "the mode %s", mode)
	}
	stdio := s.stdio(t, "/mcp/direct")
	stdio.begin(t)
	assert.Contains(t, string(stdio.do(t, "tools/list", "").Result), "one__echo", "over stdio")
}
