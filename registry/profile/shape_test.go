package profile_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// TestSchemasOfServers: what the frameworks of servers write as a tool can be called, its
// arguments are checked by what it means, and no provider refuses what it is told of it.
func TestSchemasOfServers(t *testing.T) {
	for _, c := range []struct {
		tool     string // what the server lists beside the name
		fits     string // arguments that reach the server
		unfit    string // arguments that do not; empty: there are none
		findings string // tokens of the gate
	}{
		//report: Schemas | MrNeRF/LichtFeld-Studio#1430, mark3labs/mcp-go#116, mark3labs/mcp-go#225, coder/coder#28373 | a tool without arguments has "properties": null, from a nil map | it counts as absent, with a note, and no provider sees it
		{`"inputSchema":{"type":"object","properties":null}`, `{}`, ``, "flawed_schema"},
		//report: Schemas | anthropics/claude-code#44364, coder/coder#23538 | "required" is null | it counts as absent, with a note; no provider sees it
		{`"inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":null}`, `{"a":"x"}`, `{"a":1}`, "flawed_schema"},
		//report: Schemas | lightweight-component/aj-mcp#4, c0tton-fluff/caido-mcp-server#1 | the input schema of a tool without arguments is null, or is not there | the tool takes an object
		{`"inputSchema":null`, `{}`, ``, ""},
		{`"description":"d"`, `{}`, ``, ""},
		//report: Schemas | craigk5n/webcalendar#725, opgginc/laravel-mcp-server#74, shopware/shopware#18713, use-novamira/novamira#82, elementor/elementor#37327 | a server of PHP writes an empty list for the properties of a tool without arguments | it counts as absent, with a note
		{`"inputSchema":{"type":"object","properties":[],"required":[]}`, `{}`, ``, "flawed_schema"},
		{`"inputSchema":[]`, `{}`, ``, ""},
		{`"inputSchema":{"type":"object","properties":{"any":[],"o":{"type":"object","properties":[]}}}`, `{"any":7,"o":{"x":1}}`, `{"o":1}`, "flawed_schema"},
		//report: Schemas | ProfSynapse/nexus#5, DingTalk-Real-AI/dingtalk-workspace-cli#123 | a name stands twice in "required", which providers refuse | it stands there once, with a note
		{`"inputSchema":{"type":"object","properties":{"nodeId":{"type":"string"}},"required":["nodeId","nodeId"]}`, `{"nodeId":"x"}`, `{}`, "flawed_schema"},
		//report: Schemas | open-dingtalk/dingtalk-mcp#3 | "required" has names that "properties" does not | the arguments need them, with any value
		{`"inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["agent_id","a"]}`, `{"a":"x","agent_id":"1"}`, `{"a":"x"}`, ""},
		//report: Schemas | fugue-labs/gollem#299, mastra-ai/mastra#18255 | the root of an input schema has no type | it is taken as an object
		{`"inputSchema":{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`, ""},
		{`"inputSchema":{}`, `{"a":1}`, ``, ""},
		//report: Schemas | langfuse/langfuse#13839, modelcontextprotocol/typescript-sdk#1675, kaeawc/auto-mobile#973, aliargun/mcp-server-gemini#8 | the root is a union of objects, or an intersection, without a type | arguments are checked by it, and providers that take no union at the root get the members together
		{`"inputSchema":{"oneOf":[{"type":"object","properties":{"op":{"const":"create"},"title":{"type":"string"}},"required":["op","title"]},{"type":"object","properties":{"op":{"const":"drop"},"id":{"type":"string"}},"required":["op","id"]}]}`,
			`{"op":"create","title":"x"}`, `{"op":"drop"}`, ""},
		{`"inputSchema":{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}}}]}`, `{"a":"x","b":1}`, `{"b":1}`, ""},
		//report: Schemas | xpzouying/xiaohongshu-mcp#677, mark3labs/mcp-go#719, ThinkInAIXYZ/go-mcp#182, nextlevelbuilder/goclaw#321, genmcp/gen-mcp#112, microsoft/vscode#299035 | a tool without arguments has an object without properties | the tool is there, and providers that want properties get an empty object of them
		{`"inputSchema":{"type":"object"}`, `{}`, ``, ""},
		//report: Schemas | GoogleCloudPlatform/kubectl-ai#521 | an object has additionalProperties and no properties | the object takes any names
		{`"inputSchema":{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}}}}`, `{"labels":{"a":"x"}}`, `{"labels":{"a":1}}`, ""},
		//report: Schemas | mastra-ai/mastra#15400, crewAIInc/crewAI#5500 | a schema refers to itself, as a tree does | arguments are checked as deep as they are; providers that take no recursion get some levels of it
		{`"inputSchema":{"type":"object","$defs":{"node":{"type":"object","properties":{"v":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}}}},"properties":{"root":{"$ref":"#/$defs/node"}}}`,
			`{"root":{"kids":[{"kids":[{"v":"x"}]}]}}`, `{"root":{"kids":[{"kids":[{"v":1}]}]}}`, ""},
		//report: Schemas | PrefectHQ/fastmcp#2861 | a model of pydantic is a definition that properties refer to | providers get it with the definitions, or written out
		{`"inputSchema":{"type":"object","$defs":{"Status":{"enum":["on","off"],"title":"Status","type":"string"}},"properties":{"status":{"$ref":"#/$defs/Status"}},"required":["status"],"title":"setArguments"}`, `{"status":"on"}`, `{"status":"up"}`, ""},
		//report: Schemas | anthropics/claude-code#95239 | an optional argument of FastMCP may be null, and has null for its default | it can be left out, and null is taken
		{`"inputSchema":{"type":"object","properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Q"}}}`, `{"q":null}`, `{"q":1}`, ""},
		//report: Schemas | Dokploy/mcp#74, Dokploy/mcp#80 | a schema of 2020-12 has the flag "exclusiveMinimum": true of OpenAPI 3.0 | it becomes a bound, with a note
		{`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`, `{"n":1}`, `{"n":0}`, "old_schema"},
		//report: Schemas | MarkusPfundstein/mcp-gsuite#48 | a property says "required": false, or true | the flag goes, with a note
		{`"inputSchema":{"type":"object","properties":{"a":{"type":"string","required":false}}}`, `{"a":"x"}`, `{"a":1}`, "old_schema"},
		//report: Schemas | cline/cline#14019, Kilo-Org/kilocode#12153, can1357/oh-my-pi#2784, Dokploy/mcp#58, codefuturist/email-mcp#72 | a pattern looks ahead, as that of an email in zod | the rest of the schema is checked, and providers that refuse such a pattern do not get it
		{`"inputSchema":{"type":"object","properties":{"m":{"type":"string","pattern":"^(?!\\.)[^@]+@x$"}}}`, `{"m":"a@x"}`, `{"m":1}`, ""},
		//report: Schemas | NousResearch/hermes-agent#77617, boshyxd/robloxstudio-mcp#72 | an array has no items, also within items | providers that want items get them, at each level
		{`"inputSchema":{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"array"}}}}`, `{"a":[1],"b":[[1]]}`, `{"b":[1]}`, ""},
		//report: Schemas | github/copilot-cli#4623, Skyvern-AI/skyvern#8611 | items, or a property, are of several types, and null among them | Gemini gets them as alternatives, each with what it needs
		{`"inputSchema":{"type":"object","properties":{"rows":{"type":"array","items":{"type":["object","null"],"properties":{"a":{"type":"string"}}}},"o":{"type":["object","array","string","number","boolean","null"]}}}`,
			`{"rows":[{"a":"x"},null],"o":[1]}`, `{"rows":[1]}`, ""},
		//report: Schemas | anomalyco/opencode#49464, NousResearch/hermes-agent#101669, inngest/inngest#3305 | a property is the schema true | it takes any value, and providers that want an object get an empty one
		{`"inputSchema":{"type":"object","required":["id"],"properties":{"data":true,"id":{"type":"string"},"items":{"type":"array","items":true}},"additionalProperties":false}`, `{"id":"x","data":{"a":1}}`, `{"id":"x","more":1}`, ""},
		//report: Schemas | NangoHQ/nango#7547, Dokploy/mcp#72 | a pattern has a bracket in brackets, which some engines refuse | it is checked here
		{`"inputSchema":{"type":"object","properties":{"c":{"type":"string","pattern":"^[a-z[\\]|@]+$"}}}`, `{"c":"a[@"}`, `{"c":"A"}`, ""},
		{`"inputSchema":{"type":"object","properties":{"a":{"type":"array","items":null}}}`, `{"a":[1]}`, `{"a":1}`, "flawed_schema"},
		{`"inputSchema":{"type":"object","properties":{"p":{"type":"array","items":[{"type":"number"},{"type":"string"}]}}}`, `{"p":[1,"x"]}`, `{"p":["x"]}`, ""},
		{`"inputSchema":{"type":"object","title":null,"description":null,"$schema":null,"$defs":null,"additionalProperties":null,"properties":{"a":{"type":"string","description":null,"format":null,"enum":null,"pattern":null,"minLength":null,"title":null}}}`,
			`{"a":"x"}`, `{"a":1}`, "flawed_schema"},
		{`"inputSchema":{"type":"object","properties":{"a":null}}`, `{"a":[1]}`, ``, "flawed_schema"},
		{`"inputSchema":{"type":"object"},"annotations":"x","icons":7,"_meta":[],"title":{},"outputSchema":"none"`, `{}`, ``, ""},
		{`"inputSchema":{"type":"object"},"outputSchema":{"$ref":"#"}`, `{}`, ``, "schema_cycle"},
		{`"inputSchema":{"type":"object"},"description":"cut \ud83d"`, `{}`, ``, "broken_text"},
	} {
		var got string
		call := func(_ context.Context, _ string, args json.RawMessage, _ *mcp.RequestOptions) (*mcp.CallToolResult, error) {
			got = string(args)
			return textResult("ok"), nil
		}
		var said mcp.Tool
		raw := strings.ReplaceAll(`{"name":"t",`+c.tool+`}`, `\ud83d`, `\ufffd`) // as a client mends it
		assert.OK(t, said.UnmarshalJSON([]byte(raw)), "%s", c.tool)
		r := registry.New(nil)
		diff := assert.Value(r.Replace(registry.Server{Name: "s"}, []registry.Tool{registry.Remote("s", &said, call)}))(t)
		if len(diff.Rejected) > 0 {
			t.Errorf("%s: got the rejection %v", c.tool, diff.Rejected[0].Err)
			continue
		}
		var tokens []string
		for _, f := range r.Snapshot().Findings("s__t") {
			tokens = append(tokens, f.Token)
		}
		assert.Equal(t, strings.Join(tokens, " "), c.findings, "%s: findings", c.tool)
		assert.OK(t, errorOf(r.Call(t.Context(), "s__t", json.RawMessage(c.fits))), "%s with %s", c.tool, c.fits)
		assert.Equal(t, got, c.fits, "%s: arguments", c.tool)
		if c.unfit != "" {
			assert.As[*registry.ArgumentsError](t, errorOf(r.Call(t.Context(), "s__t", json.RawMessage(c.unfit))), "%s with %s", c.tool, c.unfit)
		}
		for _, p := range providers {
			set := assert.Value(profile.Compile(p, r.Snapshot().Tools(), &profile.Options{AllowedCallers: func(*registry.Definition) []string { return []string{"direct", "programmatic"} }}))(t)
			if len(set.Rejected()) > 0 {
				t.Errorf("%s: got the rejection %v of %s", c.tool, set.Rejected()[0].Err, p)
				continue
			}
			made := set.Tools()[0]
			for _, refusal := range refusals(p, made) {
				t.Errorf("%s: got the refusal %s of %s: %s", c.tool, refusal, p, made.Declaration())
			}
			declared := strings.ReplaceAll(string(made.Declaration()), `"default":null`, "")
			assert.Lacks(t, declared, `":null`, "%s for %s", c.tool, p)
			assert.Lacks(t, declared, `"properties":[]`, "%s for %s", c.tool, p)
		}
	}
}

func errorOf(_ *mcp.CallToolResult, err error) error { return err }
