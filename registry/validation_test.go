// Tests of validation.go: arguments and results that do not fit their schema.

package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// issueSchema is the schema of a tool that makes an issue.
const issueSchema = `{"type":"object","properties":{
	"title":{"type":"string","minLength":1,"description":"one line"},
	"priority":{"type":"integer","minimum":1,"maximum":5,"default":3},
	"state":{"enum":["open","closed"]},
	"labels":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}},
	"due":{"type":"string"},
	"extra":{}
},"required":["title"],"additionalProperties":false}`

// A schemaTool is a foreign tool, which checks nothing, with the arguments of its
// calls.
type schemaTool struct {
	plainTool
	calls []string
}

func (t *schemaTool) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	t.calls = append(t.calls, string(args))
	return t.answer, nil
}

func newSchemaTool(input, output string, structured any) *schemaTool {
	def := &registry.Definition{Name: "tool", InputSchema: json.RawMessage(input)}
	if output != "" {
		def.OutputSchema = json.RawMessage(output)
	}
	return &schemaTool{plainTool: plainTool{def, &mcp.CallToolResult{StructuredContent: structured}}}
}

// callWith calls a new tool in a new registry and returns what reached the tool,
// or the error.
func callWith(t *testing.T, schema, args string) (string, error) {
	t.Helper()
	r := registry.New(nil)
	tool := newSchemaTool(schema, "", nil)
	mustAdd(t, r, tool)
	_, err := r.Call(t.Context(), "tool", json.RawMessage(args))
	assert.Equal(t, len(tool.calls), map[bool]int{true: 1, false: 0}[err == nil], "calls, with the error %v", err)
	return strings.Join(tool.calls, ""), err
}

func TestArgumentsAreChecked(t *testing.T) {
	for args, want := range map[string]string{
		`{"title":"x","priority":1}`:   ``,
		`{}`:                           `"title" is missing; it must be a string of at least 1 character; "one line"`,
		`{"title":""}`:                 `"title" must be a string of at least 1 character, not less`,
		`{"title":"x","priority":9}`:   `"priority" must be an integer from 1 to 5, not more`,
		`{"title":"x","state":"Open"}`: `"state" must be one of "open", "closed", not another string`,
		`{"titel":"x"}`:                `"titel" is not known; did you mean "title"? known are "due", "extra", "labels", "priority", "state", "title"; "title" is missing; it must be a string of at least 1 character; "one line"`,
		`{"title":"x","labels":[{"name":"a"},{},"b"]}`: `"labels[1].name" is missing; it must be a string; "labels[2]" must be an object with "name", not a string`,
		`{"title":"x","title":"y"}`:                    `"title" must be given once, not twice`,
		`{"title":"x","extra":{"a b":1,"a b":2}}`:      `"['a b']" must be given once, not twice`,
		`{"title":"x","extra":"` + "\xff" + `"}`:       `must be valid JSON, not invalid UTF-8 at byte 22`,
	} {
		_, err := callWith(t, issueSchema, args)
		if want == "" {
			assert.OK(t, err, "%s", args)
			continue
		}
		wrong := wantError[*registry.ArgumentsError](t, err)
		assert.Equal(t, err.Error(), `arguments of tool "tool": `+want, "%s", args)
		assert.Equal(t, wrong.Problems[0].Path == "", strings.Contains(want, "UTF-8"), "%s: a problem without a path", args)
	}
}

// Many mistakes are told in one go, and the text says when there are more.
func TestArgumentProblemsAreBounded(t *testing.T) {
	names := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":%d`, i, i))
		}
		return `{` + strings.Join(all, ",") + `}`
	}
	for n, more := range map[int]bool{8: false, 9: true, 500: true} {
		_, err := callWith(t, `{"additionalProperties":{"type":"string"}}`, names(n))
		assert.Equal(t, len(assert.As[*registry.ArgumentsError](t, err, "%d", n).Problems), 8, "%d: problems", n)
		assert.Equal(t, strings.HasSuffix(err.Error(), "; and more"), more, "%d", n)
	}
}

// Native tools tell their problems as data, too.
func TestNativeProblems(t *testing.T) {
	r := newRegistry(t, registry.MustFunc("add", "", add))
	wrong := assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), "add", json.RawMessage(`{"a":"1","c":2}`))))
	want := []registry.Problem{
		{Path: "a", Want: "an integer", Got: "a string"},
		{Path: "b", Want: "an integer", Hint: `"the second number"`},
		{Path: "c", Got: "a number", Hint: `known are "a", "b"`},
	}
	assert.List(t, wrong.Problems, want, "problems")
	// Two of a name reach no tool, for what was approved might not be what is run.
	wrong = assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), "add", json.RawMessage(`{"a":1,"b":1,"a":2}`))))
	assert.Equal(t, wrong.Problems[0].Path, "a", "two of a name")
}

// A schema that asks for nothing lets arguments through as they are.
func TestSchemasThatAskForNothing(t *testing.T) {
	const args = `{"a":1}`
	for schema, fits := range map[string]bool{
		`{"type":"object"}`: true,
		` {"title":"x","description":"y","properties":{ },"type":"object","additionalProperties":true}`: true,
		`{"type":"object","additionalProperties":false}`:                                                false,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                    false,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                        false,
		`{"type":"object","properties":[]}`:                                                             false,
		`{"type":"object","required":["b"]}`:                                                            false,
		`{"type":"array"}`:                                                                              false,
		`{"type":["object"],"maxProperties":0}`:                                                         false,
		`{"type":"object","$ref":"#"}`:                                                                  false,
		`{}`:                                                                                            true,
	} {
		got, err := callWith(t, schema, args)
		assert.Equal(t, err == nil, fits, "%s: %v", schema, err)
		assert.Equal(t, got == args, fits, "%s: the arguments stay", schema)
	}
}

// What a tool of the program writes to its arguments is checked where they go on.
func TestArgumentsOfAToolAreItsOwn(t *testing.T) {
	args := json.RawMessage(`{"text":"` + strings.Repeat("x", 2<<10) + `"}`)
	tool := &recordedTool{native("tool").def, func(ctx context.Context, got json.RawMessage) (*mcp.CallToolResult, error) {
		assert.False(t, jsonscan.IsChecked(ctx, got), "they count as checked")
		return textResult(""), nil
	}}
	assert.Value(newRegistry(t, tool).Call(jsonscan.WithChecked(t.Context(), args), "tool", args))(t)
}

func TestDefaultsAreAdded(t *testing.T) {
	for args, want := range map[string]string{ // empty: an error
		`{"title":"x"}`: `{"title":"x","priority":3}`,
		`{"title":"x", "priority":"2","due":null}`: ``,
	} {
		got, _ := callWith(t, issueSchema, args)
		assert.Equal(t, got, want, "%s becomes", args)
	}
}

// A schema that cannot be used is the tool's defect, and the tool is not called.
func TestUnusableInputSchema(t *testing.T) {
	_, err := callWith(t, `{"type":"object","properties":{"a":{"$ref":"http://localhost/a"}}}`, `{}`)
	broken := assert.As[*registry.DefinitionError](t, err, "error")
	assert.Equal(t, broken.Tool+" "+broken.Field, "tool InputSchema")
	assert.As[*schemagate.SchemaError](t, err, "error")
}

func TestResultsAreChecked(t *testing.T) {
	const schema = `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}}},"required":["rows"]}`
	for _, test := range []struct {
		schema     string
		structured any
		want, path string
	}{
		{schema, json.RawMessage(`{"rows":[{"id":1}]}`), ``, ``},
		{schema, map[string]any{"rows": []int{}}, `structuredContent does not match the output schema: "rows" must be an array of objects, not null`, `rows`},
		{schema, map[string]any{"rows": []map[string]int{{"id": 1}}}, ``, ``},
		{schema, json.RawMessage(`{"rows":[{"id":1},{"id":"hunter2"}]}`), `structuredContent does not match the output schema: "rows[1].id" must be an integer, not a string`, `rows[1].id`},
		{schema, nil, `structuredContent is missing, but there is an output schema`, ``},
		{schema, func() {}, `structuredContent: json: unsupported type: func()`, ``},
		{schema, json.RawMessage(`{"rows":[],"rows":[]}`), `structuredContent does not match the output schema: "rows" must be given once, not twice`, `rows`},
		{`{"$ref":"#"}`, json.RawMessage(`{}`), `structuredContent cannot be checked: the output schema cannot be used: the schema: the schema refers to itself without end (schema_cycle)`, ``},
		{``, nil, ``, ``},
		{``, json.RawMessage(`7`), ``, ``},
	} {
		if v, ok := test.structured.(map[string]any); ok && test.want != "" {
			v["rows"] = []int(nil)
		}
		tool := newSchemaTool(`{"type":"object"}`, test.schema, test.structured)
		res, err := newRegistry(t, tool).Call(t.Context(), "tool", nil)
		if test.want == "" {
			assert.OK(t, err, "%v", test.structured)
			assert.Equal(t, res, tool.answer, "%v", test.structured)
			continue
		}
		wrong := assert.As[*registry.ResultError](t, err)
		assert.Equal(t, err.Error(), `result of tool "tool": `+test.want)
		assert.Equal(t, wrong.Result, tool.answer, "the result")
		assert.Equal(t, mcp.OutcomeOf(err), mcp.Answered, "outcome")
		if test.path != "" {
			assert.Equal(t, assert.Only(t, wrong.Problems).Path, test.path, "the problem")
		}

		// Errors of the tool are not checked.
		tool.answer.IsError = true
		assert.Value(newRegistry(t, tool).Call(t.Context(), "tool", nil))(t)
	}
}

// Tools that check by themselves are not checked again, by whatever name.
func TestSelfCheckingTools(t *testing.T) {
	r := newRegistry(t, describe(t, registry.MustFunc("add", "", add), func(d *registry.Definition) {
		d.Name = "plus"
		d.InputSchema = json.RawMessage(`{"type":"object","required":["nothing"]}`)
		d.OutputSchema = json.RawMessage(`{"type":"null"}`)
	}))
	assert.Value(r.Call(t.Context(), "plus", json.RawMessage(`{"a":1,"b":2}`)))(t)

	// A tool of another kind is, also under another name.
	plain := newSchemaTool(`{"type":"object"}`, "", nil)
	mustAdd(t, r, describe(t, plain, func(d *registry.Definition) {
		d.InputSchema = json.RawMessage(`{"type":"object","required":["a"]}`)
	}))
	assert.Fails(t, assert.Err(r.Call(t.Context(), "tool", nil)))
	assert.True(t, plain.calls == nil, "calls")
}

// What a tool says beside structured content that is missing or does not fit reaches the model,
// marked, and like all of its results without what people cannot see.
func TestUncheckedAnswerReachesTheModel(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	for _, c := range []struct{ schema, answer, want string }{
		//report: Results | modelcontextprotocol/python-sdk#2626, IBM/mcp-context-forge#4042, cristianuibar/bricks-mcp#45, oculairmedia/Letta-MCP-server#102, robert7/remnote-mcp-server#7 | a tool with an output schema answers with text alone | the specification lets a client refuse it; the text reaches the model, marked as not checked
		{schema, `"content":[{"type":"text","text":"six\u200b rows"}]`, "The tool has run. Its answer does not have the structured content that its output schema promises. What it says is not checked:|six rows"},
		//report: Results | NousResearch/hermes-agent#101330 | the structured content does not fit the output schema, and a client throws the rest away with it | the text reaches the model with the place that does not fit
		{schema, `"content":[{"type":"text","text":"six"}],"structuredContent":{"n":"six"}`, "The tool has run. Its answer does not fit its output schema: n: want an integer, got a string. What it says is not checked:|six"},
		//report: Results | HexSleeves/tailscale-mcp#101, cyanheads/git-mcp-server#40, ArcadeAI/arcade-mcp#817 | a failure has structured content of another form than the output schema | it is not checked, and the model reads the failure
		{schema, `"content":[{"type":"text","text":"needs admin"}],"isError":true,"structuredContent":{"error":{}}`, "needs admin"},
		//report: Schemas | anthropics/claude-code#76040, google-labs-code/stitch-sdk#367, kaeawc/auto-mobile#3542, anomalyco/opencode#26614 | an output schema refers to a definition that is not there | the tool is listed without it and with a warning, and its results are not checked
		{`{"type":"object","properties":{"p":{"$ref":"#/$defs/ScreenInstance"}}}`, `"content":[{"type":"text","text":"ok"}],"structuredContent":{"p":1}`, "ok"},
		//report: Schemas | ThinkInAIXYZ/deepchat#2075 | an output schema has a type that does not exist | the tool is listed without it and with a warning
		{`{"type":"object","properties":{"a":{"type":"Long"}}}`, `"content":[{"type":"text","text":"ok"}]`, "ok"},
		//report: Schemas | anthropics/claude-code#86142, marianfoo/sap-mcp-servers#52, pascalorg/editor#696, nicobailon/pi-mcp-adapter#217 | an output schema says that it is of draft-07 | it is checked by the rules of draft-07
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"integer"}},"type":"object","properties":{"n":{"$ref":"#/definitions/n","type":"string"}}}`,
			`"content":[{"type":"text","text":"ok"}],"structuredContent":{"n":7}`, "ok"},
		//report: Schemas | google-labs-code/stitch-sdk#367 | an output schema refers to itself | values are checked as deep as they are
		{`{"type":"object","$defs":{"S":{"type":"object","properties":{"s":{"$ref":"#/$defs/S"},"n":{"type":"integer"}}}},"properties":{"s":{"$ref":"#/$defs/S"}}}`,
			`"content":[],"structuredContent":{"s":{"s":{"n":"x"}}}`, "The tool has run. Its answer does not fit its output schema: s.s.n: want an integer, got a string. It says nothing else; calling it again in the same way will not help."},
		//report: Results | Dokploy/mcp#13 | the structured content has a member that the output schema excludes | the text reaches the model, and it is told which member
		{`{"type":"object","properties":{"success":{"type":"boolean"}},"additionalProperties":false}`, `"content":[{"type":"text","text":"{}"}],"structuredContent":{"success":true,"data":1}`,
			"The tool has run. Its answer does not fit its output schema: data: not known. What it says is not checked:|{}"},
		//report: Schemas | Azure/Azure-Resource-Manager-MCP#21 | a property of an output schema is the schema true | it takes any value
		{`{"type":"object","properties":{"result":true},"required":["result"]}`, `"content":[{"type":"text","text":"ok"}],"structuredContent":{"result":[1]}`, "ok"},
		//report: Schemas | modelcontextprotocol/php-sdk#411 | a server of PHP has an empty list for the properties of an output schema | it counts as absent
		{`{"type":"object","properties":[]}`, `"content":[{"type":"text","text":"ok"}],"structuredContent":{}`, "ok"},
	} {
		server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
			"tools/list": mcptest.Result(`{"tools":[{"name":"tool","inputSchema":{"type":"object"},"outputSchema":` + c.schema + `}]}`),
			"tools/call": mcptest.Result(`{` + c.answer + `}`),
		})
		r := registry.New(nil)
		mustReplace(t, r, "s", remotes(t, "s", newClient(t, "s", server))...)
		res, err := r.Call(t.Context(), "s__tool", nil)
		assert.Equal(t, err != nil, strings.HasPrefix(c.want, "The tool"), "%s: an error", c.answer)
		if err != nil {
			res = registry.ErrorResult(err)
			assert.True(t, res.IsError, "%s: isError", c.answer)
		}
		var got []string
		for _, block := range res.Content {
			got = append(got, block.(*mcp.TextContent).Text)
		}
		assert.Equal(t, strings.Join(got, "|"), c.want, "%s", c.answer)
	}
}

// What a model wrote reaches the server as it was written, and what the server
// answered comes back as it was answered.
func TestBytesPassUnchanged(t *testing.T) {
	const (
		schema = `{"type":"object","properties":{"n":{"type":"integer"},"d":{"default":[1.0,{"z":1,"a":2}]},"x":{},"gone":{"type":"string"}}}`
		odd    = `"big":123456789012345678901234567890,"z" : 1e400,  "a":-0.0,"e":1E+2,"u":"\u00e4ä\ud83d\ude00\/\u0000<&>","\u006bey":[ ] , "o":{ "b":1,"a":[1.10,2.00]}` + "\t"
		answer = `{"big": 123456789012345678901234567890, "z":1e400,"a":1.00,"s":"\u00e4\/<&>" , "o":{"b":1,"a":[ ]}}`
	)
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"tool","inputSchema":` + schema + `,"outputSchema":{"type":"object","properties":{"z":{"type":"integer"}}}}]}`),
		"tools/call": mcptest.Result(`{"content":[],"structuredContent":` + answer + `}`),
	})
	for name, tr := range map[string]mcp.Transport{"memory": server, "pipe": &transport.Pipe{Serve: server.Serve}} {
		c := newClient(t, "s", tr)
		listed := assert.Value(c.Tools(t.Context()))(t)
		for _, test := range []struct{ args, got string }{
			{`{` + odd + `,"d":0}`, `{` + odd + `,"d":0}`},
			{`{ ` + odd + `}`, `{ ` + strings.TrimSuffix(odd, "\t") + `,"d":[1.0,{"a":2,"z":1}]` + "\t}"},
		} {
			r := registry.New(nil)
			mustReplace(t, r, "s", registry.Remote("s", listed[0], c.CallTool))
			res := assert.Value(r.Call(t.Context(), "s__tool", json.RawMessage(test.args)))(t)
			calls := server.Received("tools/call")
			var params struct{ Arguments json.RawMessage }
			assert.OK(t, json.Unmarshal(calls[len(calls)-1].Params, &params))
			assert.Equal(t, string(params.Arguments), test.got, "%s: sent", name)
			var want bytes.Buffer
			want.WriteString(answer)
			if name == "pipe" { // where the server itself writes no white space
				want.Reset()
				assert.OK(t, json.Compact(&want, []byte(answer)))
			}
			assert.Equal(t, string(res.StructuredContent.(json.RawMessage)), want.String(), "%s: came back", name)
		}
		// What does not fit never gets there.
		before := len(server.Received("tools/call"))
		r := registry.New(nil)
		mustReplace(t, r, "s", registry.Remote("s", listed[0], c.CallTool))
		assert.Fails(t, assert.Err(r.Call(t.Context(), "s__tool", json.RawMessage(`{"n":"x"}`))), "%s", name)
		assert.Equal(t, len(server.Received("tools/call")), before, "%s", name)
	}
}

// A tool that checks arguments itself may know only what its server calls it.
func TestArgumentsErrorNamesTheListedTool(t *testing.T) {
	r := registry.New(nil)
	own := &registry.ArgumentsError{Tool: "create", Err: errors.New("no")}
	mustReplace(t, r, "notes", failing(serverTool("notes", "create", ""), own))
	assert.Equal(t, assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), "notes__create", nil))).Tool, "notes__create", "the tool")
	assert.Equal(t, own.Tool, "create", "the tool of the tool's own error")
}
