package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

type empty struct{}

// tool returns a tool that answers with what it does.
func tool(name string) registry.Tool {
	return registry.MustFunc(name, "does "+name, func(context.Context, empty) (string, error) { return name + " done", nil })
}

// A rawTool answers with a result, and notes the arguments.
type rawTool struct {
	def    registry.Definition
	result func() *mcp.CallToolResult

	mu   sync.Mutex
	args []string
}

func (r *rawTool) Definition() *registry.Definition { return &r.def }

func (r *rawTool) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.args = append(r.args, string(args))
	if r.result != nil {
		return r.result(), nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.def.Name + " done"}}}, nil
}

func (r *rawTool) calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.args)
}

// counted returns a tool that notes its calls.
func counted(name string) *rawTool {
	return &rawTool{def: registry.Definition{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{}}}`)}}
}

func newRegistry(t *testing.T, tools ...registry.Tool) *registry.Registry {
	t.Helper()
	r := registry.New(nil)
	assert.OK(t, r.Add(tools...))
	return r
}

func TestParams(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"description":"a < b & c"}},"required":["n"]}`
	exact := &rawTool{def: registry.Definition{Name: "exact", Description: "<b>", InputSchema: json.RawMessage(schema)}}
	r := newRegistry(t, exact, tool("later"), tool("now"))
	tools := assert.Value(belt.Tools(t.Context(), r, &belt.Options{
		Turn: profile.TurnOptions{Options: profile.Options{
			Deferred: func(d *registry.Definition) bool { return d.Name == "later" || d.Name == "now" },
			AllowedCallers: func(d *registry.Definition) []string {
				if d.Name == "now" {
					return []string{"direct", "code_execution_20260120"}
				}
				return nil
			},
		}},
		Regex: true, Cache: anthropic.CacheControlEphemeralTTLTTL1h,
	}))(t)
	data := assert.Value(json.Marshal(tools.Params()))(t)
	beta := assert.Value(json.Marshal(tools.BetaParams()))(t)
	assert.True(t, canonical(t, data) == canonical(t, beta), "the beta differs:\n%s\n%s", data, beta)
	var got []map[string]json.RawMessage
	assert.OK(t, json.Unmarshal(data, &got))
	if len(got) != 5 || string(got[0]["type"]) != `"tool_search_tool_regex_20251119"` || string(got[1]["type"]) != `"code_execution_20260120"` {
		t.Fatalf("%s", data)
	}
	assert.Equal(t, string(got[2]["name"]), `"exact"`)
	assert.Equal(t, canonical(t, got[2]["input_schema"]), canonical(t, []byte(schema)))
	assert.Equal(t, string(got[2]["cache_control"]), `{"ttl":"1h","type":"ephemeral"}`)
	for _, deferred := range got[3:] {
		assert.False(t, string(deferred["defer_loading"]) != "true" || deferred["cache_control"] != nil, "%v", deferred)
	}
	assert.True(t, string(got[4]["allowed_callers"]) == `["direct","code_execution_20260120"]`, "%s", data)
}

// canonical returns JSON in one form, with its numbers as they are.
func canonical(t *testing.T, data []byte) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	assert.OK(t, d.Decode(&v))
	return string(assert.Value(json.Marshal(v))(t))
}

func TestParamsAllDeferred(t *testing.T) {
	tools := assert.Value(belt.Tools(t.Context(), newRegistry(t, tool("a")), &belt.Options{
		Turn:  profile.TurnOptions{Options: profile.Options{Deferred: func(*registry.Definition) bool { return true }}},
		Cache: anthropic.CacheControlEphemeralTTLTTL5m,
	}))(t)
	params := tools.Params()
	if len(params) != 2 || params[0].OfToolSearchToolBm25_20251119 == nil || params[0].GetCacheControl().TTL != "5m" || params[1].OfTool.CacheControl.TTL != "" {
		t.Errorf("%+v", params)
	}
}

// TestParamsPlain says nothing that there is no need to say.
func TestParamsPlain(t *testing.T) {
	plain := &rawTool{def: registry.Definition{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	tools := assert.Value(belt.Tools(t.Context(), newRegistry(t, plain), &belt.Options{Regex: true}))(t)
	data := mustJSON(t, tools.Params())
	assert.Equal(t, canonical(t, data), `[{"input_schema":{"properties":{},"type":"object"},"name":"plain"}]`)
	assert.Equal(t, canonical(t, mustJSON(t, tools.BetaParams())), canonical(t, data), "the beta")
}

func TestParamsEmpty(t *testing.T) {
	tools := assert.Value(belt.Tools(t.Context(), registry.New(nil), &belt.Options{Cache: anthropic.CacheControlEphemeralTTLTTL5m}))(t)
	assert.False(t, tools.Params() != nil || tools.BetaParams() != nil, "there are tools")
}

// TestSearch has the API find a tool, and the tool vanish.
func TestSearch(t *testing.T) {
	r := registry.New(nil)
	for i := range 60 {
		assert.OK(t, r.Add(tool(fmt.Sprintf("tool_%d", i))))
	}
	assert.OK(t, r.Add(tool("rare")))
	model := newEndpoint(t,
		reply{stop: "pause_turn", content: `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"rare"}}`},
		calls(`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"rare"}]}}`,
			use("toolu_1", "rare", `{}`)),
		says("found"), says("alone"))
	c := newConversation(r, model.URL, &belt.Options{Turn: profile.TurnOptions{
		ProviderSearch: true, Toolset: &toolset.SetOptions{MaxTools: 5, Always: func(d *registry.Definition, _ registry.Hints) bool { return d.Name == "tool_0" }},
	}}, false)
	turn, err := c.Ask(t.Context(), "find")
	assert.OK(t, err)
	assert.Equal(t, turn.Text, "found")
	got := model.requests()
	if len(got) != 3 || len(got[1].Messages) != 2 || len(got[2].Results) != 1 || got[2].Results[0].Text != "rare done" || got[2].Results[0].CallID != "toolu_1" {
		t.Fatalf("%+v", got)
	}
	deferred := 0
	for _, tool := range got[0].Tools {
		if tool.Deferred {
			deferred++
		}
	}
	assert.Equal(t, deferred, 60, "of %d tools are deferred", len(got[0].Tools))
	r.Remove("rare")
	if turn, err = c.Ask(t.Context(), "again"); err != nil || turn.Text != "alone" {
		t.Fatalf("%+v, %v", turn, err)
	}
	last := model.requests()[3].Tools
	i := slices.IndexFunc(last, func(tool adaptertest.Tool) bool { return tool.Name == "rare" })
	assert.False(t, i < 0, "of the tool that is gone the API is told")
	assert.True(t, last[i].Deferred, "of the tool that is gone the API is told")
	assert.Contains(t, last[i].Description, "gone", "of the tool that is gone the API is told")
}
