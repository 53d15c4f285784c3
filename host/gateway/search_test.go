package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// The list of the mode search is small and always the same, a client finds a tool by it, and calls it.
func TestSearchMode(t *testing.T) {
	s := openHinted(t, &gateway.Options{AnswerWithin: 1 << 40}, "one", "two")
	for _, revision := range append([]string{"2024-11-05"}, both...) {
		c := s.scripted(t, scripted{name: "x", path: "/mcp/search", revision: revision})
		tools, raw := c.list(t)
		if got, want := namesOf(tools), []string{"await_call", "call_tool", "call_tool_destructive", "call_tool_read", "call_tool_write", "describe_tool", "read_result", "retrieve_tools"}; !slices.Equal(got, want) {
			t.Errorf("%s: got the list %v, want %v", revision, got, want)
		}
		if len(raw) >= 4000 {
			t.Errorf("%s: got a list of %d bytes, want less than 4,000", revision, len(raw))
		}
		for name, tool := range tools {
			if !json.Valid(tool) || !strings.Contains(string(tool), `"_meta":{"anthropic/alwaysLoad":true}`) {
				t.Errorf("%s: got %s as %s, want it marked", revision, name, tool)
			}
		}
		_, text := c.call(t, "retrieve_tools", `{"query":"destroys","limit":5}`)
		if !strings.HasPrefix(text, "- one__destroys(text?: string) [one, may destroy]") && !strings.HasPrefix(text, "- two__destroys(text?: string) [two, may destroy]") {
			t.Errorf("%s: got the hits %q, want the destructive tools first", revision, text)
		}
		if len(text) >= 2000 {
			t.Errorf("%s: got hits of %d bytes, want less than 2,000", revision, len(text))
		}
		if _, text := c.call(t, "describe_tool", `{"names":["one__echo"]}`); !strings.Contains(text, `"name":"one__echo"`) || !strings.Contains(text, `"inputSchema":{`) {
			t.Errorf("%s: got %q, want the definition", revision, text)
		}
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
			m, text := c.call(t, call.tool, call.args)
			if m.Error != nil || !strings.Contains(text, call.want) {
				t.Errorf("%s: %s %s: got %q %+v, want %q", revision, call.tool, call.args, text, m.Error, call.want)
			}
			if got := strings.Contains(string(m.Result), `"isError":true`); got == strings.HasPrefix(call.want, "did") {
				t.Errorf("%s: %s %s: got an error %t", revision, call.tool, call.args, got)
			}
		}
		for _, args := range []string{`{"tool":"one__nope"}`, `{"server":"three","tool":"reads"}`, `{"server":"one","tool":"nope"}`} {
			if m, _ := c.call(t, "call_tool", args); m.Error == nil || !strings.Contains(m.Error.Message, "unknown tool") {
				t.Errorf("%s: %s: got %s %+v, want that there is no such tool", revision, args, m.Result, m.Error)
			}
		}
	}
}

// A call by call_tool is the call of the tool: it is asked by the client's means, reports, and waits as that does.
func TestCallToolIsTheCall(t *testing.T) {
	s := openHinted(t, &gateway.Options{})
	c := s.scripted(t, scripted{name: "x", path: "/mcp/search", revision: "2026-07-28"})
	ask := c.shot("tools/call", `"name":"call_tool","arguments":{"tool":"one__ask","arguments":{}}`)
	m := s.do(t, ask).message(t)
	state, requests := m.at("requestState"), map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(m.at("inputRequests")), &requests)
	if m.at("resultType") != "input_required" || len(requests) != 1 {
		t.Fatalf("got %s %+v, want a question", m.Result, m.Error)
	}
	for id := range requests {
		again := c.shot("tools/call", fmt.Sprintf(`"name":"call_tool","arguments":{"tool":"one__ask","arguments":{}},"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":"ann"}}}`, state, id))
		if m := s.do(t, again).message(t); !strings.Contains(string(m.Result), "accept ann") {
			t.Errorf("got %s %+v, want the answer to the question", m.Result, m.Error)
		}
		other := c.shot("tools/call", fmt.Sprintf(`"name":"call_tool","arguments":{"tool":"one__echo","arguments":{}},"requestState":%q,"inputResponses":{%q:{"action":"accept"}}`, state, id))
		if m := s.do(t, other).message(t); m.Error == nil {
			t.Errorf("got %s, want that another call does not go on with the answer", m.Result)
		}
	}
	old := s.scripted(t, scripted{name: "x", path: "/mcp/search", revision: "2025-11-25"})
	task := s.do(t, old.shot("tools/call", `"name":"call_tool","arguments":{"tool":"one__reads"},"task":{}`)).message(t)
	id := task.at("task", "taskId")
	if m := s.do(t, old.shot("tasks/result", fmt.Sprintf(`"taskId":%q`, id))).message(t); !strings.Contains(string(m.Result), "did reads") {
		t.Errorf("got %s %+v, want the result of the task", m.Result, m.Error)
	}
	observed := make(chan string, 10)
	defer s.host.Registry().Observe(func(_ context.Context, o *registry.Observation) { observed <- o.Name })()
	old.call(t, "call_tool_read", `{"tool":"one__reads"}`)
	assert.Equal(t, <-observed, "one__reads", "the call of observed")
}

// A client is told that the list has changed in the mode direct only: in the others it has not.
func TestSearchListDoesNotChange(t *testing.T) {
	s := openHinted(t, &gateway.Options{})
	streams := map[string]*listener{}
	for _, path := range []string{"/mcp/direct", "/mcp/search"} {
		for _, revision := range both {
			c := s.scripted(t, scripted{name: "x", path: path, revision: revision})
			in := shot{method: "GET", path: path, user: "a", session: c.session, header: map[string]string{"Accept": "text/event-stream"}}
			if c.session == "" {
				in = c.shot("subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true}`)
			}
			streams[path+" "+revision] = s.listen(t, in)
		}
	}
	for _, revision := range both {
		if revision == mcp.Revision20260728 {
			for _, path := range []string{"/mcp/direct", "/mcp/search"} {
				streams[path+" "+revision].message(t) // that it listens
			}
		}
	}
	addEmptyTool(s.server, "another")
	s.server.AddPrompt(&sdk.Prompt{Name: "after"}, nil)
	for at, l := range streams {
		for {
			m := l.message(t)
			if m.Method == "notifications/prompts/list_changed" && strings.Contains(at, "search") {
				break // which came after the tool
			}
			if m.Method == "notifications/tools/list_changed" {
				assert.Lacks(t, at, "search", ": got %s", m.Method)
				break
			}
		}
	}
}

// No search leads out of a view, by no name.
func TestSearchOfAView(t *testing.T) {
	s := openHinted(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one":   {Servers: []string{"one"}, Names: map[string]string{"one__echo": "say"}},
		"reads": {ReadOnly: true},
	}}, "one", "two")
	for _, revision := range both {
		one := s.scripted(t, scripted{name: "x", path: "/p/one/mcp/search", revision: revision})
		reads := s.scripted(t, scripted{name: "x", path: "/p/reads/mcp/search", revision: revision})
		alone := s.scripted(t, scripted{name: "x", path: "/s/one/mcp/search", revision: revision})
		for _, query := range []string{"echo", "two__echo", "reads", "destroys", "two", "xyzzy"} {
			args := fmt.Sprintf(`{"query":%q,"limit":100}`, query)
			for _, c := range []*scripted{one, alone} {
				if _, text := c.call(t, "retrieve_tools", args); strings.Contains(text, "two") {
					t.Errorf("%s: got %q for %s, want nothing of two", c.path, text, query)
				}
			}
			if _, text := reads.call(t, "retrieve_tools", args); strings.Contains(text, "destroys") || strings.Contains(text, "echo") {
				t.Errorf("%s: got %q for %s, want what reads only", reads.path, text, query)
			}
		}
		if _, text := one.call(t, "retrieve_tools", `{"query":"echo"}`); !strings.Contains(text, "- say(") {
			t.Errorf("got %q, want the tool by its name in the view", text)
		}
		if _, text := alone.call(t, "retrieve_tools", `{"query":"reads"}`); !strings.Contains(text, "- reads(") {
			t.Errorf("got %q, want the tool by the server's own name", text)
		}
		for _, c := range []struct {
			client     *scripted
			tool, args string
			ok         bool
		}{
			{one, "call_tool", `{"tool":"say","arguments":{"text":"x"}}`, true},
			{one, "call_tool", `{"server":"one","tool":"say","arguments":{"text":"x"}}`, true},
			{one, "call_tool", `{"server":"one","tool":"echo","arguments":{"text":"x"}}`, true},
			{one, "call_tool", `{"tool":"two__echo","arguments":{"text":"x"}}`, false},
			{one, "call_tool", `{"tool":"Two-Echo","arguments":{"text":"x"}}`, false},
			{one, "call_tool", `{"server":"two","tool":"echo","arguments":{"text":"x"}}`, false},
			{one, "call_tool", `{"server":"two","tool":"say","arguments":{"text":"x"}}`, false},
			{one, "call_tool", `{"tool":"call_tool","arguments":{"tool":"two__echo"}}`, false},
			{reads, "call_tool", `{"tool":"one__destroys"}`, false},
			{reads, "call_tool_destructive", `{"server":"one","tool":"destroys"}`, false},
			{reads, "call_tool_read", `{"server":"two","tool":"reads"}`, true},
			{alone, "call_tool", `{"tool":"reads"}`, true},
			{alone, "call_tool", `{"server":"one","tool":"reads"}`, true},
			{alone, "call_tool", `{"server":"two","tool":"reads"}`, false},
			{alone, "call_tool", `{"tool":"two__reads"}`, false},
		} {
			if m, text := c.client.call(t, c.tool, c.args); (m.Error == nil) != c.ok {
				t.Errorf("%s: %s %s: got %q %+v, want it called: %t", c.client.path, c.tool, c.args, text, m.Error, c.ok)
			}
		}
		if _, text := one.call(t, "describe_tool", `{"names":["two__echo","Two_Echo","two__nope"]}`); strings.Contains(text, "inputSchema") || strings.Contains(text, "did you mean") {
			t.Errorf("got %q, want no word of what is not in the view", text)
		}
	}
}

// A tool in quarantine is not found, and a call of it says what changed.
func TestSearchQuarantined(t *testing.T) {
	server := newSDKServer()
	called := false
	add := func(description string) {
		sdk.AddTool(server, &sdk.Tool{Name: "mail", Description: description}, func(context.Context, *sdk.CallToolRequest, anyInput) (*sdk.CallToolResult, any, error) {
			called = true
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	add("Send a mail")
	ho := hosttest.InProcess(server)
	ho.StateDir = host.NoState
	ho.Ledger = filepath.Join(t.TempDir(), "mcp.lock.json")
	h := hosttest.Open(t, hosttest.Write(t, "belt", `{"command":"x"}`), hosttest.Patient(ho))
	g := assert.Value(gateway.New(h, nil))(t)
	defer g.Close()
	add("Send a mail, and a copy to me")
	hosttest.Eventually(t, "the tool is in quarantine", func() bool { return len(h.Registry().Snapshot().Quarantined()) == 1 })
	for _, path := range []string{"/mcp/search", "/s/belt/mcp/search"} {
		c := newPipeClient(t, g, path)
		name := map[string]string{"/mcp/search": "belt__mail", "/s/belt/mcp/search": "mail"}[path]
		assert.Contains(t, string(c.send(t, "tools/call", `{"name":"retrieve_tools","arguments":{"query":"send a mail"}}`)), "No tool fits", "%s: the hits", path)
		if got := string(c.send(t, "tools/call", `{"name":"describe_tool","arguments":{"names":["`+name+`"]}}`)); !strings.Contains(got, "quarantine") || strings.Contains(got, "copy") {
			t.Errorf("%s: got the definition %s, want that it is in quarantine", path, got)
		}
		for _, tool := range []string{"call_tool", "call_tool_read", "call_tool_destructive"} {
			for _, args := range []string{`{"tool":"` + name + `"}`, `{"server":"belt","tool":"mail"}`} {
				if got := string(c.send(t, "tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)); !strings.Contains(got, "copy") || !strings.Contains(got, `"isError":true`) {
					t.Errorf("%s: %s %s: got %s, want what changed", path, tool, args, got)
				}
			}
		}
	}
	if called {
		t.Error("the tool was called")
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
		c := s.scripted(t, scripted{name: "x", path: "/mcp/code", revision: revision})
		tools, _ := c.list(t)
		if got, want := namesOf(tools), []string{"code_execution", "describe_tool", "read_result", "retrieve_tools"}; !slices.Equal(got, want) {
			t.Errorf("%s: got the list %v, want %v", revision, got, want)
		}
		if !strings.Contains(string(tools["code_execution"]), `"anthropic/alwaysLoad":true`) {
			t.Errorf("%s: got %s, want it marked", revision, tools["code_execution"])
		}
		if _, text := c.call(t, "code_execution", `{"code":"two__reads"}`); text != "did reads" {
			t.Errorf("%s: got %q, want what the script returns", revision, text)
		}
		if m, _ := c.call(t, "code_execution", `{"code":"two__nope"}`); !strings.Contains(string(m.Result), `"isError":true`) {
			t.Errorf("%s: got %s %+v, want an error of the script", revision, m.Result, m.Error)
		}
		part := s.scripted(t, scripted{name: "x", path: "/p/one/mcp/code", revision: revision})
		if m, _ := part.call(t, "code_execution", `{"code":"two__reads"}`); !strings.Contains(string(m.Result), "there is no two__reads") {
			t.Errorf("%s: got %s, want that the script sees what the client does", revision, m.Result)
		}
		if m, _ := s.scripted(t, scripted{name: "x", path: "/mcp/search", revision: revision}).call(t, "code_execution", `{"code":"one__reads"}`); m.Error == nil {
			t.Errorf("%s: got %s in another mode, want that there is no such tool", revision, m.Result)
		}
	}
	asks := s.scripted(t, scripted{name: "x", path: "/mcp/code", revision: "2026-07-28"})
	if m := s.do(t, asks.shot("tools/call", `"name":"code_execution","arguments":{"code":"one__ask"}`)).message(t); m.at("resultType") != "input_required" {
		t.Errorf("got %s %+v, want the question that a call of the script causes", m.Result, m.Error)
	}
}
