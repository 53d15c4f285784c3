// Tests of meta.go: the tools by which tools are found and called, and upstream_servers, by which clients change servers.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// The list of the mode search is small and always the same, a client finds a tool by it, and calls it.
func TestSearchMode(t *testing.T) {
	//report: Gateway | anomalyco/opencode#28472, makenotion/notion-mcp-server#160 | a model sends an object as a text with JSON in it | `call_tool` takes its `arguments` so, too
	s := openHinted(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.AnswerWithin = 1 << 40 }), "one", "two")
	for _, revision := range append([]string{"2024-11-05"}, both...) {
		c := s.connect(t, &client{path: "/mcp/search", revision: revision})
		list := string(c.want(t, 0, "tools/list", "").Result)
		assert.True(t, len(list) < 4000, "%s: a list of %d bytes is small", revision, len(list))
		assert.Equal(t, c.names(t), "await_call call_tool call_tool_destructive call_tool_read call_tool_write describe_tool read_result retrieve_tools")
		assert.Equal(t, strings.Count(list, `"_meta":{"anthropic/alwaysLoad":true}`), 8, "%s: tools that are marked", revision)
		hits := c.call(t, "retrieve_tools", `{"query":"destroys","limit":5}`).text()
		assert.Contains(t, hits[:80], "__destroys(text?: string", "%s: the first hit", revision)
		assert.Contains(t, hits[:80], "may destroy", "%s: the first hit", revision)
		assert.True(t, len(hits) < 2000, "%s: hits of %d bytes are small", revision, len(hits))
		assert.Contains(t, c.wantText(t, "describe_tool", `{"names":["one__echo"]}`, `"name":"one__echo"`).text(), `"inputSchema":{`, "%s", revision)
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
			assert.Contains(t, c.want(t, -32602, "tools/call", toolParams("call_tool", args)).Error.Message, "unknown tool", "%s: %s", revision, args)
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
	observed := make(chan string, 10)
	defer s.host.Registry().Observe(func(_ context.Context, o *registry.Observation) { observed <- o.Name })()
	old.call(t, "call_tool_read", `{"tool":"one__reads"}`)
	assert.Equal(t, <-observed, "one__reads", "the call that is observed")
}

// No search leads out of a view, or of what the grant of the caller lets them use, by no name.
func TestSearchOfAView(t *testing.T) {
	s := openHinted(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one":   {Servers: []string{"one"}, Names: map[string]string{"one__echo": "say"}},
		"reads": {ReadOnly: true},
	}, Authenticate: (&grants{of: map[string]*access.Grant{"a": nil, "granted": {Servers: []string{"one"}, ReadOnly: true}}}).authenticate}, "one", "two")
	for _, revision := range both {
		one := s.connect(t, &client{path: "/p/one/mcp/search", revision: revision})
		reads := s.connect(t, &client{path: "/p/reads/mcp/search", revision: revision})
		alone := s.connect(t, &client{path: "/s/one/mcp/search", revision: revision})
		granted := s.connect(t, &client{path: "/mcp/search", user: "granted", revision: revision})
		for _, search := range []string{"echo", "two__echo", "reads", "destroys", "two", "xyzzy"} {
			args := fmt.Sprintf(`{"query":%q,"limit":100}`, search)
			assert.Lacks(t, one.call(t, "retrieve_tools", args).text(), "two", "%s: %s", one.path, search)
			assert.Lacks(t, alone.call(t, "retrieve_tools", args).text(), "two", "%s: %s", alone.path, search)
			assert.Lacks(t, granted.call(t, "retrieve_tools", args).text(), "two__", "%s: %s", granted.user, search)
			for _, c := range []*client{reads, granted} {
				hits := c.call(t, "retrieve_tools", args).text()
				assert.Lacks(t, hits, "destroys(", "%s as %s: %s", c.path, c.user, search)
				assert.Lacks(t, hits, "echo(", "%s as %s: %s", c.path, c.user, search)
			}
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
			{granted, "call_tool", `{"server":"one","tool":"reads"}`, 0},
			{granted, "call_tool", `{"tool":"one__destroys"}`, -32602},
			{granted, "call_tool", `{"server":"two","tool":"reads"}`, -32602},
			{granted, "call_tool", `{"server":"two","tool":"none_of_them"}`, -32602},
		} {
			c.client.want(t, c.code, "tools/call", toolParams(c.tool, c.args))
		}
		described := one.call(t, "describe_tool", `{"names":["two__echo","Two_Echo","two__nope"]}`).text()
		assert.Lacks(t, described, "inputSchema")
		assert.Lacks(t, described, "did you mean")
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

// managerSite is a site whose host a manager has.
type managerSite struct {
	manager *manage.Manager
	site
	grants map[string]*access.Grant // what the keys may
}

// connect returns a client with a key.
func (s *managerSite) connectKey(t *testing.T, key, path, revision string) *client {
	t.Helper()
	return s.connect(t, &client{path: path, revision: revision, header: map[string]string{"X-Key": key}})
}

// openManaged opens a site with a manager over the servers of a file, and a key in X-Key for each grant.
func openManaged(t *testing.T, path string, o *gateway.Options) *managerSite {
	t.Helper()
	ho := &host.Options{
		StateDir: filepath.Join(filepath.Dir(path), "state"), OpenWait: -1,
		Registry: registry.New(&registry.Options{Results: &result.Options{}}), // for read_result
	}
	gateway.Prepare(ho)
	m := assert.Value(manage.Open(hosttest.Watchdog(t), path, &manage.Options{Host: *ho}))(t)
	t.Cleanup(func() { assert.Equal(t, m.Close(), nil, "Close of the manager") })
	s := &managerSite{manager: m, grants: map[string]*access.Grant{
		"none": nil, "use": {}, "reads": {ReadOnly: true}, "manager": {Manage: true}, "team": {Manage: true, Mode: "search"},
	}}
	o.Manager = m
	o.Authenticate = func(r *http.Request) (*access.Caller, error) {
		key := r.Header.Get("X-Key")
		return &access.Caller{Credential: key, Grant: s.grants[key]}, nil
	}
	s.host, s.gateway = m.Host(), assert.Value(gateway.New(m.Host(), o))(t)
	s.serve(t)
	return s
}

func noCode(func(*registry.Definition) bool) registry.Tool {
	return registry.MustFunc("code_execution", "", func(context.Context, struct{}) (string, error) { return "", nil })
}

// No client has a program run by adding or changing a server before a person has allowed it: in no mode, with no key, and not
// after a restart.
func TestServersNeverStart(t *testing.T) {
	dir := t.TempDir()
	ran, path := filepath.Join(dir, "ran"), filepath.Join(dir, "mcp.json")
	entry := fmt.Sprintf(`{"mcpServers":{"own":{"command":%q,"env":{%q:"x"}}}}`, assert.Value(os.Executable())(t), hosttest.ServerMode)
	assert.OK(t, os.WriteFile(path, []byte(entry), 0o600))
	s := openManaged(t, path, gateway.WithLimits(&gateway.Options{Code: noCode, Profiles: map[string]gateway.Profile{"part": {Servers: []string{"canary*"}}}}, func(l *gateway.Limits) { l.AnswerWithin = 1 << 40 }))
	// canary returns a program that leaves a trace when it is run.
	canary := func(n int) string { return fmt.Sprintf(`{"command":"/bin/sh","args":["-c","echo %d >> %s"]}`, n, ran) }
	const wait = "a person has to allow its launch first"
	n, added := 0, 0
	modes := []string{"direct", "search", "code"}
	for _, key := range []string{"none", "use", "reads", "manager", "team"} {
		for _, view := range []string{"", "/p/part", "/s/own"} {
			for range assert.Cases(1, 6) {
				n++
				c := s.connectKey(t, key, view+"/mcp/"+modes[n%3], both[n%2])
				may := (key == "manager" || key == "team") && view != "/s/own"
				assert.Equal(t, c.tools(t)["upstream_servers"] != nil, may, "%s with the key %s: the tool listed", c.path, key)
				name := fmt.Sprintf("canary%d", n)
				for _, op := range []struct{ args, want string }{
					{fmt.Sprintf(`{"operation":"add","name":%q,"server":%s}`, name, canary(n)), wait},
					{fmt.Sprintf(`{"operation":"disable","name":%q}`, name), "was switched off"},
					{fmt.Sprintf(`{"operation":"enable","name":%q}`, name), wait},
					{fmt.Sprintf(`{"operation":"update","name":%q,"server":{"env":{"A":"1"}}}`, name), wait},
					{fmt.Sprintf(`{"operation":"add","name":"u%s","server":{"url":%q}}`, name, s.url+"/canary"), wait},
				} {
					if !may {
						m := c.want(t, -32602, "tools/call", toolParams("upstream_servers", op.args))
						other := c.want(t, -32602, "tools/call", toolParams("upstream_server", op.args))
						assert.Equal(t, strings.ReplaceAll(other.Error.Message, "upstream_server", "upstream_servers"), m.Error.Message, "%s: the answer to an unknown tool", op.args)
						continue
					}
					if view == "/p/part" && strings.Contains(op.args, "/canary") {
						op.want = "you may not add a server of the name"
					}
					c.wantText(t, "upstream_servers", op.args, op.want)
					added++
				}
			}
		}
	}
	assert.Equal(t, added, 2*2*assert.Cases(1, 6)*5, "changes by those who may")
	c := s.connectKey(t, "manager", "/mcp/search", both[0])
	stage := func() host.Stage { return hosttest.Status(t, s.host, "own").Stage }
	assert.Equal(t, stage(), host.StageReady, "the server of the user")
	c.call(t, "upstream_servers", `{"operation":"update","name":"own","server":{"description":"x"}}`)
	assert.Equal(t, stage(), host.StageReady, "the server of the user after another description")
	c.wantText(t, "upstream_servers", fmt.Sprintf(`{"operation":"update","name":"own","server":%s}`, strings.Replace(canary(0), "{", `{"env":null,`, 1)), wait)
	assert.Equal(t, stage(), host.StageNotAllowed, "the server of the user with another program")
	pending := s.host.PendingLaunches()
	again := assert.Value(host.Open(hosttest.Watchdog(t), path, hosttest.Patient(&host.Options{StateDir: filepath.Join(dir, "state")})))(t)
	assert.Equal(t, len(again.PendingLaunches()), len(pending), "launches that wait after a restart")
	assert.OK(t, again.Close())
	assert.Is(t, assert.Err(os.Stat(ran)), os.ErrNotExist, "the trace of a canary")
	i := slices.IndexFunc(pending, func(l *consent.Launch) bool { return l.Server == "own" })
	if i < 0 {
		t.Fatal("got no launch of the user's server that waits, want one")
	}
	_ = s.host.AllowLaunch(hosttest.Watchdog(t), "ann", pending[i].Fingerprint()) // it is no server
	assert.Equal(t, strings.Fields(string(assert.Value(os.ReadFile(ran))(t)))[0], "0", "the trace of the program that a person has allowed")
}

// A key that may not manage servers any more has no tool for that, also in a session that it began before.
func TestManageIsTakenAway(t *testing.T) {
	s := openManaged(t, hosttest.Write(t), &gateway.Options{})
	c := s.connectKey(t, "manager", "", both[0])
	s.grants["manager"] = &access.Grant{}
	c.want(t, -32602, "tools/call", toolParams("upstream_servers", `{"operation":"list"}`))
	assert.False(t, c.tools(t)["upstream_servers"] != nil, "the tool listed")
}

// What upstream_servers says of servers, and what it refuses.
func TestServersTool(t *testing.T) {
	path := hosttest.Write(t, "own", hosttest.Child(t, "x"), "off", `{"command":"none","enabled":false}`, "broken", `{"command":"/no/such/program-tok-0123456789","env":{"KEY":"sk-0123456789abcd"}}`, "odd", `{"args":1}`)
	s := openManaged(t, path, &gateway.Options{Profiles: map[string]gateway.Profile{"part": {Servers: []string{"o*"}}}})
	all, part := s.connectKey(t, "manager", "/mcp", both[0]), s.connectKey(t, "manager", "/p/part/mcp", both[0])
	all.wantText(t, "upstream_servers", `{"operation":"add","name":"new","server":{"command":"/bin/true"}}`, "The fingerprint of the launch is ")
	// list returns the state, the tools and the reason of each server, by its name.
	list := func(c *client) map[string]string {
		var got struct {
			Servers []struct {
				Name, State, Reason string
				Tools               int
			}
		}
		assert.OK(t, json.Unmarshal([]byte(c.call(t, "upstream_servers", `{"action":"list"}`).text()), &got))
		rows := map[string]string{}
		for _, r := range got.Servers {
			rows[r.Name] = fmt.Sprintf("%s, %d: %s", r.State, r.Tools, r.Reason)
		}
		return rows
	}
	var rows map[string]string // of one moment: the broken server is tried again
	hosttest.Eventually(t, "the broken server has failed", func() bool {
		rows = list(all)
		return strings.HasPrefix(rows["broken"], "Error") && strings.HasPrefix(rows["own"], "Ready")
	})
	for name, want := range map[string][2]string{
		"own":    {"Ready, 1: ", ""},
		"off":    {"Disconnected, 0: ", "it is switched off"},
		"broken": {"Error, 0: ", "/no/such/program"},
		"odd":    {"Error, 0: ", `has neither "command" nor "url"`},
		"new":    {"Disconnected, 0: ", "a person has to allow its launch first"},
	} {
		assert.Contains(t, rows[name], want[0], "%s", name)
		assert.Contains(t, rows[name], want[1], "%s", name)
	}
	assert.Equal(t, fmt.Sprint(slices.Sorted(maps.Keys(list(part)))), "[odd off own]", "servers of a part")
	for _, c := range []struct {
		client     *client
		args, want string
	}{
		{all, `{}`, "there is no operation"},
		{all, `{"operation":"start"}`, "there is no operation"},
		{all, `{"operation":"add"}`, `"name" is missing`},
		{all, `{"operation":"add","name":"x"}`, `"server" is missing`},
		{all, `{"operation":"add","name":"x","server":7}`, "must not be there"},
		{all, `{"operation":"add","name":"x","server":{}}`, "command"},
		{all, `{"operation":"add","name":"own","server":{"command":"x"}}`, "own"},
		{all, `{"operation":"add","name":"x","server":{"command":"x","trust":true}}`, `must not have "trust"`},
		{all, `{"operation":"update","name":"own","server":{"quarantined":false}}`, `must not have "quarantined"`},
		{all, `{"operation":"update","name":"new","server":{"proposed":false}}`, `must not have "proposed"`},
		{all, `{"operation":"update","name":"new","server":{"name":"own"}}`, `must not have "name"`},
		{all, `{"operation":"update","name":"broken","server":{"command":"/bin/sh"}}`, "was entered for another address or program"},
		{all, `{"operation":"update","name":"nope","server":{"command":"x"}}`, "nope"},
		{all, `{"operation":"remove","name":"nope"}`, "nope"},
		{all, `{"operation":"enable","name":"off"}`, "its owner has switched it off"},
		{part, `{"operation":"remove","name":"broken"}`, "broken"},
		{part, `{"operation":"update","name":"new","server":{"description":"x"}}`, "new"},
	} {
		m := c.client.wantText(t, "upstream_servers", c.args, c.want)
		assert.Equal(t, m.at("isError"), "true", "%s: an error", c.args)
		assert.Lacks(t, m.text(), "sk-0123456789abcd", "%s: a secret", c.args)
	}
	part.wantText(t, "upstream_servers", `{"operation":"remove","name":"off"}`, `The server "off" was removed.`)
	all.wantText(t, "upstream_servers", `{"operation":"disable","name":"own"}`, `The server "own" was switched off.`)
	all.wantText(t, "upstream_servers", `{"operation":"enable","name":"own"}`, `The server "own" was switched on.`)
	all.wantText(t, "upstream_servers", `{"operation":"disable","name":"own"}`, "was switched off.")
	for _, disabled := range []bool{false, true} { // by the owner, whose word is the last
		assert.Value(s.manager.Update(t.Context(), "own", record.Switch(!disabled)))(t)
	}
	all.wantText(t, "upstream_servers", `{"operation":"disable","name":"own"}`, "was switched off.")
	all.wantText(t, "upstream_servers", `{"operation":"enable","name":"own"}`, "its owner has switched it off")
	assert.Value(s.manager.Update(t.Context(), "own", record.Switch(true)))(t)
	assert.Equal(t, list(all)["own"]+list(all)["off"], "Ready, 1: ", "what was switched on, and removed")
}
