package toolset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func TestDescribeTool(t *testing.T) {
	r := searching(t, registry.Options{})
	const schema = "{\n  \"type\": \"object\", \"properties\": {\"a\": {\"description\": \"<\\u00e9> & \\/\", \"default\": 1.0}}, \"x-order\": 12345678901234567890\n}"
	tool := described("notes", "edit", "Edit \"a\" note.\n\n- <b>\tx", schema, &mcp.ToolAnnotations{ReadOnlyHint: true})
	tool.def.Title = "Edit"
	tool.def.OutputSchema = json.RawMessage(`{"type": "object"}`)
	mustReplace(t, r, "notes", tool)
	res, shown := show(t, r, `{"names":["notes__edit","clock"]}`)
	want := shownTool{"notes__edit", "Edit", "notes", "Edit \"a\" note.\n\n- <b>\tx",
		"read-only",
		json.RawMessage(schema), json.RawMessage(`{"type": "object"}`)}
	assert.Equal(t, fmt.Sprintf("%q", shown.Tools[0]), fmt.Sprintf("%q", want))
	assert.Equal(t, len(shown.Tools), 2, "tools")
	assert.Equal(t, shown.Tools[1].Server+"/"+shown.Tools[1].Name, "/clock", "a native tool")
	assert.Equal(t, fmt.Sprint(shown.Missing, res.IsError), "[] false", "what is missing")
	assert.Contains(t, textOf(t, res), schema, "the bytes of the schema")
	assert.True(t, res.StructuredContent == nil, "the answer comes once")
}

func TestDescribeToolSaysWhatIsMissing(t *testing.T) {
	r := searching(t, registry.Options{})
	for _, c := range []struct{ args, tools, missing string }{
		{`{"names":["clock","clock","Clock"]}`, "clock", ""},
		{`{"names":"clock"}`, "clock", ""},
		{`{"names":["create-issue"]}`, "github__create_issue", ""},
		{`{"names":["github__create_isue","clock"]}`, "clock", `github__create_isue: unknown tool "github__create_isue"; did you mean "github__create_issue"?`},
		{`{"names":[""]}`, "", `: unknown tool ""`},
		{`{"names":["1","2","3","4","5","6","7","8","9","clock","notes__create"]}`, "clock", `notes__create: at most 10 tools are described at once; ask again for the others`},
	} {
		res, shown := show(t, r, c.args)
		assert.Equal(t, shown.names(), c.tools, "%s: tools", c.args)
		assert.Contains(t, shown.missing()+"\n", c.missing+"\n", "%s: missing", c.args)
		assert.Equal(t, res.IsError, c.tools == "", "%s: isError", c.args)
		assert.Equal(t, c.missing == "", shown.Missing == nil, "%s: nothing is missing", c.args)
	}
	for args, want := range map[string]string{
		`{"names":[]}`:          `"names" is empty`,
		`{"names":null}`:        `"names" must be an array of names of tools`,
		`{"names":[1]}`:         `"names" must be an array of names of tools`,
		`{"names":{"a":"b"}}`:   `"names" must be an array of names of tools`,
		`{}`:                    `"names" is missing: it must be an array of names of tools`,
		`{"name":"clock"}`:      `"name" is not known; did you mean "names"?`,
		`{"names":["x"],"a":1}`: `"a" is not known`,
	} {
		res, err := r.Call(t.Context(), "describe_tool", json.RawMessage(args))
		if err != nil {
			res = registry.ErrorResult(err)
		}
		assert.True(t, res.IsError, "%s: isError", args)
		assert.Contains(t, result.Text(res), want, "%s", args)
	}
}

// Several definitions have a bound together; one alone is always whole.
func TestDescribeToolHasBounds(t *testing.T) {
	r := searching(t, registry.Options{})
	schema := func(size int) string {
		return `{"type":"object","properties":{"a":{"enum":["` + strings.Repeat(strings.Repeat("x", 97)+`","`, size/100) + `"]}}}`
	}
	large := schema(15_000)
	mustReplace(t, r, "large", described("large", "a", "", large, nil), described("large", "b", "", large, nil), serverTool("large", "c", ""))
	_, shown := show(t, r, `{"names":["large__a","large__b","large__c"]}`)
	assert.Equal(t, shown.names(), "large__a large__c", "tools")
	assert.Equal(t, len(shown.Missing), 1, "tools that are missing")
	assert.Contains(t, shown.missing(), "ask for it alone")
	huge := schema(100_000)
	mustReplace(t, r, "large", described("large", "a", "", huge, nil))
	_, shown = show(t, r, `{"names":["large__a"]}`)
	assert.Equal(t, string(assert.Only(t, shown.Tools).InputSchema), huge, "the schema")
	res, shown := show(t, r, `{"names":["`+strings.Repeat("ä", 10_000)+`"]}`)
	assert.Between(t, len(textOf(t, res)), 0, 2_000, "bytes for an unknown name")
	assert.Equal(t, len(shown.Missing), 1, "tools that are missing")
}
