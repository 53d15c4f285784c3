package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A siteOfAll knows every method of revision 2026-07-28.
func siteOfAll(t *testing.T, listening chan<- string) *site {
	complete := func(members string) func(*visit) { return result(`{"resultType":"complete",` + members + `}`) }
	task := complete(`"taskId":"tä","status":"working","createdAt":"2026-01-02T03:04:05Z","ttlMs":null,"pollIntervalMs":500`)
	s := newSite(t, mcp.Revision20260728, map[string]func(*visit){
		"server/discover": complete(`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},` +
			`"resources":{"subscribe":true},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{}}}`),
		"subscriptions/listen": func(v *visit) {
			v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`)
			listening <- string(v.Params)
			<-v.gone
		},
		"tools/list":               complete(`"tools":[]`),
		"prompts/list":             complete(`"prompts":[]`),
		"prompts/get":              complete(`"messages":[]`),
		"resources/list":           complete(`"resources":[]`),
		"resources/templates/list": complete(`"resourceTemplates":[]`),
		"resources/read":           complete(`"contents":[{"uri":"file:///r","text":""}]`),
		"completion/complete":      complete(`"completion":{"values":[]}`),
		"tasks/get":                task,
		"tasks/cancel":             task,
		"com.example/x":            complete(`"y":1`),
	})
	s.script["tools/call"] = func(v *visit) {
		if len(s.of("tools/call")) == 1 {
			v.reply(200, `"result":{"resultType":"input_required","inputRequests":{"q":`+inputRequest+`}}`)
			return
		}
		v.stream(`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}`)
	}
	return s
}

// askAll makes a request of every kind.
func askAll(t *testing.T, c *mcp.Client) {
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		assert.OK(t, err, "%s", what)
	}
	check("ping", c.Ping(ctx))
	wantTools(t, c, "")
	mustCall(t, c, "tool")
	check("prompts", errOf(collect(c.Prompts(ctx))))
	check("prompt", errOf(c.GetPrompt(ctx, "prompt", nil, nil)))
	check("resources", errOf(collect(c.Resources(ctx))))
	check("templates", errOf(collect(c.ResourceTemplates(ctx))))
	check("resource", errOf(c.ReadResource(ctx, "file:///r", nil)))
	check("completion", errOf(c.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "prompt"}, Argument: mcp.CompleteArgument{Name: "a"},
	}, nil)))
	check("task", errOf(c.Task(ctx, "tä")))
	check("cancelled task", c.CancelTask(ctx, "tä"))
	check("request", errOf(c.Request(ctx, "com.example/x", nil, nil)))
}

// Every request of revision 2026-07-28 says in which version, by whom and with
// what capabilities it is made. The header repeats the version, the method and
// the name of what it is about, and both kinds of answers are accepted.
func TestRequestMetaOfEveryRequest(t *testing.T) {
	listening := make(chan string, 2)
	s := siteOfAll(t, listening)
	c := newClient(t, &s.HTTP, &mcp.ClientOptions{
		Implementation: &mcp.Implementation{Name: "belt", Version: "7"},
		Elicit:         annAnswers, Tasks: true,
	})
	ready(t, c)
	askAll(t, c)
	both := <-listening // before another one takes its place
	follows, stop := context.WithCancel(t.Context())
	go func() {
		for range c.ResourceUpdates(follows, "file:///r") {
			continue
		}
	}()
	both += <-listening
	assert.Contains(t, both, `"toolsListChanged":true`)
	assert.Contains(t, both, `"resourceSubscriptions":["file:///r"]`)
	stop()
	assert.OK(t, c.Shutdown(t.Context()))

	names := map[string]string{
		"tools/call": "tool", "prompts/get": "prompt", "resources/read": "file:///r",
		"tasks/get": "=?base64?dMOk?=", "tasks/cancel": "=?base64?dMOk?=",
	}
	seen := map[string]bool{}
	for _, v := range s.of("") {
		seen[v.Method] = true
		var params struct {
			Meta struct {
				Version      string                         `json:"io.modelcontextprotocol/protocolVersion"`
				Capabilities map[string]json.RawMessage     `json:"io.modelcontextprotocol/clientCapabilities"`
				ClientInfo   struct{ Name, Version string } `json:"io.modelcontextprotocol/clientInfo"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(v.Params, &params); err != nil {
			t.Errorf("%s: params %s: %v", v.Method, v.Params, err)
			continue
		}
		m := params.Meta
		assert.Equal(t, [...]any{m.Version, m.ClientInfo.Name, m.ClientInfo.Version, string(m.Capabilities["elicitation"]), string(m.Capabilities["extensions"])},
			[...]any{mcp.Revision20260728, "belt", "7", `{"form":{}}`, `{"io.modelcontextprotocol/tasks":{}}`}, "%s", v.Method)
		for field, want := range map[string]string{
			"Mcp-Protocol-Version": m.Version, "Mcp-Method": v.Method, "Mcp-Name": names[v.Method], "Mcp-Session-Id": "",
			"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		} {
			assert.Equal(t, v.Header.Get(field), want, "%s: %s", v.Method, field)
		}
	}
	for method := range s.script {
		assert.Equal(t, seen[method], true, "seen")
	}
}
