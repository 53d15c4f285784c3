package gateway_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// No name leads out of a view: not that of a tool elsewhere, nor a near one, nor a tool that calls others.
func TestOutOfTheView(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one":   {Servers: []string{"one"}, Names: map[string]string{"one__echo": "say"}},
		"echo":  {Tools: []string{"one__echo", "*_tool", "*_tools"}},
		"reads": {ReadOnly: true},
	}}, "one", "two")
	assert.Value(toolset.New(s.host.Registry(), nil))(t)
	const text = `{"text":"x"}`
	call := func(name, args string) string { return `{"name":"` + name + `","arguments":` + args + `}` }
	relay := call("call_tool", `{"name":"two__echo","arguments":`+text+`}`)
	for _, c := range []struct {
		path, params string
		want         int
	}{
		{"/mcp", call("two__echo", text), 0},
		{"/mcp", relay, 0},
		{"/mcp", call("search_tools", `{"query":"echo"}`), 0},
		{"/p/one/mcp", call("one__echo", text), 0},
		{"/p/one/mcp", call("say", text), 0},
		{"/p/one/mcp", call("two__echo", text), -32602},
		{"/p/one/mcp", call("Two__Echo", text), -32602},
		{"/p/one/mcp", call("two-echo", text), -32602},
		{"/p/one/mcp", relay, -32602},
		{"/p/echo/mcp", call("one__echo", text), 0},
		{"/p/echo/mcp", call("one__wait", "{}"), -32602},
		{"/p/echo/mcp", relay, -32602},
		{"/p/echo/mcp", call("describe_tool", `{"name":"two__echo"}`), -32602},
		{"/p/reads/mcp", call("one__echo", text), -32602},
		{"/p/reads/mcp", call("search_tools", `{"query":"echo"}`), -32602},
		{"/p/reads/mcp", relay, -32602},
		{"/s/one/mcp", call("echo", text), 0},
		{"/s/one/mcp", call("one__echo", text), -32602},
		{"/s/one/mcp", call("two__echo", text), -32602},
		{"/s/one/mcp", call("../two__echo", text), -32602},
		{"/s/one/mcp", relay, -32602},
	} {
		s.wantCode(t, c.path+" "+c.params, shot{path: c.path, user: "a", session: s.begin(t, c.path, "a", "2025-11-25"), body: callOf(2, "tools/call", c.params)}, c.want)
	}
	const argument = `"argument":{"name":"who","value":"a"}`
	for _, c := range []struct {
		path, method, params string
		known                bool
	}{
		{"/mcp", "resources/read", `{"uri":"two://note://1"}`, true},
		{"/p/one/mcp", "resources/read", `{"uri":"two://note://1"}`, false},
		{"/p/one/mcp", "resources/subscribe", `{"uri":"two://note://1"}`, false},
		{"/p/one/mcp", "resources/read", `{"uri":"one://note://1"}`, true},
		{"/s/one/mcp", "resources/read", `{"uri":"two://note://1"}`, false},
		{"/s/one/mcp", "resources/read", `{"uri":"note://1"}`, true},
		{"/mcp", "prompts/get", `{"name":"two__greet"}`, true},
		{"/p/one/mcp", "prompts/get", `{"name":"two__greet"}`, false},
		{"/p/one/mcp", "prompts/get", `{"name":"one__greet"}`, true},
		{"/s/one/mcp", "prompts/get", `{"name":"two__greet"}`, false},
		{"/s/one/mcp", "prompts/get", `{"name":"greet"}`, true},
		{"/mcp", "completion/complete", `{"ref":{"type":"ref/prompt","name":"two__greet"},` + argument + `}`, true},
		{"/p/one/mcp", "completion/complete", `{"ref":{"type":"ref/prompt","name":"two__greet"},` + argument + `}`, false},
		{"/p/one/mcp", "completion/complete", `{"ref":{"type":"ref/prompt","name":"one__greet"},` + argument + `}`, true},
		{"/mcp", "completion/complete", `{"ref":{"type":"ref/resource","uri":"two://note://{n}"},` + argument + `}`, true},
		{"/p/one/mcp", "completion/complete", `{"ref":{"type":"ref/resource","uri":"two://note://{n}"},` + argument + `}`, false},
		{"/p/one/mcp", "completion/complete", `{"ref":{"type":"ref/resource","uri":"one://note://{n}"},` + argument + `}`, true},
	} {
		r := s.do(t, shot{path: c.path, user: "a", session: s.begin(t, c.path, "a", "2025-11-25"), body: callOf(2, c.method, c.params)})
		if m := r.message(t); (m.Error == nil) != c.known {
			t.Errorf("%s %s %s: got %s, %+v, want it known: %t", c.path, c.method, c.params, m.Result, m.Error, c.known)
		}
	}
}
