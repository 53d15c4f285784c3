package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// The list of the mode search is small and always the same, a client finds a tool by it, and calls it.
func TestSearchMode(t *testing.T) {
	s := openHinted(t, &gateway.Options{AnswerWithin: 1 << 40}, "one", "two")
	for _, revision := range append([]string{"2024-11-05"}, both...) {
		c := s.connect(t, &client{path: "/mcp/search", revision: revision})
		list := string(c.want(t, 0, "tools/list", "").Result)
		assert.Equal(t, len(list) < 4000, true, "%s: a list of %d bytes is small", revision, len(list))
		assert.Equal(t, c.names(t), "await_call call_tool call_tool_destructive call_tool_read call_tool_write describe_tool read_result retrieve_tools")
		assert.Equal(t, strings.Count(list, `"_meta":{"anthropic/alwaysLoad":true}`), 8, "%s: tools that are marked", revision)
		hits := c.call(t, "retrieve_tools", `{"query":"destroys","limit":5}`).text()
		assert.Contains(t, hits[:80], "__destroys(text?: string", "%s: the first hit", revision)
		assert.Contains(t, hits[:80], "may destroy", "%s: the first hit", revision)
		assert.Equal(t, len(hits) < 2000, true, "%s: hits of %d bytes are small", revision, len(hits))
		described := c.wantText(t, "describe_tool", `{"names":["one__echo"]}`, `"name":"one__echo"`)
		assert.Contains(t, described.text(), `"inputSchema":{`, "%s", revision)
		for _, call := range []struct{ tool, args, want string }{
			{"call_tool", `{"tool":"one__reads"}`, "did reads"},
			{"call_tool", `{"server":"two","tool":"reads","arguments":{}}`, "did reads"},
			{"call_tool", `{"server":"two","tool":"two__reads","arguments":{}}`, "did reads"},
			{"call_tool", `{"server":"","tool":"one__echo","arguments":"{\"text\":\"did it\"}"}`, "did it"},
			{"call_tool_read", `{"tool":"one__reads"}`, "did reads"},
			{"call_tool_read", `{"tool":"one__writes"}`, `"one__writes" changes something: call it with call_tool_write`},
			{"call_tool_read", `{"server":"one","tool":"destroys"}`, `"one__destroys" may destroy something: call it with call_tool_destructive`},
			{"call_tool_write", `{"tool":"one__destroys"}`, `call it with call_tool_destructive`},
			{"call_tool_write", `{"tool":"one__echo"}`, `"one__echo" does not say what it changes: call it with call_tool_destructive`},
			{"call_tool_write", `{"tool":"one__writes"}`, "did writes"},
			{"call_tool_destructive", `{"tool":"one__destroys"}`, "did destroys"},
			{"call_tool", `{"tool":"one__echo","arguments":[1]}`, `"arguments" must not be there, or have another value`},
			{"call_tool", `{}`, `"tool" is missing`},
			{"one__reads", `{}`, "did reads"},
		} {
			m := c.wantText(t, call.tool, call.args, call.want)
			assert.Equal(t, m.at("isError") != "true", strings.HasPrefix(call.want, "did"), "%s: %s %s: it is no error", revision, call.tool, call.args)
		}
		for _, args := range []string{`{"tool":"one__nope"}`, `{"server":"three","tool":"reads"}`, `{"server":"one","tool":"nope"}`} {
			m := c.want(t, -32602, "tools/call", toolParams("call_tool", args))
			assert.Contains(t, m.Error.Message, "unknown tool", "%s: %s", revision, args)
		}
	}
}

// A call by call_tool is the call of the tool: it is asked by the client's means, reports, and waits as that does.
func TestCallToolIsTheCall(t *testing.T) {
	s := openHinted(t, nil)
	c := s.connect(t, &client{path: "/mcp/search", revision: both[1]})
	ask := toolParams("call_tool", `{"tool":"one__ask","arguments":{}}`)
	m := c.want(t, 0, "tools/call", ask)
	assert.Equal(t, m.at("resultType"), "input_required")
	requests := map[string]json.RawMessage{}
	assert.OK(t, json.Unmarshal([]byte(m.at("inputRequests")), &requests))
	for id := range requests {
		answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":"ann"}}}`, m.at("requestState"), id)
		assert.Equal(t, c.want(t, 0, "tools/call", ask+answer).text(), "accept ann")
		c.want(t, -32602, "tools/call", toolParams("call_tool", `{"tool":"one__echo","arguments":{}}`)+answer, "another call")
	}
	old := s.connect(t, &client{path: "/mcp/search"})
	task := old.beginTask(t, "call_tool", `{"tool":"one__reads"}`)
	assert.Equal(t, old.want(t, 0, "tasks/result", task).text(), "did reads")
	observed := make(chan string, 10)
	defer s.host.Registry().Observe(func(_ context.Context, o *registry.Observation) { observed <- o.Name })()
	old.call(t, "call_tool_read", `{"tool":"one__reads"}`)
	assert.Equal(t, <-observed, "one__reads", "the call that is observed")
}

// No search leads out of a view, by no name.
func TestSearchOfAView(t *testing.T) {
	s := openHinted(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one":   {Servers: []string{"one"}, Names: map[string]string{"one__echo": "say"}},
		"reads": {ReadOnly: true},
	}}, "one", "two")
	for _, revision := range both {
		one := s.connect(t, &client{path: "/p/one/mcp/search", revision: revision})
		reads := s.connect(t, &client{path: "/p/reads/mcp/search", revision: revision})
		alone := s.connect(t, &client{path: "/s/one/mcp/search", revision: revision})
		for _, search := range []string{"echo", "two__echo", "reads", "destroys", "two", "xyzzy"} {
			args := fmt.Sprintf(`{"query":%q,"limit":100}`, search)
			assert.Lacks(t, one.call(t, "retrieve_tools", args).text(), "two", "%s: %s", one.path, search)
			assert.Lacks(t, alone.call(t, "retrieve_tools", args).text(), "two", "%s: %s", alone.path, search)
			hits := reads.call(t, "retrieve_tools", args).text()
			assert.Lacks(t, hits, "destroys(", "%s: %s", reads.path, search)
			assert.Lacks(t, hits, "echo(", "%s: %s", reads.path, search)
		}
		one.wantText(t, "retrieve_tools", `{"query":"echo"}`, "- say(")      // its name in the view
		alone.wantText(t, "retrieve_tools", `{"query":"reads"}`, "- reads(") // the server's own name
		for _, c := range []struct {
			client     *client
			tool, args string
			code       int
		}{
			{one, "call_tool", `{"tool":"say","arguments":{"text":"x"}}`, 0},
			{one, "call_tool", `{"server":"one","tool":"say","arguments":{"text":"x"}}`, 0},
			{one, "call_tool", `{"server":"one","tool":"echo","arguments":{"text":"x"}}`, 0},
			{one, "call_tool", `{"tool":"two__echo","arguments":{"text":"x"}}`, -32602},
			{one, "call_tool", `{"tool":"Two-Echo","arguments":{"text":"x"}}`, -32602},
			{one, "call_tool", `{"server":"two","tool":"echo","arguments":{"text":"x"}}`, -32602},
			{one, "call_tool", `{"server":"two","tool":"say","arguments":{"text":"x"}}`, -32602},
			{one, "call_tool", `{"tool":"call_tool","arguments":{"tool":"two__echo"}}`, -32602},
			{reads, "call_tool", `{"tool":"one__destroys"}`, -32602},
			{reads, "call_tool_destructive", `{"server":"one","tool":"destroys"}`, -32602},
			{reads, "call_tool_read", `{"server":"two","tool":"reads"}`, 0},
			{alone, "call_tool", `{"tool":"reads"}`, 0},
			{alone, "call_tool", `{"server":"one","tool":"reads"}`, 0},
			{alone, "call_tool", `{"server":"two","tool":"reads"}`, -32602},
			{alone, "call_tool", `{"tool":"two__reads"}`, -32602},
		} {
			c.client.want(t, c.code, "tools/call", toolParams(c.tool, c.args))
		}
		described := one.call(t, "describe_tool", `{"names":["two__echo","Two_Echo","two__nope"]}`).text()
		assert.Lacks(t, described, "inputSchema")
		assert.Lacks(t, described, "did you mean")
	}
}

// A search finds what the grant of the caller lets them use, also when that has become less.
func TestSearchOfAGrant(t *testing.T) {
	var grant atomic.Pointer[access.Grant]
	s := openHinted(t, &gateway.Options{Mode: "search", Authenticate: func(*http.Request) (*access.Caller, error) {
		return &access.Caller{Credential: "key", Grant: grant.Load()}, nil
	}}, "one", "two")
	for _, revision := range both {
		grant.Store(&access.Grant{})
		c := s.connect(t, &client{revision: revision})
		c.wantText(t, "retrieve_tools", `{"query":"destroys","limit":100}`, "two__destroys")
		grant.Store(&access.Grant{Servers: []string{"one"}, ReadOnly: true})
		for _, search := range []string{"destroys", "reads", "two__reads", "xyzzy"} {
			hits := c.call(t, "retrieve_tools", fmt.Sprintf(`{"query":%q,"limit":100}`, search)).text()
			assert.Lacks(t, hits, "two", "%s: %s", revision, search)
			assert.Lacks(t, hits, "destroys", "%s: %s", revision, search)
		}
		for args, code := range map[string]int{
			`{"tool":"one__reads"}`:                  0,
			`{"server":"one","tool":"reads"}`:        0,
			`{"tool":"one__destroys"}`:               -32602,
			`{"tool":"two__reads"}`:                  -32602,
			`{"server":"two","tool":"reads"}`:        -32602,
			`{"server":"two","tool":"none_of_them"}`: -32602,
		} {
			c.want(t, code, "tools/call", toolParams("call_tool", args))
		}
	}
}

// In the mode code a client sees code_execution and what finds tools, and a script calls what the client sees.
func TestCodeMode(t *testing.T) {
	var r *registry.Registry
	code := func(keep func(*registry.Definition) bool) registry.Tool {
		return registry.MustFunc("code_execution", "Run a script", func(ctx context.Context, in struct {
			Code string `json:"code"`
		}) (string, error) {
			d, ok := r.Resolve(in.Code)
			if !ok || !keep(d) {
				return "", fmt.Errorf("there is no %s", in.Code)
			}
			res, err := r.Call(ctx, in.Code, nil)
			if err != nil {
				return "", err
			}
			return result.Text(res), nil
		})
	}
	s := openHinted(t, &gateway.Options{Code: code, Profiles: map[string]gateway.Profile{"one": {Servers: []string{"one"}}}}, "one", "two")
	r = s.host.Registry()
	for _, revision := range both {
		c := s.connect(t, &client{path: "/mcp/code", revision: revision})
		assert.Equal(t, c.names(t), "code_execution describe_tool read_result retrieve_tools", "%s", revision)
		assert.Contains(t, string(c.tools(t)["code_execution"]), `"anthropic/alwaysLoad":true`, "%s", revision)
		c.wantText(t, "code_execution", `{"code":"two__reads"}`, "did reads")
		assert.Equal(t, c.call(t, "code_execution", `{"code":"two__nope"}`).at("isError"), "true", "%s: an error of the script", revision)
		s.connect(t, &client{path: "/p/one/mcp/code", revision: revision}).wantText(t, "code_execution", `{"code":"two__reads"}`, "there is no two__reads")
		s.connect(t, &client{path: "/mcp/search", revision: revision}).want(t, -32602, "tools/call", toolParams("code_execution", `{"code":"one__reads"}`))
	}
	asks := s.modern("a", "/mcp/code").call(t, "code_execution", `{"code":"one__ask"}`)
	assert.Equal(t, asks.at("resultType"), "input_required", "a call of the script that asks")
}
